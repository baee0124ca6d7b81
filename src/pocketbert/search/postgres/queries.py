"""What is asked of PostgreSQL: words and their BM25 scores, vectors as pgvector takes them, and filters."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pocketbert.search.passages import WITHOUT_BLANKS
from pocketbert.search.store import Filter, Vectors

RUN = re.compile(f"[{WITHOUT_BLANKS}]+|[^\\W_{WITHOUT_BLANKS}]+")
MARK = re.compile("[\u0300-\u036f]")
MOST_WORDS = 64  # of a query, the rarest: what the others say is little
SHORTLIST = 1000  # passages whose words are counted, at least
COMMON = 0.1  # of all passages, if more than a shortlist: who has no rarer word of the query is left out
K1, B = 1.2, 0.75

# How many passages have each word: of common words as PostgreSQL estimates it, the others are counted.
COUNTS = """
with common as materialized (
    select elem, freq
    from pg_stats, unnest(most_common_elems::text::text[], most_common_elem_freqs) as given (elem, freq)
    where schemaname = %(schema)s and tablename = 'passages' and attname = 'words'
)
select lexeme, coalesce(
    nullif(round(freq * %(passages)s), 0)::bigint,
    (select count(*) from passages where passages.words @@ ('''' || lexeme || '''')::tsquery)
)
from unnest(to_tsvector('words', %(words)s)) as asked left join common on elem = lexeme
"""

# The most promising passages are chosen by which words they have, then scored by how often they have them.
BM25 = f"""
with asked as materialized (
    select word, weight, ('''' || word || '''')::tsquery as query
    from unnest(%(words)s::text[], %(weights)s::float8[]) as given (word, weight)
), chosen as materialized (
    select id, words, size from passages where words @@ %(any)s::tsquery{{}}
    order by (select sum(weight) from asked where passages.words @@ asked.query) desc, id limit %(shortlist)s
)
select chosen.id, sum(weight * cardinality(positions) * {K1 + 1} / (
    cardinality(positions) + {K1} * ({1 - B} + {B} * size / %(mean)s::float8))) as score
from chosen cross join unnest(chosen.words) as found (lexeme, positions, weights) join asked on word = lexeme
group by chosen.id order by score desc, chosen.id limit %(count)s
"""  # noqa: S608


def words_of(text: str) -> list[str]:
    """The words of a text, without accents; of a script without blanks each letter and each two that are neighbours.

    >>> words_of('Is "C++" a café?'), words_of("首都は")
    (['is', 'c', 'a', 'cafe'], ['首', '首都', '都', '都は', 'は'])
    """
    plain = text.encode(errors="ignore").decode()  # half a character of UTF-16 is in no text
    plain = unicodedata.normalize("NFKC", MARK.sub("", unicodedata.normalize("NFKD", plain))).lower()
    found = []
    for run in RUN.findall(plain):
        if re.match(f"[{WITHOUT_BLANKS}]", run):
            for place, letter in enumerate(run):
                found += [letter, run[place : place + 2]][: len(run) - place]
        else:
            found.append(run)
    return found


def asked_words(text: str) -> list[str]:
    """The words of a query; of scripts without blanks pairs of letters alone, where there is more than one."""
    plain = words_of(text)
    pairs = {word for word in plain if len(word) == 2 and re.match(f"[{WITHOUT_BLANKS}]", word)}
    covered = {letter for pair in pairs for letter in pair}
    return [word for word in dict.fromkeys(plain) if word in pairs or word not in covered]


def weights(counts: Mapping[str, int], passages: int) -> dict[str, float]:
    """BM25's weights of words by how many passages have them: of the rarest words, without those that none has."""
    known = sorted((count, word) for word, count in counts.items() if count)[:MOST_WORDS]
    return {word: math.log(1 + max(passages - count, 0) / (count + 0.5)) + 1e-6 for count, word in known}


def choosing(counts: Mapping[str, int], words: Iterable[str], passages: int) -> list[str]:
    """The words of which a passage must have one: not the common ones, unless there are no others."""
    given = list(words)
    return [word for word in given if counts[word] <= max(COMMON * passages, SHORTLIST)] or given


def any_of(words: Iterable[str]) -> str:
    """A query of text search for any of some words."""
    return " | ".join(f"'{word}'" for word in words)


def halves(vector: Vectors) -> str:
    """A vector as pgvector reads it, with 1 as its largest number: half floats end at 65,504."""
    largest = float(np.abs(vector).max(initial=0.0))
    scaled = vector / largest if largest > 0 else vector
    return f"[{','.join(f'{number:.6g}' for number in scaled.tolist())}]"


def condition(where: Filter, column: str = "document") -> tuple[str, dict[str, Any]]:
    """SQL that keeps rows of the wanted documents, whose ids are in a column, and its values."""
    wanted: list[str] = []
    values: dict[str, Any] = {}
    if where.path is not None:
        wanted.append("path ~ %(path)s")
        values["path"] = pattern(where.path)
    if where.since is not None:
        wanted.append("modified >= %(since)s")
        values["since"] = where.since
    if where.until is not None:
        wanted.append("modified <= %(until)s")
        values["until"] = where.until
    if not wanted:
        return "", values
    return f" and {column} in (select id from documents where {' and '.join(wanted)})", values  # noqa: S608


def pattern(glob: str) -> str:
    r"""A pattern of paths, as SQLite's GLOB knows it, as a regular expression.

    >>> print(pattern("a/*.[ch]"))
    ^a/.*\.[ch]$
    """
    found = []
    for part in re.findall(r"\*|\?|\[\^?\]?[^\]]*\]|[\s\S]", glob):
        if part in "*?":
            found.append(".*" if part == "*" else ".")
        elif len(part) > 1:
            found.append(part.replace("\\", "\\\\"))
        else:
            found.append(re.escape(part))
    return f"^{''.join(found)}$"
