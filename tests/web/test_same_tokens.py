"""JavaScript cuts every text as Python does: the same ids at the same places, whatever is in it."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from tokenizers import normalizers

from pocketbert.text import Tokenizer
from pocketbert.text.loading import EMBEDDED
from strange_texts import strange_texts
from web_package import WEB, asked

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "web_unicode.py"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"do_lower_case": False},
        {"strip_accents": False},
        {"do_lower_case": False, "strip_accents": True},
        {"tokenize_chinese_chars": False},
    ],
    ids=str,
)
def test_thousands_of_strange_texts(config: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_bytes((EMBEDDED / "vocab.txt").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    compare(tmp_path, list(strange_texts(len(str(config)), 3000)))


def test_a_token_for_every_character_shows_every_place(tmp_path: Path) -> None:
    """Most strange words are unknown to BERT's vocabulary, and one token: here each of their characters is one."""
    texts = list(strange_texts(71, 4000))
    known = normalizers.BertNormalizer().normalize_str("".join(texts).encode("utf-8", "ignore").decode())
    characters = sorted(set(known) - {" ", "\n", "\r"})
    words = [*SPECIAL, *characters, *(f"##{character}" for character in characters if character != "#")]
    Tokenizer.from_vocabulary(words).save(tmp_path)
    compare(tmp_path, texts)


def test_other_texts_on_every_run() -> None:
    """Differential fuzzing; the seed is in the message if it finds something."""
    seed = int(os.environ.get("POCKETBERT_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
    compare(EMBEDDED, list(strange_texts(seed, 6000)), seed)


def test_every_code_point_between_letters() -> None:
    """All of Unicode in texts of 64 code points; those in which something moves show it in what follows."""
    codes = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    texts = ["".join(f"a{code}" for code in codes[place : place + 64]) for place in range(0, len(codes), 64)]
    compare(EMBEDDED, texts)


def test_the_table_is_what_its_script_writes() -> None:
    written = (WEB / "src" / "text" / "unicode-table.ts").read_text(encoding="utf-8")
    command = [sys.executable, str(SCRIPT), "-"]
    fresh = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if f'PYTHON_UNICODE = "{unicodedata.unidata_version}"' not in written:
        # Another Python has another version of Unicode; the tokenizer's part does not depend on it.
        written, fresh = (without_python(text) for text in (written, fresh))
    assert fresh == written


def compare(folder: Path, texts: list[str], seed: int | None = None) -> None:
    """Fail with the first text that the two cut differently."""
    tokenizer = Tokenizer.load(folder)
    answers = asked(folder, ({"ask": "tokens", "text": text} for text in texts))
    assert len(answers) == len(texts)
    for text, found in zip(texts, answers, strict=True):
        places = [0]
        for character in text:
            places.append(places[-1] + (2 if character > "\uffff" else 1))
        tokens = list(tokenizer.stream(text))
        expected = [
            [token for token, _ in tokens],
            [places[start] for _, (start, _) in tokens],
            [places[end] for _, (_, end) in tokens],
        ]
        assert found == expected, f"{text!a} (seed {seed})"


def without_python(text: str) -> str:
    """A table without what Python's own version of Unicode decides."""
    before, _, rest = text.partition("export const PYTHON_BITS")
    lines = [line for line in before.splitlines() if "PYTHON_UNICODE" not in line]
    return "\n".join(lines) + rest[rest.index("// Code points and what they are taken apart into") :]
