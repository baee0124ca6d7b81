#!/usr/bin/env python3
"""web_unicode.py [FILE]: writes the Unicode table of the browser's tokenizer; `-` prints it.

Nothing is taken from a standard's files: the tokenizer that Python runs is asked about every code point, so that a
browser cuts texts in the same way whatever version of Unicode it knows. What the runtime asks Python's own strings (is
this a letter, a mark, a blank?) is a table of its own, of the version of Unicode that this Python has.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path

from tokenizers import normalizers, pre_tokenizers

OUTPUT = Path(__file__).resolve().parent.parent / "web" / "src" / "text" / "unicode-table.ts"
SURROGATES = range(0xD800, 0xE000)  # the library is never given one
HANGUL = range(0xAC00, 0xD7A4)  # taken apart by a rule, not by a table
WIDTH = 1000  # characters on a line of the file

LIBRARY_BITS = ("removed", "blank", "ideograph", "accent", "separator", "punctuation")
PYTHON_BITS = ("mark", "alphanumeric", "letter", "space", "decimal")


def table() -> str:
    """The text of the file."""
    characters = {code: chr(code) for code in range(0x110000) if code not in SURROGATES}
    decompositions = dict(_decompositions(characters))
    parts = [
        "// Written by scripts/web_unicode.py from what Python's tokenizer does with every code point; not by hand.",
        "// The string constants are runs of code points: a capital letter for a class, then how many follow in it",
        "// (base 36; none is one).",
        "",
        _constant("PYTHON_UNICODE", json.dumps(unicodedata.unidata_version)),
        _classes("LIBRARY", LIBRARY_BITS, _library_classes(characters)),
        _classes("PYTHON", PYTHON_BITS, _python_classes()),
        "// Code points and what they are taken apart into, in full; all numbers base 36.",
        _constant("DECOMPOSITIONS", _wrapped(" ".join(_expansions(decompositions)))),
        "// First code point, how many, the step between them, and how far lower case is; or what it is, in full.",
        _constant("LOWER_CASE", _wrapped(" ".join(_lower_case(characters)))),
        "// First code point, how many, and their combining class.",
        _constant("COMBINING", _wrapped(" ".join(_combining(characters, decompositions)))),
    ]
    return "\n".join(parts) + "\n"


def _library_classes(characters: dict[int, str]) -> list[int]:
    def only(option: str) -> Callable[[str], str]:
        options = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
        return normalizers.BertNormalizer(**{name: name == option for name in options}).normalize_str

    clean, split, strip = only("clean_text"), only("handle_chinese_chars"), only("strip_accents")
    cut = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    classes = [0] * 0x110000
    for code, character in characters.items():
        cleaned, words = clean(character), len(cut(f"a{character}a"))
        answers = (
            cleaned == "",
            cleaned == " ",
            split(character) == f" {character} ",
            strip(character) == "",
            words == 2,
            words == 3,
        )
        classes[code] = sum(1 << bit for bit, answer in enumerate(answers) if answer)
    return classes


def _python_classes() -> list[int]:
    classes = []
    for character in map(chr, range(0x110000)):
        answers = (
            unicodedata.category(character).startswith("M"),
            character.isalnum(),
            character.isalpha(),
            character.isspace(),
            character.isdecimal(),
        )
        classes.append(sum(1 << bit for bit, answer in enumerate(answers) if answer))
    return classes


def _decompositions(characters: dict[int, str]) -> Iterator[tuple[int, str]]:
    decompose = normalizers.NFD().normalize_str
    for code, character in characters.items():
        parts = decompose(character)
        if parts == character:
            continue
        if code in HANGUL:
            _check_hangul(code, parts)
        else:
            yield code, parts


def _check_hangul(code: int, parts: str) -> None:
    lead, rest = divmod(code - HANGUL.start, 588)
    vowel, tail = divmod(rest, 28)
    expected = [0x1100 + lead, 0x1161 + vowel, *([0x11A7 + tail] if tail else [])]
    if [ord(part) for part in parts] != expected:
        raise ValueError(f"U+{code:04X} is taken apart into {parts!r}, not by the rule for Hangul")


def _expansions(decompositions: dict[int, str]) -> Iterator[str]:
    for code, parts in decompositions.items():
        yield ".".join(map(_base36, (code, *map(ord, parts))))


def _lower_case(characters: dict[int, str]) -> Iterator[str]:
    lower = normalizers.Lowercase().normalize_str
    steps: list[tuple[int, int]] = []
    for code, character in characters.items():
        lowered = lower(character)
        if len(lowered) > 1:
            yield ".".join(map(_base36, (code, *map(ord, lowered))))
        elif lowered != character:
            steps.append((code, ord(lowered) - code))
    while steps:
        run = max((_run(steps, step) for step in (1, 2)), key=len)
        step = run[1][0] - run[0][0] if len(run) > 1 else 1
        sign = "-" if run[0][1] < 0 else ""
        yield f"{_base36(run[0][0])},{_base36(len(run))},{step},{sign}{_base36(abs(run[0][1]))}"
        steps = [entry for entry in steps if entry not in set(run)]


def _run(steps: list[tuple[int, int]], step: int) -> list[tuple[int, int]]:
    known = dict(steps)
    code, shift = steps[0]
    run = []
    while known.get(code) == shift:
        run.append((code, shift))
        code += step
    return run


def _combining(characters: dict[int, str], decompositions: dict[int, str]) -> Iterator[str]:
    """Combining classes of the marks that the library moves: it may know fewer than Python, in no other order."""
    order = normalizers.NFD().normalize_str
    lowest, highest = "\u0334", "\u0345"  # classes 1 and 240
    found: dict[int, int] = {}
    for code, character in characters.items():
        if code in decompositions or code in HANGUL:
            continue
        moved_up = order(f"a{highest}{character}") == f"a{character}{highest}"
        moved_down = order(f"a{character}{lowest}") == f"a{lowest}{character}"
        if character in (lowest, highest) or moved_up or moved_down:
            found[code] = unicodedata.combining(character)  # a class that was once given never changes
            if not found[code]:
                raise ValueError(f"U+{code:04X} is a mark for the library only; run this with a newer Python")
    for (_, rank), group in groupby(
        enumerate(found.items()), key=lambda entry: (entry[1][0] - entry[0], entry[1][1])
    ):
        codes = [code for _, (code, _) in group]
        yield ",".join(map(_base36, (codes[0], len(codes), rank)))


def _classes(name: str, bits: Iterable[str], classes: list[int]) -> str:
    values = sorted(set(classes))
    letters = {value: chr(ord("A") + place) for place, value in enumerate(values)}
    runs = ((letters[value], sum(1 for _ in group)) for value, group in groupby(classes))
    text = "".join(letter + (_base36(count) if count > 1 else "") for letter, count in runs)
    return "\n".join(
        [
            _constant(
                f"{name}_BITS", json.dumps({bit: 1 << place for place, bit in enumerate(bits)}) + " as const"
            ),
            _constant(f"{name}_CLASSES", json.dumps(values)),
            _constant(f"{name}_RUNS", _wrapped(text)),
        ]
    )


def _constant(name: str, value: str) -> str:
    return f"export const {name} = {value};"


def _wrapped(text: str) -> str:
    lines = [text[place : place + WIDTH] for place in range(0, len(text), WIDTH)]
    return "[\n" + "".join(f'  "{line}",\n' for line in lines) + '].join("")'


def _base36(number: int) -> str:
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


if __name__ == "__main__":
    if sys.argv[1:] == ["-"]:
        sys.stdout.write(table())
    else:
        Path(sys.argv[1] if sys.argv[1:] else OUTPUT).write_text(table(), encoding="utf-8")
