"""How well words were tagged: entity precision, recall and F1 as the CoNLL script counts them, or accuracy."""

from __future__ import annotations

from collections.abc import Sequence

from pocketbert.errors import InputError, require
from pocketbert.tasks.tags.bio import Kind, repair

BEST: dict[Kind, str] = {"entities": "f1", "words": "accuracy"}
"""The score by which the best weights are chosen."""


def evaluate(truth: Sequence[Sequence[str]], said: Sequence[Sequence[str]], kind: Kind) -> dict[str, float]:
    """Scores in percent: an entity counts if its kind and both its ends are right."""
    if [len(row) for row in truth] != [len(row) for row in said]:
        raise InputError("the sentences have other words than the predictions; give a tag for every word")
    words = sum(map(len, truth))
    if not words:
        raise InputError("there is no word to evaluate on")
    hits = sum(
        left == right for rows in zip(truth, said, strict=True) for left, right in zip(*rows, strict=True)
    )
    scores = {"accuracy": 100.0 * hits / words}
    if kind == "words":
        return scores
    metrics = require("seqeval.metrics", extra="lab")
    # A model may say I- behind O. The CoNLL script takes that for the start of an entity, as we do.
    rows = [list(row) for row in truth], [list(repair(row)) for row in said]
    for name in ("precision", "recall", "f1"):
        scores[name] = 100.0 * float(getattr(metrics, f"{name}_score")(*rows, zero_division=0))
    return scores


def by_kind(truth: Sequence[Sequence[str]], said: Sequence[Sequence[str]]) -> dict[str, dict[str, float]]:
    """Precision, recall, F1 and count of each kind of entity."""
    metrics = require("seqeval.metrics", extra="lab")
    report = metrics.classification_report(
        [list(row) for row in truth], [list(repair(row)) for row in said], output_dict=True, zero_division=0
    )
    return {
        kind: {
            "precision": 100.0 * float(row["precision"]),
            "recall": 100.0 * float(row["recall"]),
            "f1": 100.0 * float(row["f1-score"]),
            "entities": int(row["support"]),
        }
        for kind, row in report.items()
        if not kind.endswith(" avg")
    }
