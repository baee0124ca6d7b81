"""`pocketbert evaluate`: official scores of a model on a data set."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from pocketbert.errors import InputError, require
from pocketbert.runtime.session import FILES, Precision, Session


@click.command(name="evaluate")
@click.argument("model", metavar="MODEL")
@click.option("--task", type=click.Choice(["squad"]), required=True, help="What the model is to do.")
@click.option(
    "--data", "files", multiple=True, required=True, help="SQuAD JSON file, or a data set's name; repeatable."
)
@click.option("--half", type=click.Choice(["all", "fit", "report"]), default="all", show_default=True,
              help="By sorted title: every odd article (fit), every even one (report), or all.")  # fmt: skip
@click.option("--precision", type=click.Choice(list(FILES)),
              help="Run the model's ONNX file of this precision in the light runtime, instead of torch.")  # fmt: skip
@click.option("--window", type=int, help="Tokens in a window; by default as in qa_config.json, else 384.")
@click.option("--overlap", type=int, help="Tokens that neighbouring windows share.")
@click.option(
    "--fit", is_flag=True, help="Fit the calibration on this data and save it in MODEL's qa_config.json."
)
@click.option("--limit", type=int, help="Only the first so many questions.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for predictions, n-best lists, null odds and plots.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(model: str, files: tuple[str, ...], out: Path | None, as_json: bool, **options: Any) -> None:
    """Measure a model with the official scores of a task.

    MODEL is a model folder or a name on the hub. For a reader that has been calibrated, the scores are those of its
    own decisions; `best_f1` is what the best threshold for this very data would give.
    """
    require("torch", extra="lab")
    options.pop("task")
    scores = _squad(model, files, out, **options)
    if as_json:
        click.echo(json.dumps(scores, indent=2))
        return
    width = max(map(len, scores))
    for name, value in scores.items():
        click.echo(f"{name:<{width}}  {value if isinstance(value, int | str) else format(value, '.4f')}")


def _squad(
    name: str,
    files: tuple[str, ...],
    out: Path | None,
    *,
    half: str,
    precision: Precision | None,
    window: int | None,
    overlap: int | None,
    fit: bool,
    limit: int | None,
) -> dict[str, Any]:
    from pocketbert import checkpoint, hub
    from pocketbert.heads import load
    from pocketbert.model import read_config
    from pocketbert.tasks import calibration, plots, trust
    from pocketbert.tasks.squad.answers import answers, write_predictions
    from pocketbert.tasks.squad.features import featurise
    from pocketbert.tasks.squad.metrics import evaluate
    from pocketbert.tasks.squad.predict import predict
    from pocketbert.tasks.squad.questions import halves_by_title
    from pocketbert.tasks.squad.reading import read_questions
    from pocketbert.text import Tokenizer
    from pocketbert.text.calibration import FILE_NAME, Calibration

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
