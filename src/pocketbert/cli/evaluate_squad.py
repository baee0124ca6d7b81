"""`pocketbert evaluate --task squad`: official scores of a reader, and how far its own can be trusted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from pocketbert import checkpoint, hub
from pocketbert.errors import InputError
from pocketbert.heads import load
from pocketbert.model import read_config
from pocketbert.runtime.session import FILES, Precision, Session
from pocketbert.tasks import calibration, plots, trust
from pocketbert.tasks.squad.answers import answers, write_predictions
from pocketbert.tasks.squad.features import featurise
from pocketbert.tasks.squad.metrics import evaluate
from pocketbert.tasks.squad.predict import predict
from pocketbert.tasks.squad.questions import halves_by_title
from pocketbert.tasks.squad.reading import read_questions
from pocketbert.text import Tokenizer
from pocketbert.text.calibration import FILE_NAME, Calibration


def measure_squad(
    name: str,
    files: tuple[str, ...],
    out: Path | None,
    *,
    half: str = "all",
    precision: Precision | None = None,
    window: int | None = None,
    overlap: int | None = None,
    fit: bool = False,
    limit: int | None = None,
) -> dict[str, Any]:
    """The official scores of a reader; of a calibrated one also those of its own decisions."""
    folder = hub.resolve(
        name, patterns=(*hub.PATTERNS, FILES[precision]) if precision else hub.PATTERNS
    ).folder
    questions = list(read_questions(files, split="validation").questions)
    if half != "all":
        questions = halves_by_title(questions)[half == "report"]
    questions = questions[:limit]
    if not questions:
        raise InputError(
            f"{', '.join(files)}: no question is left to evaluate on (--half {half}, --limit {limit})"
        )
    reader: Any
    if precision is not None:
        reader = Session.load(folder, precision=precision)
    else:
        reader = load(folder, head="question-answering")
        if reader.report.new:
            raise InputError(
                f"{name} has no question-answering head; train one with: pocketbert train squad --model {name}"
            )
    config = read_config(checkpoint.read_json(folder / "config.json"))
    tokenizer = Tokenizer.load(folder)
    fitted = Calibration.load(folder) if (folder / FILE_NAME).is_file() else None
    size = config.at_most(window or (fitted.window if fitted else 384))
    shared = overlap if overlap is not None else fitted.overlap if fitted else None
    features = featurise(questions, tokenizer, max_length=size, overlap=shared)
    with click.progressbar(length=len(features), label="reading", file=sys.stderr) as bar:
        starts, ends = predict(reader, features, pad_id=tokenizer.pad_id, progress=bar.update)
    longest = fitted.max_answer_length if fitted else 30
    predictions = answers(questions, features, starts, ends, max_answer_length=longest)
    texts = {prediction.id: prediction.text for prediction in predictions}
    odds = {prediction.id: prediction.null_odds for prediction in predictions}
    official = evaluate(questions, texts, odds)
    if fit:
        shared = 128 if shared is None else shared
        fitted = calibration.fit(
            questions, features, starts, ends, window=size, overlap=shared, max_answer_length=longest
        )
        fitted.save(folder)
    scores: dict[str, Any] = {"questions": len(questions), "windows": len(features), "window": size}
    scores |= {f"always_{key}": value for key, value in official.items() if key in ("exact", "f1")}
    scores |= {f"always_{key}": value for key, value in official.items() if key.startswith("HasAns_")}
    if out is not None:
        write_predictions(out, predictions)
    if fitted is None:
        return scores | {key: value for key, value in official.items() if key not in ("exact", "f1")}
    readings = trust.read_all(fitted, questions, features, starts, ends)
    trusted = trust.trust(questions, readings)
    if out is not None:
        plots.plot_risk_coverage(out / "risk_coverage.png", {name: trusted.curve})
        plots.plot_reliability(out / "reliability.png", trusted.reliability)
    return scores | trusted.summary()
