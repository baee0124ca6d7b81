"""The folders of a search: only the best trial keeps its weights, and its folder becomes the result.

output_dir/
trials.json, trials.csv, trials.png   every trial: its settings and scores
trials/trial-03/                      log, settings and scores of a trial; while it runs, all that a run writes
README.md, model.safetensors, …       what the best trial wrote, as a run without a search would have
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from pocketbert import checkpoint
from pocketbert.errors import InputError, TrainingError
from pocketbert.train import state
from pocketbert.train.provenance import write_json
from pocketbert.train.settings import LoopSettings
from pocketbert.train.trials.record import FILE, Record, Trial

# What stays of a trial that was not the best: small, and enough to see why.
_RECORDS = {"log.jsonl", "settings.json", "run.json", "scores.json", "curves.png"}
# What the best trial no longer needs: it has come to its end.
_SCAFFOLDING = ("checkpoint-*", "best-*", "snapshots", "transfer", ".unfinished*")
_HEADING = "\n## Search\n"


def trial_folder(output: Path, trial: Trial) -> Path:
    """Where a trial writes to."""
    return output / "trials" / f"trial-{trial.number:02d}"


def begin(settings: LoopSettings) -> bool:
    """Look at the output folder, and clear it if told so; says whether a search is there to go on with."""
    output, wanted = settings.output_dir, settings.resume_from_checkpoint
    if wanted is not None and wanted.lower() not in ("latest", "true"):
        raise InputError(
            f"resume_from_checkpoint = {wanted!r}: a search goes on from its own record; say latest, and "
            "its output_dir"
        )
    there, runs = (output / FILE).is_file(), state.checkpoints(output)
    if wanted is not None and not runs:
        return there
    if settings.overwrite_output_dir and wanted is None:
        (output / FILE).unlink(missing_ok=True)
        shutil.rmtree(output / "trials", ignore_errors=True)
        for path in (*runs, *output.glob("best-*")):
            state.discard(path)
    elif there or runs:
        what = f"an earlier search ({FILE})" if there else f"an earlier run ({runs[-1].name})"
        on = "--resume_from_checkpoint latest to go on with it, " if there and not runs else ""
        raise TrainingError(
            f"{output} holds {what}: add {on}--overwrite_output_dir to delete it, or choose another --output_dir"
        )
    return False


def tidy(output: Path, record: Record) -> None:
    """Remove the weights of all trials that ended, but for the best one's."""
    best = record.best
    for trial in record.ended:
        folder = trial_folder(output, trial)
        if not folder.is_dir():
            continue
        doomed = (
            [path for pattern in _SCAFFOLDING for path in folder.glob(pattern)]
            if trial is best
            else [path for path in folder.iterdir() if path.name not in _RECORDS]
        )
        for path in doomed:
            _remove(path)


def promote(output: Path, record: Record, best: Trial) -> None:
    """Make what the best trial wrote the result: move it up, under the name of the output folder.

    A kill half-way does no harm: what was moved is whole, and the rest is moved the next time.
    """
    folder = trial_folder(output, best)
    if folder.is_dir():
        _rename_inside(folder, output)
        for path in sorted(folder.iterdir()):
            target = output / path.name
            if target.is_dir():
                shutil.rmtree(target)
            path.replace(target)
        folder.rmdir()
    card = output / "README.md"
    if card.is_file():
        text = card.read_text(encoding="utf-8").split(_HEADING)[0].rstrip("\n")
        card.write_text(f"{text}\n{_HEADING}\n{_described(record)}\n", encoding="utf-8")


def _rename_inside(folder: Path, output: Path) -> None:
    """Card and settings name the trial's folder; they are to name the one where they will stand."""
    card = folder / "README.md"
    if card.is_file():
        text = card.read_text(encoding="utf-8")
        for old, new in (
            (json.dumps(str(folder)), json.dumps(str(output))),
            (folder.name, output.resolve().name),
        ):
            text = text.replace(old, new)
        card.write_text(text, encoding="utf-8")
    for name in ("settings.json", "run.json"):
        file = folder / name
        if file.is_file():
            data: dict[str, Any] = dict(checkpoint.read_json(file))
            for settings in (data, data.get("settings")):
                if isinstance(settings, dict) and "output_dir" in settings:
                    settings.update(output_dir=str(output), resume_from_checkpoint=None)
            write_json(file, data)


def _described(record: Record) -> str:
    """What the card says of the search."""
    states = [trial.state for trial in record.ended]
    words = {"finished": "finished", "pruned": "were given up early", "failed": "failed"}
    counts = ", ".join(f"{states.count(state)} {word}" for state, word in words.items() if state in states)
    ranges = "\n".join(f"| `{name}` | {values} |" for name, values in record.space.items())
    source = f" They are those of {record.source}." if record.source else ""
    return (
        f"The settings are the best of {len(states)} trials ({counts}), by `{record.metric}` on the held-out data. The "
        "best of many scores is an optimistic one: on data that no trial was measured on, expect less.\n\n"
        f"| setting | range |\n| --- | --- |\n{ranges}\n\ntrials.csv has every trial.{source}"
    )


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
