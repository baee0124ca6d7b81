"""Offsets slice the original text exactly, whatever it holds; time stays linear and memory bounded."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from pocketbert.text import Encoding, Tokenizer
from pocketbert.text.engine import CHUNK, SURROGATE
from pocketbert.text.layout import ROBERTA
from pocketbert.text.unigram import Unigram
from tiny_tokenizers import write_roberta

steady = settings(derandomize=True, deadline=None, max_examples=150)

FRAGMENTS = [
    "hello", "Unaffable", "a" * 99, "b" * 101, " ", "\n", "\u00a0", "\u3000", "\u2028", ".", "…", "،", "[SEP]", "##ing",
    "é", "e\u0301", "\u0301", "İ", "ß", "ẞ", "ǅ", "ﬁ", "Ω", "中", "文", "か\u3099", "が", "한국어", "\u1100\u1161",
    "👍", "👩‍👩‍👧", "❤️", "🇫🇷", "שָׁלוֹם", "مَرْحَبًا", "नमस्ते", "ไทย", "\0", "\x1b", "\u200b", "\u202e", "\ufeff", "\ufffd",
    "\ud800", "\udfff", "\ud83d\ude00", "\U0010ffff", "\ue000", "𝒜", "𠀀", "=\u0338", "a\u0316\u0301",
    "  ", "(", "``", "''", "'s", "'ll", "½", "ﷺ", "\u0600", "\x85", "▁", "Ġ", "<s>", "1,000",
]  # fmt: skip


@pytest.fixture(scope="module")
def blank_first(tmp_path_factory) -> Tokenizer:
    return Tokenizer.load(write_roberta(tmp_path_factory.mktemp("blank"), add_prefix_space=True))


anything = st.text(st.characters(exclude_categories=()), max_size=6)
texts = st.lists(st.sampled_from(FRAGMENTS) | anything, max_size=12).map("".join)


@pytest.mark.parametrize(
    ("text", "slices"),
    [
        ("Hello, World!", ["Hello", ",", "World", "!"]),
        ("naïve café", ["naïve", "café"]),
        ("cafe\u0301s", ["cafe\u0301s"]),
        ("日本 中a文", ["日", "本", "中", "a", "文"]),
        ("I 👍 it", ["I", "👍", "it"]),
        ("👩‍👩‍👧 x", ["👩‍👩‍👧", "x"]),
        ("\0ab\0c\0", ["ab\0c"]),
        ("a\ud800 b\udc00c d", ["a", "b\udc00c", "d"]),
        ("שלום", ["ש", "ל", "ו", "ם"]),
        ("İstanbul", ["İstanbul"]),
        ("x\u200by", ["x", "y"]),
        ("end\r\n\tstart", ["end", "start"]),
        ("한", ["한", "한", "한"]),  # three letters of one syllable: none can be sliced alone
    ],
)
def test_slices_by_hand(uncased, text, slices):
    encoding = uncased.encode(text, special=False)
    assert [text[start:end] for start, end in encoding.offsets] == slices


def by_words(encoding: Encoding) -> Iterator[tuple[tuple[int, ...], tuple[tuple[int, int], ...]]]:
    """Ids and offsets of each word; those that share a character, as the words in U+FDFA do, are one."""
    rows = zip(encoding.word_ids, encoding.ids, encoding.offsets, strict=True)
    ids: list[int] = []
    offsets: list[tuple[int, int]] = []
    for _, group in groupby(rows, lambda row: row[0]):
        _, more_ids, more_offsets = zip(*group, strict=True)
        if offsets and more_offsets[0][0] >= offsets[-1][1]:
            yield tuple(ids), tuple(offsets)
            ids, offsets = [], []
        ids += more_ids
        offsets += more_offsets
    if ids:
        yield tuple(ids), tuple(offsets)


@steady
@given(text=texts)
@example("\ud800")
@example("a" * 200 + "\u0301" * 200)
def test_every_word_slices_back_and_nothing_is_lost(any_kind, text):
    # Byte-level BPE has tokens for blanks, too; they slice to nothing. Unigram reads two quotes as one.
    blanks_count = any_kind.layout == ROBERTA
    assume(not isinstance(any_kind._settings, Unigram) or not re.search("''|``", text))
    encoding = any_kind.encode(text, special=False)
    place = 0
    for ids, offsets in by_words(encoding):
        starts, ends = zip(*offsets, strict=True)
        assert list(starts) == sorted(starts)
        assert list(ends) == sorted(ends)
        assert place <= starts[0] <= ends[-1] <= len(text)
        if blanks_count:
            assert set(text[place : starts[0]]) <= {" "}
            assert any_kind.encode(text[place : ends[-1]], special=False).ids == ids
        else:
            assert all(start < end for start, end in offsets)
            assert any_kind.encode(text[place : starts[0]], special=False).ids == ()  # between words: nothing
            assert any_kind.encode(text[starts[0] : ends[-1]], special=False).ids == ids
        place = ends[-1]
    assert any_kind.encode(text[place:], special=False).ids == ()


@steady
@given(text=texts)
def test_byte_level_pieces_spell_the_text(roberta, text):
    """Nothing is normalised and nothing is unknown: the tokens put together are the text."""
    encoding = roberta.encode(text)
    assert roberta.decode(encoding.ids) == SURROGATE.sub("\ufffd", text)
    assert not set(encoding.ids[1:-1]) & roberta.special_ids


@steady
@given(text=texts, chunk=st.integers(1, 40))
@example("unaffable" * 3 + " unaffable", 5)
@example("it's 12.5%, isn't  it?\n\n \n Yes", 3)
@example("a\u0600 \u0301b \u00a0 c", 1)
def test_chunks_change_nothing(any_kind, text, chunk):
    engine = any_kind._engine
    assert list(engine.pieces(text, chunk=chunk)) == list(engine.pieces(text, chunk=len(text) + 1))


@steady
@given(text=texts, chunk=st.integers(1, 40))
def test_chunks_change_nothing_where_a_blank_is_put_before_the_text(blank_first, text, chunk):
    engine = blank_first._engine
    assert list(engine.pieces(text, chunk=chunk)) == list(engine.pieces(text, chunk=len(text) + 1))


@settings(steady, max_examples=10)
@given(text=texts)
def test_many_texts_at_once_have_the_same_ids(any_kind, text):
    many = [text, "", "The owner's letters.", text + " word" * CHUNK]
    assert any_kind.ids(many) == [list(any_kind.encode(each, special=False).ids) for each in many]


def test_texts_of_all_kinds_are_read_in_chunks(any_kind):
    text = "The owner's letters (1843), and more. " * 1000
    given = []
    engine = copy.copy(any_kind._engine)
    library = engine._library

    class Recorder:
        def encode(self, part: str, add_special_tokens: bool) -> object:
            given.append(len(part))
            return library.encode(part, add_special_tokens=add_special_tokens)

    engine._library = Recorder()
    assert list(engine.pieces(text)) == list(any_kind._engine.pieces(text, chunk=10**9))
    assert len(given) > 2
    assert max(given) <= 1 << 14


@steady
@given(text=texts)
def test_the_stream_is_the_encoding(any_kind, text):
    encoding = any_kind.encode(text, special=False)
    assert list(any_kind.stream(text)) == list(zip(encoding.ids, encoding.offsets, strict=True))


@pytest.mark.parametrize(
    "unit", ["a", ".", "中", "한", "\u0301", "\0", "a" * 100 + " ", "👍"], ids=lambda unit: ascii(unit[:2])
)
@pytest.mark.parametrize("name", ["uncased", "roberta", "albert"])
def test_time_is_linear(request, name, unit):
    tokenizer = request.getfixturevalue(name)

    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        started = time.process_time()
        for _ in tokenizer.stream(text):
            pass
        return time.process_time() - started

    seconds(1000)
    few, many = seconds(25_000), seconds(200_000)
    assert many < 8 * 4 * few + 0.2  # eight times the text; were it quadratic, 64 times the time


def test_a_megabyte_without_a_space(uncased):
    text = "a" * 500_000 + "\ud800" + "é" * 500_000
    encoding = uncased.encode(text)
    assert encoding.tokens == ("[CLS]", "[UNK]", "[SEP]")
    assert encoding.offsets[1] == (0, len(text))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read where Linux keeps it")
def test_memory_is_bounded():
    code = (
        "import re; from pocketbert.text import Tokenizer; tokenizer = Tokenizer.load()\n"
        "peak = lambda: int(re.search('VmHWM: *([0-9]+)', open('/proc/self/status').read().expandtabs())[1])\n"
        "text = '.' * 400_000; before = peak()\n"
        "assert sum(1 for _ in tokenizer.stream(text)) == 400_000\n"
        "print(peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 80_000  # KiB; the library alone takes 250,000 for it
