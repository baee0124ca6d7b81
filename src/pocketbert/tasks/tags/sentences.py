"""Sentences with a tag for every word: the column files of CoNLL, CoNLL-U, and tables with lists of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from pocketbert.errors import InputError
from pocketbert.tables import Row, check_columns, near, read_rows
from pocketbert.tables.reading import open_lines

Form = Literal["auto", "conll", "conllu"]
# The columns of CoNLL-U; what a word's tag may be read from.
CONLLU = {"upos": 3, "xpos": 4, "deprel": 7}
# Tables that can hold lists, and the columns that the words of a sentence are looked for in.
TABLES = (".jsonl", ".ndjson", ".json", ".parquet")
WORDS = ("tokens", "words")


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words, their tags, and where the first of them stands."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    place: str

    def __len__(self) -> int:
        return len(self.words)


def read_sentences(
    sources: Iterable[str | Path], *, form: Form = "auto", column: str | None = None
) -> list[Sentence]:
    """All sentences of some files.

    CoNLL: a word a line, columns between tabs or blanks, a blank line behind a sentence; the first column is the word,
    and `column` the number of the one with the tag, counted from 1 (none: the last). CoNLL-U is known by its ending;
    there `column` is upos, xpos or deprel (none: upos). So are JSON lines and Parquet files, which have a sentence a
    row: its words are a list in the column `tokens` or `words`, its tags one in `column` (none: `tags`).
    """
    sentences: list[Sentence] = []
    for source in map(Path, sources):
        if not source.is_file():
            raise InputError(
                f"{source}: there is no such file; give a CoNLL or CoNLL-U file, or a table ({', '.join(TABLES)})"
            )
        before = len(sentences)
        ending = source.suffix.lower() if form == "auto" else ""
        if ending in TABLES:
            sentences += _listed(source, column or "tags")
        elif form == "conllu" or ending == ".conllu":
            sentences += _conllu(source, column or "upos")
        else:
            sentences += _conll(source, column)
        if len(sentences) == before:
            raise InputError(f"{source} holds no sentences; a word and its tag stand on a line")
    return sentences


def tag_names(sentences: Iterable[Sentence]) -> tuple[str, ...]:
    """All tags that occur, sorted; `O` is first, and B- and I- of a kind stand together."""
    found = {tag for sentence in sentences for tag in sentence.tags}
    return tuple(sorted(found, key=lambda tag: (tag != "O", tag[2:] if tag[1:2] == "-" else tag, tag)))


def check_tags(sentences: Iterable[Sentence], known: Sequence[str]) -> None:
    """Refuse a tag that is not among the known ones."""
    allowed = set(known)
    for sentence in sentences:
        for number, (word, tag) in enumerate(zip(sentence.words, sentence.tags, strict=True), start=1):
            if tag not in allowed:
                raise InputError(
                    f"{sentence.place}, word {number} ({word!r}): the tag {tag!r} is unknown; allowed are "
                    f"{', '.join(known)}{near(tag, known)}"
                )


def hold_out(
    sentences: Sequence[Sentence], *, fraction: float, seed: int = 0
) -> tuple[list[Sentence], list[Sentence]]:
    """Split into (kept, held out); the same words are never on both sides, wherever in the file they stand."""
    if not 0.0 < fraction < 1.0:
        raise InputError(f"validation_split = {fraction}: must lie between 0 and 1")
    salt = seed.to_bytes(8, "little")
    hashes = {
        words: blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=8, salt=salt).digest()
        for words in {sentence.words for sentence in sentences}
    }
    order = sorted(hashes, key=lambda words: (hashes[words], words))
    if len(order) < 2:
        raise InputError("one sentence is too few to hold some out; give more, or a validation_file")
    held = set(order[: min(max(round(fraction * len(order)), 1), len(order) - 1)])
    return [row for row in sentences if row.words not in held], [
        row for row in sentences if row.words in held
    ]


def _conll(path: Path, column: str | None) -> Iterator[Sentence]:
    if column is not None and (not column.isdecimal() or int(column) < 2):
        raise InputError(
            f"column is {column!r}; in a CoNLL file it is a number from 2 up, or none for the last"
        )
    for number, lines in _blocks(path):
        words, tags = [], []
        for offset, line in lines:
            fields = line.split("\t") if "\t" in line else line.split()
            fields = [field.strip() for field in fields]
            if fields[0] == "-DOCSTART-":
                continue
            place = f"{path}, line {offset}"
            if len(fields) < 2 or not fields[0]:
                raise InputError(
                    f"{place}: {line.strip()!r} is no word with a tag behind it; columns stand between tabs"
                )
            if column is not None and len(fields) < int(column):
                raise InputError(f"{place}: {len(fields)} columns, so there is no column {column}")
            tag = fields[-1 if column is None else int(column) - 1]
            if not tag:
                raise InputError(f"{place}: the word {fields[0]!r} has no tag; O stands for none")
            words.append(fields[0])
            tags.append(tag)
        if words:
            yield Sentence(tuple(words), tuple(tags), f"{path}, line {number}")


def _conllu(path: Path, column: str) -> Iterator[Sentence]:
    if column not in CONLLU:
        raise InputError(
            f"column is {column!r}; of a CoNLL-U file it is {', '.join(CONLLU)}{near(column, list(CONLLU))}"
        )
    for number, lines in _blocks(path):
        words, tags = [], []
        for offset, line in lines:
            if line.startswith("#"):
                continue
            fields = line.rstrip("\r\n").split("\t")
            if len(fields) != 10:
                raise InputError(
                    f"{path}, line {offset}: {len(fields)} columns; CoNLL-U has 10, between tabs"
                )
            if not fields[0].isdecimal():
                continue  # 3-4 is a contraction whose parts follow, 8.1 a word that is not there
            words.append(fields[1])
            tags.append(fields[CONLLU[column]])
        if words:
            yield Sentence(tuple(words), tuple(tags), f"{path}, line {number}")


def _listed(path: Path, column: str) -> Iterator[Sentence]:
    for row in read_rows(path):
        words_in = next((name for name in WORDS if name in row.cells), WORDS[0])
        check_columns(row.place, (words_in, column), list(row.cells))
        words, tags = _texts(row, words_in), _texts(row, column)
        if len(words) != len(tags):
            raise InputError(
                f"{row.place}: {words_in!r} has {len(words)} words and {column!r} {len(tags)} tags; every word needs "
                "one, and O stands for none"
            )
        if words:
            yield Sentence(words, tags, row.place)


def _texts(row: Row, column: str) -> tuple[str, ...]:
    """A cell that holds a list of texts, none of them empty."""
    value = row.cells[column]
    if not isinstance(value, list | tuple):
        raise InputError(
            f"{row.place}: {column!r} is {value!r}; it must be a list with an entry for every word"
        )
    for number, entry in enumerate(value, start=1):
        if not isinstance(entry, str) or not entry.strip():
            raise InputError(
                f"{row.place}: entry {number} of {column!r} is {entry!r}; it must be a text: a word, or the name of "
                "a tag and not its number"
            )
    return tuple(entry.strip() for entry in value)


def _blocks(path: Path) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    """The lines between blank ones, with their numbers."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate(open_lines(path, newline="\n"), start=1):
        if line.strip():
            block.append((number, line))
        elif block:
            yield block[0][0], block
            block = []
    if block:
        yield block[0][0], block
