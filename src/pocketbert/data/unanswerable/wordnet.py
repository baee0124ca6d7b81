"""Opposites from WordNet's own files, where somebody has them.

Reads the `dict` folder of WordNet 3.x (`index.noun`, `data.noun`, …): `apt install wordnet-base` puts it in
/usr/share/wordnet, and NLTK's `wordnet` corpus is the same folder. Nothing needs it; it only adds pairs to our own.
Its sister words (`apple`, `pear`) were tried as well and read like noise: `book`, `reissue`; `movie`, `output`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from pocketbert.data.unanswerable.lexicon import plural, verb_forms
from pocketbert.errors import InputError

_PARTS = ("noun", "verb", "adj", "adv")


class WordNet:
    """Looks up opposites by the word as it stands in a text, and gives them in the same form."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        files = [f"{kind}.{part}" for part in _PARTS for kind in ("index", "data")]
        missing = [file for file in files if not (self._folder / file).is_file()]
        if missing:
            raise InputError(
                f"{self._folder} lacks {', '.join(missing)}; give the `dict` folder of WordNet 3"
            )
        self._data = {part: (self._folder / f"data.{part}").read_bytes() for part in _PARTS}
        self._senses = {part: self._read_index(part) for part in _PARTS}
        self.antonyms = lru_cache(maxsize=None)(self._antonyms)

    def _antonyms(self, word: str) -> tuple[str, ...]:
        """The opposites of a word's commonest sense; none for a verb or a word of more than one part of speech.

        Without knowing which part of speech a word is in a sentence, only the others are safe to swap; and what
        WordNet sets against a verb seldom fits the words round it: `managing a team`, `failing a team`.
        """
        readings = [
            (part, base) for part in _PARTS for base in _bases(word, part) if base in self._senses[part]
        ]
        if len({part for part, _ in readings}) != 1 or readings[0][0] == "verb":
            return ()
        part, base = readings[0]
        opposites = self._opposites(base, part)
        return tuple(opposites if base == word else (plural(opposite) for opposite in opposites))

    def _opposites(self, base: str, part: str) -> Iterator[str]:
        """Follow the `!` pointers that leave from this very word of its first synset."""
        names, pointers = self._synset(part, self._senses[part][base])
        if base not in names:
            return
        for relation, offset, _, ends in pointers:
            if relation == "!" and int(ends[:2], 16) == names.index(base) + 1:
                name = self._synset(part, offset)[0][int(ends[2:], 16) - 1]
                if "_" not in name:
                    yield name

    def _read_index(self, part: str) -> dict[str, str]:
        """Single words that WordNet's tagged texts hold, each with the place of its commonest sense.

        A line is: word, part, number of senses, number of pointer kinds, those kinds, number of senses again,
        number of tagged senses, places of the senses.
        """
        places = {}
        for line in (self._folder / f"index.{part}").read_text(encoding="utf-8").splitlines():
            if not line.startswith(" "):
                word, _, _, kinds, *rest = line.split()
                tagged, first = rest[int(kinds) + 1], rest[int(kinds) + 2]
                if tagged != "0" and "_" not in word:
                    places[word] = first
        return places

    def _synset(self, part: str, offset: str) -> tuple[list[str], list[list[str]]]:
        """The words of the synset at a byte offset, and its pointers: relation, offset, part, ends."""
        start = int(offset)
        data = self._data[part]
        fields = data[start : data.index(b"\n", start)].decode("utf-8").split(" | ")[0].split()
        size = int(fields[3], 16)
        names = [name.split("(")[0].lower() for name in fields[4 : 4 + 2 * size : 2]]
        count, rest = int(fields[4 + 2 * size]), fields[5 + 2 * size :]
        return names, [rest[4 * index : 4 * index + 4] for index in range(count)]


def _bases(word: str, part: str) -> Iterator[str]:
    """Dictionary forms that a word may come from."""
    yield word
    if part == "noun" and word.endswith("s"):
        yield from (base for base in (word[:-1], word[:-2], word[:-3] + "y") if base and plural(base) == word)
    if part == "verb" and word.endswith(("s", "ed", "ing")):
        stripped = word[:-1], word[:-2], word[:-2] + "e", word[:-3], word[:-3] + "e", word[:-3] + "y"
        yield from (base for base in dict.fromkeys(stripped) if len(base) > 2 and word in verb_forms(base))
