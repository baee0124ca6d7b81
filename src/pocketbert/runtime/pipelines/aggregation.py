"""Tokens with scores to entities, as transformers' pipeline joins them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = list[dict[str, Any]]
Join = Callable[[list[str]], str]


@dataclass(frozen=True, eq=False)
class Piece:
    """A token: what it is, its scores, where it stands in the text and among the tokens."""

    word: str
    scores: NDArray[np.floating]  # (L,)
    start: int
    end: int
    index: int
    inside: bool
    """Whether it goes on with the word before it."""


def one_by_one(pieces: Sequence[Piece], labels: Sequence[str]) -> Rows:
    """Each token with its likeliest tag."""
    rows = []
    for piece in pieces:
        best = int(piece.scores.argmax())
        rows.append(
            {
                "entity": labels[best],
                "score": float(piece.scores[best]),
                "index": piece.index,
                "word": piece.word,
                "start": piece.start,
                "end": piece.end,
            }
        )
    return rows


def grouped(pieces: Sequence[Piece], labels: Sequence[str], strategy: str, join: Join) -> Rows:
    """Neighbours of one kind together; but for "simple" the tokens of a word agree on a tag first."""
    rows = one_by_one(pieces, labels) if strategy == "simple" else _words(pieces, labels, strategy, join)
    groups: list[Rows] = []
    for row in rows:
        mark, kind = _mark(row["entity"])
        if groups and mark != "B" and kind == _mark(groups[-1][-1]["entity"])[1]:
            groups[-1].append(row)
        else:
            groups.append([row])
    return [
        {
            "entity_group": group[0]["entity"].split("-", 1)[-1],
            "score": float(np.mean([row["score"] for row in group])),
            "word": join([row["word"] for row in group]),
            "start": group[0]["start"],
            "end": group[-1]["end"],
        }
        for group in groups
    ]


def without_overlaps(rows: Rows) -> Rows:
    """Of entities that share characters the longest, and of equally long ones the surest."""
    kept: Rows = []
    for row in sorted(rows, key=lambda row: row["start"]):
        if not kept or not kept[-1]["start"] <= row["start"] < kept[-1]["end"]:
            kept.append(row)
        elif _weight(row) > _weight(kept[-1]):
            kept[-1] = row
    return kept


def _words(pieces: Sequence[Piece], labels: Sequence[str], strategy: str, join: Join) -> Rows:
    groups: list[list[Piece]] = []
    for piece in pieces:
        if groups and piece.inside:
            groups[-1].append(piece)
        else:
            groups.append([piece])
    rows = []
    for group in groups:
        scores = _agreed(group, strategy)
        best = int(scores.argmax())
        rows.append(
            {
                "entity": labels[best],
                "score": float(scores[best]),
                "word": join([piece.word for piece in group]),
                "start": group[0].start,
                "end": group[-1].end,
            }
        )
    return rows


def _agreed(group: Sequence[Piece], strategy: str) -> NDArray[np.floating]:
    if strategy == "first":
        return group[0].scores
    if strategy == "max":
        return max(group, key=lambda piece: float(piece.scores.max())).scores
    return np.asarray(np.mean([piece.scores for piece in group], axis=0))


def _mark(tag: str) -> tuple[str, str]:
    """B or I, and the kind; a tag without a mark goes on with its like."""
    return (tag[0], tag[2:]) if tag[:2] in ("B-", "I-") else ("I", tag)


def _weight(row: dict[str, Any]) -> tuple[int, float]:
    return row["end"] - row["start"], row["score"]
