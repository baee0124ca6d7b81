"""What the verbs share that find passages in an index: how they are found, and in which documents."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from pocketbert.search.store import Filter

Function = TypeVar("Function", bound=Callable[..., object])

LARGEST = 2**63 - 1  # of the numbers that databases keep
KNOWN_YEARS = range(1900, 2262)  # their nanoseconds since 1970 are such numbers


def finding_options(function: Function) -> Function:
    """The options of every verb that finds passages."""
    options = [
        click.option(
            "--by",
            type=click.Choice(["words", "vectors", "both"]),
            help="By words, by meaning, or both [default: both if the index has vectors].",
        ),
        click.option(
            "--path",
            "pattern",
            metavar="GLOB",
            help='Only files whose paths are like this, as "notes/*.md".',
        ),
        click.option("--since", type=click.DateTime(), help="Only files that were changed since then."),
        click.option(
            "--until",
            type=click.DateTime(["%Y-%m-%d"]),
            metavar="DATE",
            help="Only files that were changed on that day or before.",
        ),
        click.option(
            "--reranker", metavar="MODEL", help="Folder or hub name of a cross-encoder, for the last word."
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def wanted_documents(pattern: str | None, since: datetime | None, until: datetime | None) -> Filter:
    """Which documents the options leave; the day `until` is one of theirs."""
    from pocketbert.search.store import Filter

    first = None if since is None else nanoseconds(since)
    if until is None:
        return Filter(pattern, first)
    last = nanoseconds(datetime.combine(until, time(23, 59, 59))) + 10**9 - 1
    return Filter(pattern, first, min(last, LARGEST))


def nanoseconds(moment: datetime) -> int:
    """A moment as nanoseconds since 1970; the nearest that a database can keep, if it is far from now."""
    if moment.year not in KNOWN_YEARS:
        return LARGEST if moment.year > KNOWN_YEARS[0] else -LARGEST
    return int(moment.timestamp()) * 10**9
