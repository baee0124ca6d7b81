"""Fine-tune an encoder to choose between texts: which answer, ending or reason goes with a text.

    pocketbert train choice quiz.csv --text question --candidates a,b,c --label right --preset mobilebert \
        --model FOLDER --output_dir chooser

Each row has a text, a column for each candidate, and a column that says which is right: by its column's name, by its
number from 0, or by a letter, A for the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from pocketbert.errors import InputError
from pocketbert.recipes._fine_tune import FineTuneSettings, fine_tune, first_model
from pocketbert.tasks.choice.examples import Choice, Feature, evaluate, featurise, hold_out, read_choices
from pocketbert.tasks.choice.predict import collate, predict
from pocketbert.train.command import main
from pocketbert.train.fields import setting
from pocketbert.train.trials.run import searchable


@dataclass(frozen=True, kw_only=True)
class Settings(FineTuneSettings):
    """Which table, and what its columns are."""

    train_file: tuple[str, ...] = setting(
        help="tables with the choices: files, or the name of a data set", positional=True
    )
    text: str = setting(help="the column with the text")
    candidates: tuple[str, ...] = setting(help="the columns with the texts to choose from")
    label: str = setting(
        help="the column that says which is right: a column's name, a number from 0, or a letter"
    )
    validation_file: tuple[str, ...] = setting(
        (), help="the same to evaluate on; none: a part of the rows is held out"
    )
    validation_split: float = setting(0.1, help="share of the rows to hold out without a validation_file")
    columns: tuple[str, ...] = setting(
        (), help="names of the columns, for files without a first line of names"
    )
    pooler: Literal["auto", "no"] = setting(
        "auto",
        help="no: the head reads the first token as it is (MobileBERT can); auto: as the encoder has it",
    )

    def __post_init__(self) -> None:
        """Refuse what no run can use."""
        super().__post_init__()
        if self.teacher is not None:
            raise InputError("a choice is learnt from its labels alone: leave out --teacher")


@searchable
def run(settings: Settings) -> dict[str, float]:
    """Train, evaluate, and write the model to output_dir."""
    choices, held_out = _choices(settings)
    model, tokenizer = first_model(settings, "choice", pooler=settings.pooler)
    length = model.config.at_most(settings.max_seq_length)
    features = featurise(choices, tokenizer, max_length=length)
    held_features = featurise(held_out, tokenizer, max_length=length)

    def batched(batch: Sequence[Feature]) -> dict[str, Tensor]:
        return collate(batch, pad_id=tokenizer.pad_id)

    def measure(chooser: nn.Module) -> Mapping[str, float]:
        return evaluate(held_features, predict(chooser, held_features, pad_id=tokenizer.pad_id))

    return fine_tune(
        model,
        tokenizer,
        settings,
        task="multiple-choice",
        examples=features,
        lengths=[len(feature) for feature in features],
        collate=batched,
        objective=lambda chooser, batch, _step: (chooser(**batch).loss, {}),
        evaluate=measure,
        best="accuracy",
        files=settings.train_file + settings.validation_file,
        text=f"It chooses between {len(settings.candidates)} texts, the columns {', '.join(settings.candidates)}.",
    )


def _choices(settings: Settings) -> tuple[list[Choice], list[Choice]]:
    """The rows to train on and those to evaluate on, no text in both."""

    def read(sources: Sequence[str], split: str) -> list[Choice]:
        return read_choices(
            sources,
            text=settings.text,
            candidates=settings.candidates,
            label=settings.label,
            header=settings.columns or None,
            split=split,
        )

    choices = read(settings.train_file, "train")
    if settings.validation_file:
        held_out = read(settings.validation_file, "validation")
    else:
        choices, held_out = hold_out(choices, fraction=settings.validation_split, seed=settings.seed)
    return choices[: settings.max_train_samples], held_out[: settings.max_eval_samples]


if __name__ == "__main__":
    raise SystemExit(main(__file__, Settings, run))
