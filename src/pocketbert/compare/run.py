"""A whole comparison: measure, export, time in turns, score."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pocketbert import hub
from pocketbert.compare.rows import Comparison, Row, this_machine
from pocketbert.compare.timing import WARM_UP, time_in_turns
from pocketbert.errors import InputError
from pocketbert.export import export_onnx, fold
from pocketbert.export.onnx import write_onnx
from pocketbert.export.quantise import quantise
from pocketbert.heads import build, load
from pocketbert.model import PRESETS, Encoder
from pocketbert.model.measure import measure
from pocketbert.runtime.session import FILES
from pocketbert.tasks import trust
from pocketbert.tasks.squad.answers import answers
from pocketbert.tasks.squad.features import featurise
from pocketbert.tasks.squad.metrics import evaluate
from pocketbert.tasks.squad.predict import predict
from pocketbert.tasks.squad.questions import Question
from pocketbert.text import Tokenizer
from pocketbert.text.calibration import FILE_NAME, Calibration

Form = Literal["torch", "fp32", "int8"]


@dataclass(frozen=True)
class Plan:
    """How to compare."""

    forms: tuple[Form, ...] = ("torch", "fp32")
    batch: int = 1
    length: int = 128
    rounds: int = 10
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("batch", "length", "rounds", "threads"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise InputError(f"{name} is {value!r}; it must be a whole number from 1 up")

    def settings(self) -> dict[str, Any]:
        """What must be equal for times to be comparable."""
        return {"batch": self.batch, "length": self.length, "threads": self.threads}


def compare(
    models: Sequence[str],
    plan: Plan | None = None,
    *,
    questions: Sequence[Question] = (),
    progress: Callable[[str, int, int], object] = lambda _what, _done, _of: None,
) -> Comparison:
    """Compare models by preset, folder or name on the hub.

    `questions` score those that are readers: by their own decisions if they are calibrated, else made to answer always.
    `progress` is told what is being done, and how much of how much.
    """
    plan = plan or Plan()
    rows: dict[str, Row] = {}
    contenders: dict[tuple[str, str], str] = {}
    with tempfile.TemporaryDirectory(prefix="pocketbert-compare-") as scratch:
        for number, name in enumerate(dict.fromkeys(models)):
            progress(f"preparing {name}", number, len(models))
            opened = name if _is_preset(name) else str(hub.resolve(name, presets=tuple(PRESETS)).folder)
            model = build(opened) if _is_preset(name) else load(opened)
            rows[name] = _row(name, model, plan)
            if questions and getattr(model, "kind", None) == "question-answering":
                rows[name] = replace(rows[name], scores=_scores(model, Path(opened), questions))
            for form in plan.forms:
                folder = Path(scratch) / str(number)
                if form != "torch":
                    size = _write(model, form, folder / FILES[form])
                    rows[name].megabytes[form] = round(size / 1e6, 1)
                contenders[name, form] = opened if form == "torch" else str(folder)
            del model
        of = (plan.rounds + WARM_UP) * len(contenders)
        done = 0

        def count(runs: int) -> None:
            nonlocal done
            done += runs
            progress("timing", done, of)

        timings = time_in_turns(
            contenders,
            batch=plan.batch,
            length=plan.length,
            rounds=plan.rounds,
            threads=plan.threads,
            progress=count,
        )
    for (name, used), timing in timings.items():
        rows[name].timings[used] = timing
    return Comparison(this_machine(), plan.settings(), tuple(rows.values()))


def _is_preset(name: str) -> bool:
    return name in PRESETS and not Path(name).is_dir()


def _row(name: str, model: Any, plan: Plan) -> Row:
    encoder = model if isinstance(model, Encoder) else model.encoder
    most = encoder.config.at_most(plan.length)
    if plan.length > most:
        raise InputError(f"{name} reads {most} tokens at most; {plan.length} are more than that")
    found = measure(encoder, length=plan.length)
    sizes = {"torch": found.megabytes} if "torch" in plan.forms else {}
    return Row(name, found.family, found.parameters, found.flops / 1e9, sizes)


def _write(model: Any, form: Form, path: Path) -> int:
    if form == "fp32":
        export_onnx(fold(model), path)
    else:
        write_onnx(quantise(model), path)
    return path.stat().st_size


def _scores(model: Any, folder: Path, questions: Sequence[Question]) -> dict[str, float]:
    tokenizer = Tokenizer.load(folder)
    fitted = Calibration.load(folder) if (folder / FILE_NAME).is_file() else None
    window = model.config.at_most(fitted.window if fitted else 384)
    features = featurise(questions, tokenizer, max_length=window, overlap=fitted.overlap if fitted else None)
    starts, ends = predict(model, features, pad_id=tokenizer.pad_id)
    if fitted is not None:
        summary = trust.trust(questions, trust.read_all(fitted, questions, features, starts, ends)).summary()
        return {name: round(float(summary[name]), 2) for name in ("f1", "exact")}
    predictions = answers(questions, features, starts, ends)
    official = evaluate(questions, {prediction.id: prediction.text for prediction in predictions})
    return {name: round(float(official[name]), 2) for name in ("f1", "exact")}
