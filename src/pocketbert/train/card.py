"""The model card: a README.md that says what a model is, how it scores and what it was made from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pocketbert.train.fields import fields_of, to_json
from pocketbert.train.settings import LoopSettings


def write_card(
    folder: Path,
    *,
    task: str,
    settings: LoopSettings,
    scores: Mapping[str, float],
    title: str | None = None,
    text: str = "",
    evaluated_on: str = "held-out data",
    base_model: str | None = None,
    language: str = "en",
    license: str | None = None,  # noqa: A002 - the card's own word
    tags: Sequence[str] = (),
) -> Path:
    """Write README.md into a model folder.

    `task` is Hugging Face's word for it, such as question-answering. What the run left in `output_dir/run.json`
    (data, versions) goes into the card; of files only their names do, since a path means nothing elsewhere.
    `base_model` is the recipe's `model` if it is left out; empty for weights that began with none.
    """
    run = _run_of(settings.output_dir)
    title = title or folder.resolve().name
    base_model = (str(getattr(settings, "model", "")) if base_model is None else base_model) or None
    parts = [
        _head(task, title, scores, evaluated_on, base_model, language, license, tags),
        f"# {title}",
        text,
        f"Trained from `{Path(base_model).name if Path(base_model).is_dir() else base_model}`."
        if base_model
        else "",
        "## Scores",
        _table(
            [f"score on {evaluated_on}", "value"],
            [[f"`{name}`", f"{value:.4g}"] for name, value in scores.items()],
        ),
        "## Data",
        _data(run),
        "## Settings",
        "Where they differ from the defaults; settings.json has them all.",
        _settings(settings),
        "## Made with",
        _table(["what", "version"], [[name, str(value)] for name, value in run.get("versions", {}).items()]),
    ]
    file = folder / "README.md"
    file.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return file


def _head(
    task: str,
    title: str,
    scores: Mapping[str, float],
    evaluated_on: str,
    base_model: str | None,
    language: str,
    license_name: str | None,
    tags: Sequence[str],
) -> str:
    """The YAML head that hubs read. A JSON value is a YAML value, so no library is needed to quote."""
    lines = ["---", f"language: {json.dumps(language)}", "library_name: pocketbert", f"pipeline_tag: {task}"]
    if license_name:
        lines.append(f"license: {json.dumps(license_name)}")
    if base_model and not Path(base_model).is_dir():
        lines.append(f"base_model: {json.dumps(base_model)}")
    lines.append(f"tags: {json.dumps(['pocketbert', *tags])}")
    metrics = [{"type": name, "name": name, "value": round(value, 4)} for name, value in scores.items()]
    result = {
        "task": {"type": task},
        "dataset": {"type": evaluated_on, "name": evaluated_on},
        "metrics": metrics,
    }
    if metrics:
        lines.append(f"model-index: {json.dumps([{'name': title, 'results': [result]}], ensure_ascii=False)}")
    return "\n".join([*lines, "---"])


def _run_of(output: Path) -> dict[str, Any]:
    file = output / "run.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def _data(run: Mapping[str, Any]) -> str:
    rows = [
        [Path(name).name, f"{entry['bytes']:,}", f"`{entry['sha256']}`"]
        for name, entry in run.get("data", {}).items()
    ]
    return _table(["file", "bytes", "sha256"], rows) if rows else "No data files were named."


def _settings(settings: LoopSettings) -> str:
    values = to_json(settings)
    defaults = {name: field.default for name, field in fields_of(type(settings)).items()}
    lines = [
        f"{name} = {json.dumps(value, ensure_ascii=False)}"
        for name, value in values.items()
        if value is not None and getattr(settings, name) != defaults[name]
    ]
    return "\n".join(["```toml", *lines, "```"])


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
