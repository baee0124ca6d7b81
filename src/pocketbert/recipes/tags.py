"""Fine-tune an encoder to tag words: names and other entities, or parts of speech.

    pocketbert train tags train.conll --validation_file dev.conll --preset mobilebert --model FOLDER --output_dir tagger

CoNLL files have a word a line with its tag in the last column, or in --column, and a blank line behind a sentence;
CoNLL-U files give the part of speech (upos, xpos); JSON lines and Parquet have lists, tokens and tags. Tags B-…, I-…
and O are entities, scored by F1 of whole entities; BIOES, BMES and BILOU are turned into them. All others are scored by
accuracy. Sentences longer than --max_seq_length are read in windows, and no word is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from pocketbert import checkpoint
from pocketbert.heads import Model
from pocketbert.recipes._fine_tune import FineTuneSettings, fine_tune, first_model, label_teacher, logger
from pocketbert.tasks.tags import bio, metrics
from pocketbert.tasks.tags.features import IGNORED, Feature, featurise, gather
from pocketbert.tasks.tags.predict import collate, predict
from pocketbert.tasks.tags.sentences import Form, Sentence, check_tags, hold_out, read_sentences, tag_names
from pocketbert.text import Tokenizer
from pocketbert.train.command import main
from pocketbert.train.fields import setting
from pocketbert.train.together import processes
from pocketbert.train.trials.run import searchable


@dataclass(frozen=True, kw_only=True)
class Settings(FineTuneSettings):
    """Which files, and what their columns are."""

    train_file: tuple[str, ...] = setting(
        help="CoNLL or CoNLL-U files, or JSON lines or Parquet with lists (tokens, tags)", positional=True
    )
    validation_file: tuple[str, ...] = setting(
        (), help="the same to evaluate on; none: a part of the sentences is held out"
    )
    validation_split: float = setting(
        0.1, help="share of the sentences to hold out without a validation_file"
    )
    format: Form = setting("auto", help="how the files are written; auto: their endings tell")  # noqa: RUF009
    column: str | None = setting(
        None,
        help="the column with the tag: a number from 2 (CoNLL), upos, xpos, deprel (CoNLL-U), or its name (a table)",
    )
    on_slip: Literal["repair", "error"] = setting(
        "repair", help="what to do with an I- that goes on with nothing: make it B-, or refuse the file"
    )


@searchable
def run(settings: Settings) -> dict[str, float]:
    """Train, evaluate, and write the tagger to output_dir."""
    sentences, held_out, names = _sentences(settings)
    kind = bio.kind_of(names)
    if kind == "entities":
        names = bio.both_marks(names)
        sentences, mended = bio.checked(sentences, on_slip=settings.on_slip)
        held_out, mended_too = bio.checked(held_out, on_slip=settings.on_slip)
        if mended + mended_too:
            logger.warning("%d tags I-… went on with nothing and were taken for B-…", mended + mended_too)
    check_tags(held_out, names)
    numbers = {name: number for number, name in enumerate(names)}
    model, tokenizer = first_model(settings, "tags", labels=names)
    length = model.config.at_most(settings.max_seq_length)
    features = featurise(sentences, tokenizer, numbers, max_length=length)
    held_features = featurise(held_out, tokenizer, numbers, max_length=length)
    truth = [sentence.tags for sentence in held_out]

    def said(tagger: nn.Module) -> list[list[str]]:
        chosen = [
            logits.argmax(axis=-1) for logits in predict(tagger, held_features, pad_id=tokenizer.pad_id)
        ]
        return [[names[tag] for tag in row] for row in gather(held_out, held_features, chosen, none=0)]

    def evaluate(tagger: nn.Module) -> Mapping[str, float]:
        return metrics.evaluate(truth, said(tagger), kind)

    def batched(batch: Sequence[Told]) -> dict[str, Tensor]:
        return collate_told(batch, pad_id=tokenizer.pad_id)

    scores = fine_tune(
        model,
        tokenizer,
        settings,
        task="token-classification",
        examples=_told(settings, names, sentences, features),
        lengths=[len(feature) for feature in features],
        collate=batched,
        objective=Objective(settings),
        evaluate=evaluate,
        best=metrics.BEST[kind],
        weight=lambda batch: float((batch["labels"] != IGNORED).sum()),
        files=settings.train_file + settings.validation_file,
        text=f"Tags: {', '.join(f'`{name}`' for name in names)}.",
    )
    if kind == "entities":
        by_kind = metrics.by_kind(truth, said(model))
        if processes().is_main_process:
            checkpoint.write_json(settings.output_dir / "scores_by_kind.json", by_kind)
    return scores


class Told(NamedTuple):
    """A window, and what a teacher said of its words before."""

    feature: Feature
    soft: NDArray[np.float32] | None = None  # (words, labels)


def collate_told(batch: Sequence[Told], *, pad_id: int = 0) -> dict[str, Tensor]:
    """Windows as one padded batch, with `soft` (B, S, labels) where a teacher spoke."""
    tensors = collate([told.feature for told in batch], pad_id=pad_id)
    spoken = [told.soft for told in batch if told.soft is not None]
    if not spoken:
        return tensors
    soft = torch.zeros(*tensors["labels"].shape, spoken[0].shape[1])
    soft[tensors["labels"] != IGNORED] = torch.from_numpy(np.concatenate(spoken))
    return tensors | {"soft": soft}


class Objective:
    """The loss of a batch, a mean over its words: the true tags, and a teacher's view of them where there is one."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def __call__(
        self, model: nn.Module, batch: dict[str, Tensor], _step: int
    ) -> tuple[Tensor, dict[str, float]]:
        logits = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"]).logits
        tagged = batch["labels"] != IGNORED
        logits = logits[tagged]  # (words, labels)
        words = max(len(logits), 1)  # a window of control characters has none
        hard = F.cross_entropy(logits, batch["labels"][tagged], reduction="sum") / words
        if "soft" not in batch:
            return hard, {}
        heat, alpha = self.settings.temperature, self.settings.alpha
        student, teacher = (logits / heat).log_softmax(-1), (batch["soft"][tagged] / heat).log_softmax(-1)
        soft = F.kl_div(student, teacher, reduction="sum", log_target=True) * heat**2 / words
        return alpha * soft + (1 - alpha) * hard, {"hard": float(hard.detach()), "soft": float(soft.detach())}


def _sentences(settings: Settings) -> tuple[list[Sentence], list[Sentence], tuple[str, ...]]:
    """The sentences to train on, those to evaluate on, none in both, and the tags of the files to train on."""
    sentences = read_sentences(settings.train_file, form=settings.format, column=settings.column)
    scheme = bio.other_scheme(tag_names(sentences))
    if scheme is not None:
        logger.warning("the tags are of the scheme %s; they are turned into B-…, I-… and O", scheme)
        sentences = bio.told_in_bio(sentences)
    names = tag_names(sentences)  # before some are held out: a rare tag may stand in these alone
    if settings.validation_file:
        held_out = read_sentences(settings.validation_file, form=settings.format, column=settings.column)
    else:
        sentences, held_out = hold_out(sentences, fraction=settings.validation_split, seed=settings.seed)
    return sentences[: settings.max_train_samples], held_out[: settings.max_eval_samples], names


def _told(
    settings: Settings, names: Sequence[str], sentences: Sequence[Sentence], features: Sequence[Feature]
) -> list[Told]:
    """The windows with what the teacher says of their words; it reads once, with a tokenizer of its own."""
    if settings.teacher is None:
        return [Told(feature) for feature in features]
    teacher, tokenizer, order = label_teacher(settings.teacher, "tags", names)
    by_word = _word_logits(teacher, tokenizer, sentences, settings.max_seq_length)
    return [Told(feature, by_word[feature.sentence_index][feature.words][:, order]) for feature in features]


def _word_logits(
    teacher: Model, tokenizer: Tokenizer, sentences: Sequence[Sentence], most: int
) -> list[NDArray[np.float32]]:
    """What a teacher says of every word; a word that has no pieces for it gets an even view."""
    theirs = featurise(sentences, tokenizer, max_length=teacher.config.at_most(most))
    logits = predict(teacher, theirs, pad_id=tokenizer.pad_id)
    found = [np.zeros((len(sentence), logits[0].shape[1]), dtype=np.float32) for sentence in sentences]
    for feature, rows in zip(theirs, logits, strict=True):
        found[feature.sentence_index][feature.words] = rows
    return found


if __name__ == "__main__":
    raise SystemExit(main(__file__, Settings, run))
