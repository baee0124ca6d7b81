"""Train a reranker (cross-encoder): a query and a passage in, one score from 0 to 1 out.

    pocketbert train rerank pairs.csv --preset mobilebert --model FOLDER --output_dir reranker
    pocketbert train rerank triplets.csv --loss listwise --preset mobilebert --model FOLDER --output_dir reranker

binary takes query, passage and a label from 0 to 1; pairwise and listwise take query, positive and negatives. The
output is a classifier with one label, and sentence-transformers loads it as a CrossEncoder with the same scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from pocketbert.errors import InputError
from pocketbert.recipes._fine_tune import FineTuneSettings, fine_tune, first_model
from pocketbert.tasks import scores
from pocketbert.tasks.classify.examples import Example
from pocketbert.tasks.classify.features import Feature, featurise
from pocketbert.tasks.classify.predict import collate, predict
from pocketbert.tasks.sentences import metrics, retrieval
from pocketbert.tasks.sentences.groups import Groups, hold_out, read_groups
from pocketbert.text import Tokenizer
from pocketbert.train.command import main
from pocketbert.train.fields import setting
from pocketbert.train.together import processes
from pocketbert.train.trials.run import searchable

LABEL = "relevant"


@dataclass(frozen=True, kw_only=True)
class Settings(FineTuneSettings):
    """Which table, what its columns are, and how scores are compared."""

    train_file: tuple[str, ...] = setting(
        help="tables with the texts: files, or the name of a data set", positional=True
    )
    loss: Literal["binary", "pairwise", "listwise"] = setting(
        "binary", help="each pair by its label, the positive against each negative, or against all at once"
    )
    query: str = setting("query", help="the column with the query")
    passage: str = setting("passage", help="binary: the column with the passage")
    label: str = setting("label", help="binary: the column with the label, from 0 to 1")
    positive: str = setting(
        "positive", help="pairwise, listwise: the column with the passage that belongs to it"
    )
    negatives: tuple[str, ...] = setting(
        ("negative",), help="pairwise, listwise: the columns with passages that do not"
    )
    validation_file: tuple[str, ...] = setting(
        (), help="the same to evaluate on; none: some rows are held out"
    )
    validation_split: float = setting(0.1, help="share of the rows to hold out without a validation_file")
    pooler: Literal["auto", "no"] = setting(
        "auto",
        help="no: the head reads the first token as it is (MobileBERT can); auto: as the encoder has it",
    )

    def __post_init__(self) -> None:
        """Refuse what no run can use."""
        super().__post_init__()
        if self.teacher is not None:
            raise InputError("a reranker has no teacher: it learns from its labels; leave --teacher out")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns with texts, the query first."""
        if self.loss == "binary":
            return (self.query, self.passage)
        return (self.query, self.positive, *self.negatives)


@searchable
def run(settings: Settings) -> dict[str, float]:
    """Train, evaluate, and write the model to output_dir."""
    groups, held = _groups(settings)
    model, tokenizer = first_model(
        settings, "classification", labels=(LABEL,), problem="multi", pooler=settings.pooler
    )
    length = model.config.at_most(settings.max_seq_length)
    pairs = _pairs(groups, tokenizer, length)
    held_pairs = _pairs(held, tokenizer, length)
    each = len(settings.columns) - 1  # passages in a row

    def batched(rows: list[int]) -> dict[str, Any]:
        batch: dict[str, Any] = collate(
            [pairs[row * each + place] for row in rows for place in range(each)], pad_id=tokenizer.pad_id
        )
        if groups.labels is not None:
            batch["labels"] = torch.from_numpy(groups.labels[rows])
        return batch

    def objective(
        scorer: nn.Module, batch: dict[str, Tensor], _step: int
    ) -> tuple[Tensor, Mapping[str, float]]:
        logits = scorer(
            batch["input_ids"], batch["attention_mask"], batch["token_type_ids"]
        ).logits  # (B · each, 1)
        return reranking_loss(logits.view(-1, each), batch.get("labels"), settings.loss), {}

    def evaluate(judged: nn.Module) -> Mapping[str, float]:
        said = predict(judged, held_pairs, pad_id=tokenizer.pad_id).reshape(-1, each)
        return measured(said, held.labels)

    found = fine_tune(
        model,
        tokenizer,
        settings,
        task="text-ranking",
        examples=range(len(groups)),
        lengths=[sum(map(len, pairs[row * each : (row + 1) * each])) for row in range(len(groups))],
        collate=batched,
        objective=objective,
        evaluate=evaluate,
        best="ap" if settings.loss == "binary" else "mrr@10",
        files=settings.train_file + settings.validation_file,
        text=f"It scores how well a passage answers a query, learnt from {len(groups):,} rows; sentence-transformers "
        "loads it as a `CrossEncoder`.",
    )
    if processes().is_main_process:
        tokenizer.save(settings.output_dir, model_max_length=length)  # others cut pairs where we did
    return found


def reranking_loss(logits: Tensor, labels: Tensor | None, kind: str) -> Tensor:
    """The loss of scores (B, passages); with a label (B) each, or with the positive first.

    binary: cross-entropy of the sigmoid and the label. pairwise: log(1 + exp(s_n - s_p)), a mean over the negatives
    (RankNet, Burges et al. 2005). listwise: -log softmax of the positive among its row (ListNet with one relevant one).
    """
    if labels is not None:
        return F.binary_cross_entropy_with_logits(logits[:, 0], labels)
    if kind == "pairwise":
        return F.softplus(logits[:, 1:] - logits[:, :1]).mean()
    return F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long, device=logits.device))


def measured(said: NDArray[np.float32], labels: NDArray[Any] | None) -> dict[str, float]:
    """Average precision and the like of labelled pairs; of rows, how far up the positive stands."""
    if labels is None:
        order = np.argsort(-said, axis=1, kind="stable")
        found = retrieval.evaluate(order, [{0: 1.0}] * len(said))
        return {"accuracy": found["recall@1"], "mrr@10": found["mrr@10"]}
    graded = {} if set(labels.tolist()) <= {0.0, 1.0} else {"spearman": scores.spearman(labels, said[:, 0])}
    return {**metrics.same(said[:, 0], labels >= 0.5), **graded}


def _groups(settings: Settings) -> tuple[Groups, Groups]:
    reading: dict[str, Any] = {}
    if settings.loss == "binary":
        reading = {"label": settings.label, "kind": "score"}
    groups = read_groups(settings.train_file, settings.columns, **reading)
    if settings.validation_file:
        held = read_groups(settings.validation_file, settings.columns, split="validation", **reading)
    else:
        groups, held = hold_out(groups, fraction=settings.validation_split, seed=settings.seed)
    if groups.labels is not None and (groups.labels < 0).any():
        raise InputError("labels below 0 were given; a label lies in 0 … 1")
    return groups.take(slice(settings.max_train_samples)), held.take(slice(settings.max_eval_samples))


def _pairs(groups: Groups, tokenizer: Tokenizer, length: int) -> Sequence[Feature]:
    """The query of each row with each of its passages."""
    examples = [
        Example(groups.texts[row[0]], groups.texts[passage]) for row in groups.numbers for passage in row[1:]
    ]
    return featurise(examples, tokenizer, max_length=length)


if __name__ == "__main__":
    raise SystemExit(main(__file__, Settings, run))
