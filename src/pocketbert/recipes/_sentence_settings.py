"""The settings of the recipe for sentence vectors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pocketbert.data.sentences.formats import FORMATS, LossName
from pocketbert.data.sentences.lesson import Compare
from pocketbert.errors import InputError
from pocketbert.text.sentence_config import Activation
from pocketbert.train.fields import setting
from pocketbert.train.lora import LoraSettings
from pocketbert.train.trials.settings import SearchSettings


@dataclass(frozen=True, kw_only=True)
class SentenceVectorSettings(SearchSettings, LoraSettings):
    """Which texts, which loss, and what a vector is made of."""

    train_file: tuple[str, ...] = setting(
        help="tables, or the name of a data set; for distill also .txt files, a sentence a line",
        positional=True,
    )
    model: str = setting(help="the encoder, or a sentence model to go on with: a folder or a hub name")
    loss: LossName = setting("ranking", help="what is learnt from the rows")  # noqa: RUF009
    texts: tuple[str, ...] = setting(
        (),
        help="the columns with the texts; none: anchor,positive[,negative] or sentence1,sentence2, or text",
    )
    label: str | None = setting(
        None, help="the column with the label or score; none: label or score, by the loss"
    )
    score_scale: float = setting(1.0, help="what scores are divided by: 5 for STS-B")
    labels: tuple[str, ...] = setting(
        (), help="softmax: the labels in their order; none: those of train_file"
    )
    validation_file: tuple[str, ...] = setting(
        (), help="the same to evaluate on; none: some rows are held out"
    )
    validation_split: float = setting(0.05, help="share of the rows to hold out without a validation_file")
    sts_file: tuple[str, ...] = setting(
        (), help="pairs (sentence1, sentence2, score) to be measured on besides; they decide what is best"
    )
    max_train_samples: int | None = setting(None, help="train on this many rows at most")
    max_eval_samples: int | None = setting(2000, help="evaluate on this many rows at most")

    pooling: Literal["auto", "mean", "cls", "max", "mean-sqrt"] = setting(
        "auto", help="how the vectors of tokens become one; auto: as the model has it, else mean"
    )
    normalize: Literal["auto", "yes", "no"] = setting(
        "auto", help="whether vectors have length one; auto: as the model has it, else yes"
    )
    dimensions: int | None = setting(
        None, help="a layer after pooling gives so many; none: the encoder's width"
    )
    dense_activation: Activation = setting("identity", help="of that layer")  # noqa: RUF009
    max_seq_length: int = setting(128, help="tokens of a text at most")
    matryoshka_dimensions: tuple[int, ...] = setting(
        (), help="the first so many dimensions are to be good by themselves (256,128,64)"
    )
    gradient_cache_size: int | None = setting(
        None, help="texts whose activations are held at once: batches of any size for one more forward pass"
    )
    scale: float = setting(20.0, help="ranking, cosent: what cosines are multiplied by")
    margin: float | None = setting(None, help="triplet, contrastive; none: 1 and 0.5")

    teacher: str | None = setting(None, help="distill: a sentence model or an encoder; folder or hub name")
    compare: Compare = setting("distance", help="distill: with the teacher's vectors")  # noqa: RUF009
    projection: Literal["pca", "learned"] = setting(
        "pca",
        help="distill, other dimensions than the teacher's: its main directions, or a layer that learns along",
    )
    cache_dir: Path | None = setting(  # noqa: RUF009
        None, help="distill: folder for the teacher's vectors; none: in output_dir"
    )

    def __post_init__(self) -> None:
        """Refuse what no run can use."""
        super().__post_init__()
        if self.score_scale <= 0 or self.scale <= 0:
            raise InputError(f"score_scale = {self.score_scale:g}, scale = {self.scale:g}: must be above 0")
        if self.gradient_cache_size is not None and self.gradient_cache_size < 1:
            raise InputError(f"gradient_cache_size = {self.gradient_cache_size}: must be 1 or more")
        if self.teacher is not None and self.loss != "distill":
            raise InputError(f"a teacher is for loss = distill; loss = {self.loss} learns from labels")
        if any(size < 1 for size in self.matryoshka_dimensions):
            raise InputError(f"matryoshka_dimensions = {self.matryoshka_dimensions}: each must be 1 or more")
        self._check_texts()

    def _check_texts(self) -> None:
        """Refuse more or fewer columns of texts than the loss compares."""
        form, given = FORMATS[self.loss], len(self.texts)
        least = len(form.texts)
        if not given or given == least or (form.more and given > least):
            return
        needed = "one column" if least == 1 else f"{least} columns{' or more' if form.more else ''}"
        raise InputError(
            f"texts = {','.join(self.texts)}: loss = {self.loss} needs {needed}, as in {','.join(form.texts)}; "
            "name the columns of the table by --texts"
        )
