"""Fine-tune an encoder on your own labels for texts, or for pairs of texts, from a table.

    pocketbert train classify reviews.csv --text review --label verdict --preset mobilebert --model FOLDER \
        --output_dir classifier

CSV, TSV, JSON lines, Parquet, or a set of the hub. One label a text, several, or a score: the table tells, or
--problem. Without --validation_file a tenth of the texts is held out, with the same mixture of labels. The output
folder holds the model, its scores, a picture of what was taken for what (confusion.png) and a model card.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pocketbert.recipes._sentences import SentenceSettings, train_sentences
from pocketbert.tasks.classify import metrics
from pocketbert.tasks.classify.examples import Columns, Example, examples_of, read_table, scheme_of
from pocketbert.tasks.classify.splitting import stratified
from pocketbert.train.command import main
from pocketbert.train.fields import setting
from pocketbert.train.trials.run import searchable


@dataclass(frozen=True, kw_only=True)
class Settings(SentenceSettings):
    """Which table, and what its columns are."""

    train_file: tuple[str, ...] = setting(
        help="tables with the texts: files, or the name of a data set", positional=True
    )
    text: str = setting(help="the column with the text")
    text_pair: str | None = setting(None, help="the column with the second text, if there are two")
    label: str = setting(help="the column with the label, the labels or the score")
    validation_file: tuple[str, ...] = setting(
        (),
        help="the same to evaluate on; none: a part of the texts is held out, each label in the same share",
    )
    validation_split: float = setting(0.1, help="share of the texts to hold out without a validation_file")
    columns: tuple[str, ...] = setting(
        (), help="names of the columns, for files without a first line of names"
    )
    problem: Literal["auto", "single", "multi", "regression"] = setting(
        "auto", help="one label a text, any number of them, or a score; auto: the table tells"
    )
    labels: tuple[str, ...] = setting((), help="the allowed labels in their order; none: those of train_file")
    label_separator: str = setting(",", help="what stands between several labels of a text")


@searchable
def run(settings: Settings) -> dict[str, float]:
    """Train, evaluate, and write the model to output_dir."""
    columns = Columns(settings.text, settings.text_pair, settings.label, settings.columns or None)
    rows = read_table(settings.train_file, columns)
    scheme = scheme_of(
        rows,
        settings.label,
        problem=settings.problem,
        names=settings.labels,
        separator=settings.label_separator,
    )
    examples = examples_of(rows, columns, scheme)
    if settings.validation_file:
        held_out = examples_of(
            read_table(settings.validation_file, columns, split="validation"), columns, scheme
        )
    else:
        examples, held_out = stratified(
            examples, problem=scheme.problem, fraction=settings.validation_split, seed=settings.seed
        )

    def measure(texts: Sequence[Example], logits: NDArray[np.float32]) -> dict[str, float]:
        labels = [text.label for text in texts if text.label is not None]
        return metrics.evaluate(labels, logits, scheme.problem)

    scores, _ = train_sentences(
        settings,
        scheme,
        examples[: settings.max_train_samples],
        {"": held_out[: settings.max_eval_samples]},
        measure=measure,
        best=metrics.BEST[scheme.problem],
        files=settings.train_file + settings.validation_file,
    )
    return scores


if __name__ == "__main__":
    raise SystemExit(main(__file__, Settings, run))
