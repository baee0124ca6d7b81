"""Pre-train an encoder on plain text, from scratch or from a checkpoint, with any objective of the family.

    pocketbert train tokenizer --train_file corpus --vocab_size 8192 --output_dir words
    pocketbert train pretrain --preset ib-bert-bench --train_file corpus --tokenizer words --output_dir teacher

The corpus is tokenised once into `tokens_dir`, in shards that later runs map again. Expect, for a bench preset on a
hundred megabytes of English, a masked-LM accuracy far above `unigram_accuracy`, the score of the most frequent word.
The output folder holds the model with its pre-training head, its tokenizer, scores.json and a model card.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from pocketbert import checkpoint, hub
from pocketbert.data.corpus import Format, Progress, Tokens, open_corpus, prepare
from pocketbert.data.objectives import (
    HEADS,
    Masking,
    ObjectiveName,
    guessed,
    inputs_of,
    loss_of,
    objective,
    score,
    unigram_baseline,
)
from pocketbert.errors import InputError
from pocketbert.heads import Model, build, load, save
from pocketbert.model import PRESETS, Config, HeadKind, architecture, preset, read_config
from pocketbert.text import Tokenizer
from pocketbert.text.loading import PATTERNS
from pocketbert.train.card import write_card
from pocketbert.train.command import main
from pocketbert.train.fields import setting
from pocketbert.train.loop import train
from pocketbert.train.machine import processes
from pocketbert.train.seeds import seed_everything
from pocketbert.train.settings import LoopSettings


@dataclass(frozen=True, kw_only=True)
class Settings(LoopSettings):
    """What to train, on which texts, and what to learn from them."""

    model: str = setting(
        help="a preset or a config.json for fresh weights; a folder or a hub name to go on from"
    )
    train_file: tuple[str, ...] = setting(help="files, folders or patterns of text, or a set of the hub")
    validation_file: tuple[str, ...] = setting(
        (), help="the same to evaluate on; none: some documents are held out"
    )
    validation_split: float = setting(
        0.01, help="share of the documents to hold out without a validation_file"
    )
    format: Format = setting("auto", help="how the texts are written")  # noqa: RUF009
    text_field: str = setting("text", help="the field with the text in JSON lines, Parquet and hub sets")
    split: str = setting("train", help="the part of a hub set")
    tokenizer: str | None = setting(
        None, help="a folder with a tokenizer for fresh weights; none: BERT's uncased English"
    )
    tokens_dir: Path | None = setting(  # noqa: RUF009
        None, help="folder for the tokenised corpus; none: in output_dir"
    )
    preprocessing_num_workers: int = setting(1, help="processes that tokenise")
    objective: ObjectiveName = setting(  # noqa: RUF009
        "bert", help="what to learn: as BERT, RoBERTa, ALBERT, DistilBERT or XLNet"
    )
    max_seq_length: int = setting(128, help="tokens of a sequence, special ones included")
    mlm_probability: float = setting(0.15, help="share of the tokens to guess; permutation has one in six")
    max_predictions_per_seq: int | None = setting(None, help="tokens of a sequence to guess at most")
    whole_word_mask: bool = setting(False, help="mask all tokens of a word or none", flag_value="true")
    short_seq_prob: float = setting(0.1, help="share of the pairs that are shorter by chance")
    dupe_factor: int = setting(1, help="passes over the corpus, with pairs of their own, that make an epoch")
    max_eval_samples: int = setting(2000, help="evaluate on this many sequences at most")
    num_train_epochs: float = setting(1.0, help="passes over the examples")
    learning_rate: float = setting(1e-4, help="peak rate")

    def __post_init__(self) -> None:
        """Refuse what no run can use."""
        super().__post_init__()
        for name in ("preprocessing_num_workers", "dupe_factor", "max_eval_samples"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} = {getattr(self, name)}: must be 1 or more")


def run(settings: Settings) -> dict[str, Any]:
    """Prepare the corpus, train, evaluate, and write the model to output_dir."""
    seed_everything(settings.seed)
    model, tokenizer = starting_point(
        settings.model, HEADS[settings.objective], settings.tokenizer, settings.objective
    )
    goal = objective(
        settings.objective,
        tokenizer,
        length=checked_length(settings.max_seq_length, model.config),
        masking=Masking(
            share=settings.mlm_probability,
            most=settings.max_predictions_per_seq,
            whole_words=settings.whole_word_mask,
        ),
        short=settings.short_seq_prob,
    )
    tokens, held_out = prepared(settings, tokenizer)
    examples = goal.examples(tokens, seed=settings.seed, passes=settings.dupe_factor)
    held_examples = goal.examples(held_out, seed=settings.seed)[: settings.max_eval_samples]
    baseline = unigram_baseline(held_examples, goal, tokens.counts())

    def loss_function(
        learner: nn.Module, batch: dict[str, Tensor], _step: int
    ) -> tuple[Tensor, Mapping[str, float]]:
        return loss_of(learner(**inputs_of(batch)), batch)

    result = train(
        model,
        examples=examples,
        lengths=examples.lengths,
        collate=goal.collate,
        loss_function=loss_function,
        weight=guessed,
        settings=settings,
        evaluate=lambda learner: {**score(learner, held_examples, goal), **baseline},
        best="permutation_lm_loss" if goal.head == "permutation-lm" else "masked_lm_loss",
        greater_is_better=False,
        data_files=[tokens_folder(settings) / "index.json"],
    )
    report = getattr(model, "report", None)
    if processes().is_main_process:
        folder = settings.output_dir
        save(model, folder)
        tokenizer.save(folder, model_max_length=model.config.longest)
        checkpoint.write_json(folder / "scores.json", dict(result.scores))
        write_card(
            folder,
            task="fill-mask",
            settings=settings,
            scores=result.scores,
            evaluated_on="held-out text",
            base_model="" if report is None else settings.model,
        )
    anew = {"trained_anew": ", ".join(report.new)} if report is not None and report.new else {}
    return {**result.scores, **anew}


def starting_point(
    name: str, head: HeadKind, tokenizer: str | None, chosen: ObjectiveName
) -> tuple[Model, Tokenizer]:
    """A model with the head that an objective needs, and its tokenizer: fresh weights, or those of a checkpoint."""
    config = _fresh_config(name)
    if config is not None:
        words = Tokenizer.load(None if tokenizer is None else _tokenizer_folder(tokenizer))
        config = replace(config, vocab_size=words.size, pad_token_id=words.pad_id)
        _check_head(config, head, chosen)
        return build(config, head), words
    source = hub.resolve(name, presets=list(PRESETS)).folder
    words = Tokenizer.load(source)
    if (
        tokenizer is not None
        and Tokenizer.load(_tokenizer_folder(tokenizer)).fingerprint != words.fingerprint
    ):
        raise InputError(
            f"{name} has a tokenizer of its own, and its word table fits no other: leave out tokenizer={tokenizer}, or "
            "begin with fresh weights (a preset's name or a config.json as model)"
        )
    _check_head(read_config(checkpoint.read_json(source / "config.json")), head, chosen)
    return load(source, head=head), words


def prepared(settings: Settings, tokenizer: Tokenizer) -> tuple[Tokens, Tokens]:
    """The corpus to train on and the one to evaluate on, tokenised; no document is in both."""
    reading: dict[str, Any] = {"format": settings.format, "field": settings.text_field}
    making: dict[str, Any] = {"workers": settings.preprocessing_num_workers, "progress": _show}
    folder = tokens_folder(settings)
    with processes().main_process_first():  # the others find it done
        corpus = open_corpus(settings.train_file, split=settings.split, **reading)
        tokens = prepare(corpus, tokenizer, folder, **making)
        if not settings.validation_file:
            return tokens.split(settings.validation_split, seed=settings.seed, least=2)  # for pairs of two
        other = open_corpus(settings.validation_file, split=settings.split, **reading)
        return tokens, prepare(other, tokenizer, folder / "validation", **making)


def tokens_folder(settings: Settings) -> Path:
    """Where the tokenised corpus lies."""
    return settings.tokens_dir or settings.output_dir / "tokens"


def checked_length(length: int, config: Config) -> int:
    """The length of a sequence, if the encoder has so many positions."""
    if config.at_most(length) < length:
        raise InputError(
            f"max_seq_length = {length}, but the encoder has {config.longest} positions: give at most so many, or "
            "more positions first (pocketbert train positions)"
        )
    return length


def _fresh_config(name: str) -> Config | None:
    if Path(name).is_dir():
        return None
    if Path(name).is_file():
        return read_config(checkpoint.read_json(Path(name)))
    return preset(name) if name in PRESETS else None


def _tokenizer_folder(name: str) -> Path:
    return Path(name) if Path(name).exists() else hub.resolve(name, patterns=PATTERNS).folder


def _check_head(config: Config, head: HeadKind, chosen: ObjectiveName) -> None:
    family = architecture(config.model_type)
    if head not in family.heads:
        fitting = ", ".join(name for name, needed in HEADS.items() if needed in family.heads)
        raise InputError(
            f"objective = {chosen}: a {family.classes} model has no head for it; it can learn by {fitting}"
        )


def _show(progress: Progress) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(
            f"\r\x1b[2Ktokenising: {progress.documents:,} documents, {progress.characters / 1e6:,.0f} M characters"
        )
        sys.stderr.flush()


if __name__ == "__main__":
    raise SystemExit(main(__file__, Settings, run))
