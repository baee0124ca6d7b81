"""Fine-tune an encoder on question answering, in the form of SQuAD 1.1 or 2.0.

    pocketbert train squad --preset mobilebert --model FOLDER --train_file train.json --validation_file dev.json \
        --output_dir reader

Expect, with all of SQuAD 2.0 to train on, F1 79 for MobileBERT (arXiv 2004.02984, table 5) and 77 for BERT-base. The
output folder holds the reader, its calibration (qa_config.json), its scores and a model card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from pocketbert import checkpoint, hub
from pocketbert.errors import InputError
from pocketbert.heads import Model, load, save
from pocketbert.heads.span import real_logits
from pocketbert.model.layers import SelfAttention
from pocketbert.model.relative import RelativeAttention
from pocketbert.recipes._fine_tune import logger
from pocketbert.recipes._soft_labels import load_teacher, soft_labels
from pocketbert.recipes._task_transfer import TaskSettings, transfer_first
from pocketbert.tasks import calibration
from pocketbert.tasks.squad.answers import answers
from pocketbert.tasks.squad.features import Feature, featurise
from pocketbert.tasks.squad.metrics import evaluate as official
from pocketbert.tasks.squad.predict import collate, predict
from pocketbert.tasks.squad.questions import Question, QuestionSet, hold_out
from pocketbert.tasks.squad.reading import read_questions
from pocketbert.text import Tokenizer
from pocketbert.text.windows import DEFAULT_OVERLAP
from pocketbert.train.card import write_card
from pocketbert.train.command import main
from pocketbert.train.fields import setting
from pocketbert.train.loop import train
from pocketbert.train.lora import add_lora, merge_lora
from pocketbert.train.seeds import seed_everything
from pocketbert.train.together import processes
from pocketbert.train.trials.run import searchable

SHOWN = 3  # questions that are left out, in the message about them


@dataclass(frozen=True, kw_only=True)
class Settings(TaskSettings):
    """What to read, with which encoder, and whom to learn from."""

    model: str = setting(help="the encoder, or a reader to go on with: a folder or a hub name")
    train_file: tuple[str, ...] = setting(
        help="SQuAD JSON files, CSV or TSV tables, or the name of a data set such as squad_v2",
        positional=True,
    )
    validation_file: tuple[str, ...] = setting(
        (), help="the same to evaluate on; none: a part of the training paragraphs is held out"
    )
    validation_split: float = setting(
        0.05, help="share of the paragraphs to hold out without a validation_file"
    )
    max_eval_samples: int | None = setting(None, help="evaluate on this many questions at most")
    max_train_samples: int | None = setting(None, help="train on this many questions at most")
    max_seq_length: int = setting(384, help="tokens in a window, question included")
    doc_stride: int | None = setting(
        None, help="tokens that neighbouring windows share; none: 128, at most half"
    )
    max_answer_length: int = setting(30, help="longest answer in tokens")
    attention_dropout: float | None = setting(
        None, help="dropout of the attention maps; none: the encoder's own"
    )
    label_smoothing: float = setting(0.0, help="probability that is spread over all positions")
    temperature: float = setting(2.0, help="of teacher and student when soft labels are compared")
    alpha: float = setting(0.5, help="weight of the soft labels; the true ones have the rest")
    cache_dir: Path | None = setting(  # noqa: RUF009
        None, help="folder for the teacher's soft labels, which then reads every window once"
    )
    learning_rate: float = setting(4e-5, help="peak rate")


@searchable
def run(settings: Settings) -> dict[str, float]:
    """Train, evaluate, calibrate, and write the reader to output_dir."""
    if not 0 <= settings.alpha <= 1 or settings.temperature <= 0:
        raise InputError("alpha must lie in 0 … 1 and temperature above 0")
    seed_everything(settings.seed)  # a fresh head is drawn before the loop begins
    source = hub.resolve(settings.model).folder
    tokenizer = Tokenizer.load(source)
    model: Model = load(source, head="question-answering")
    window = model.config.at_most(settings.max_seq_length)
    questions, held_out = _questions(settings)
    shared = settings.doc_stride
    features = featurise(questions, tokenizer, max_length=window, overlap=shared, train=True, on_long="skip")
    held_features = featurise(held_out, tokenizer, max_length=window, overlap=shared)
    if settings.attention_dropout is not None:
        for part in model.encoder.modules():
            if isinstance(part, SelfAttention | RelativeAttention):
                part.dropout = settings.attention_dropout
    examples = _told(settings, features, tokenizer.pad_id)
    objective = Objective(settings)
    lengths = [len(feature) for feature in features]

    def batched(batch: Sequence[Told]) -> dict[str, Tensor]:
        return collate_told(batch, pad_id=tokenizer.pad_id)

    transfer_first(model, tokenizer, settings, examples=examples, lengths=lengths, collate=batched)

    def evaluate(reader: nn.Module) -> Mapping[str, float]:
        starts, ends = predict(reader, held_features, pad_id=tokenizer.pad_id)
        predictions = answers(
            held_out, held_features, starts, ends, max_answer_length=settings.max_answer_length
        )
        texts = {prediction.id: prediction.text for prediction in predictions}
        odds = {prediction.id: prediction.null_odds for prediction in predictions}
        return {name: float(value) for name, value in official(held_out, texts, odds).items()}

    adapted = add_lora(model, settings)
    result = train(
        model,
        examples=examples,
        collate=batched,
        loss_function=objective,
        settings=settings,
        lengths=lengths,
        evaluate=evaluate,
        best="best_f1",
        data_files=[
            Path(name) for name in settings.train_file + settings.validation_file if Path(name).is_file()
        ],
        identity=adapted,
    )
    merge_lora(model, settings)
    starts, ends = predict(model, held_features, pad_id=tokenizer.pad_id)
    fitted = calibration.fit(
        held_out,
        held_features,
        starts,
        ends,
        window=window,
        overlap=DEFAULT_OVERLAP if shared is None else shared,
        max_answer_length=settings.max_answer_length,
    )
    if processes().is_main_process:
        folder = settings.output_dir
        save(model, folder)
        tokenizer.save(folder, model_max_length=model.config.longest)
        fitted.save(folder)
        checkpoint.write_json(folder / "scores.json", dict(result.scores))
        write_card(folder, task="question-answering", settings=settings, scores=result.scores)
    return dict(result.scores)


class Told(NamedTuple):
    """A window, and what a teacher said of it before."""

    feature: Feature
    starts: NDArray[np.float32] | None = None  # (S,)
    ends: NDArray[np.float32] | None = None  # (S,)


def collate_told(batch: Sequence[Told], *, pad_id: int = 0) -> dict[str, Tensor]:
    """Windows as one padded batch, with `soft_starts` and `soft_ends` where a teacher spoke."""
    tensors = collate([told.feature for told in batch], pad_id=pad_id)
    length = tensors["input_ids"].shape[1]
    for side in ("starts", "ends"):
        if getattr(batch[0], side) is None:
            continue
        soft = torch.zeros(len(batch), length)
        for row, told in enumerate(batch):
            place = told.feature.layout.place(len(told.feature), length)
            soft[row, place] = torch.from_numpy(getattr(told, side))
        tensors[f"soft_{side}"] = soft
    return tensors


class Objective:
    """The loss of a batch: the gold positions, and a teacher's view of them where there is one."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        live = settings.teacher is not None and settings.cache_dir is None
        self.teacher = load_teacher(settings.teacher) if live and settings.teacher is not None else None

    def __call__(
        self, model: nn.Module, batch: dict[str, Tensor], _step: int
    ) -> tuple[Tensor, dict[str, float]]:
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
        output = model(**inputs)
        pairs = (
            (output.start_logits, batch["start_positions"]),
            (output.end_logits, batch["end_positions"]),
        )
        hard = torch.stack(
            [self._hard(logits, gold, batch["attention_mask"]) for logits, gold in pairs]
        ).mean()
        taught = self._taught(batch, inputs)
        if taught is None:
            return hard, {}
        soft = torch.stack(
            [
                self._soft(logits, theirs, batch["attention_mask"])
                for (logits, _), theirs in zip(pairs, taught, strict=True)
            ]
        ).mean()
        alpha = self.settings.alpha
        return alpha * soft + (1 - alpha) * hard, {"hard": float(hard.detach()), "soft": float(soft.detach())}

    def _taught(
        self, batch: Mapping[str, Tensor], inputs: Mapping[str, Tensor]
    ) -> tuple[Tensor, Tensor] | None:
        """What the teacher says: now, or before."""
        if "soft_starts" in batch:
            return batch["soft_starts"], batch["soft_ends"]
        if self.teacher is None:
            return None
        fast = self.settings.mixed_precision == "bf16"
        device = inputs["input_ids"].device.type
        with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=fast):
            output = self.teacher(**inputs)
        return output.start_logits, output.end_logits

    def _hard(self, logits: Tensor, gold: Tensor, mask: Tensor) -> Tensor:
        """Cross-entropy over the real positions; smoothing never rewards padding."""
        log_probabilities = real_logits(logits, mask).log_softmax(-1)
        loss = F.nll_loss(log_probabilities, gold)
        smoothing = self.settings.label_smoothing
        if not smoothing:
            return loss
        spread = -log_probabilities.masked_fill(mask == 0, 0).sum(-1) / mask.sum(-1)
        return (1 - smoothing) * loss + smoothing * spread.mean()

    def _soft(self, logits: Tensor, taught: Tensor, mask: Tensor) -> Tensor:
        """KL(teacher || student) at a temperature, times its square so that gradients keep their size."""
        heat = self.settings.temperature
        student = real_logits(logits / heat, mask).log_softmax(-1)
        teacher = real_logits(taught / heat, mask).log_softmax(-1)
        distance = teacher.exp() * (teacher - student)
        return distance.masked_fill(mask == 0, 0).sum(-1).mean() * heat**2


def _told(settings: Settings, features: Sequence[Feature], pad_id: int) -> list[Told]:
    if settings.cache_dir is None or settings.teacher is None:
        return [Told(feature) for feature in features]
    starts, ends = soft_labels(settings.teacher, features, settings.cache_dir, pad_id=pad_id)
    return [Told(*row) for row in zip(features, starts, ends, strict=True)]


def _questions(settings: Settings) -> tuple[Sequence[Question], Sequence[Question]]:
    """The questions to train on and those to evaluate on, no paragraph in both."""
    found = read_questions(settings.train_file, on_bad="skip")
    _say_what_is_left_out(found)
    questions: Sequence[Question] = found.questions
    if settings.validation_file:
        held_out: Sequence[Question] = read_questions(settings.validation_file, split="validation").questions
    else:
        questions, held_out = hold_out(questions, fraction=settings.validation_split, seed=settings.seed)
        if not questions or not held_out:
            raise InputError(
                f"validation_split = {settings.validation_split} of the paragraphs leaves {len(questions)} questions "
                f"to train on and {len(held_out)} to evaluate on; give another share, or a validation_file"
            )
    return questions[: settings.max_train_samples], held_out[: settings.max_eval_samples]


def _say_what_is_left_out(found: QuestionSet) -> None:
    """Log how many questions break a rule, and the first of them; refuse a set of which none is left."""
    if not found.questions:
        reason = (
            f"the first of {len(found.skipped)} slips is: {found.skipped[0]}"
            if found.skipped
            else "it is empty"
        )
        raise InputError(f"train_file holds no question to train on; {reason}")
    if found.skipped:
        logger.warning(
            "%d questions are left out, and %d kept; the first that are left out:%s",
            len(found.skipped),
            len(found),
            "".join(f"\n  {slip}" for slip in found.skipped[:SHOWN]),
        )


if __name__ == "__main__":
    raise SystemExit(main(__file__, Settings, run))
