"""Windows cover every token, choose one best window for each, and cost little however long the document."""

from __future__ import annotations

import tracemalloc
from itertools import islice, pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pocketbert.errors import InputError
from pocketbert.text import Window, iter_windows, pad_windows, windows, windows_from_encodings

steady = settings(derandomize=True, deadline=None, max_examples=200)


def best_by_definition(spans: list[tuple[int, int]], token: int) -> int:
    """BERT's rule, word for word: the window with the highest score, the first of equals."""
    best_score, best_window = None, None
    for index, (start, length) in enumerate(spans):
        if start <= token < start + length:
            score = min(token - start, start + length - 1 - token) + 0.01 * length
            if best_score is None or score > best_score:
                best_score, best_window = score, index
    return best_window


# Ids, segment ids, place of the document and place of the null, from the ids of a question and of a stretch.
LAYOUTS = {
    "tiny": lambda q, d: ([2, *q, 3, *d, 3], [0] * (len(q) + 2) + [1] * (len(d) + 1), len(q) + 2, 0),
    "albert": lambda q, d: ([2, *q, 3, *d, 3], [0] * (len(q) + 2) + [1] * (len(d) + 1), len(q) + 2, 0),
    "roberta": lambda q, d: ([0, *q, 2, 2, *d, 2], [0] * (len(q) + len(d) + 4), len(q) + 3, 0),
    "xlnet": lambda q, d: (
        [*d, 4, *q, 4, 3],
        [0] * (len(d) + 1) + [1] * (len(q) + 1) + [2],
        0,
        len(q) + len(d) + 2,
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
@steady
@given(
    question=st.integers(0, 20),
    document=st.integers(0, 400),
    room=st.integers(32, 90),
    share=st.none() | st.floats(0, 1),
)
@example(question=2, document=201, room=200, share=0.5)  # here the length of a window decides
def test_every_token_is_covered_and_best_once(request, name, question, document, room, share):
    tokenizer = request.getfixturevalue(name)
    special = {"roberta": 4}.get(name, 3)
    max_length = room + question + special
    overlap = None if share is None else int(share * (room // 2))
    asked, text = " the" * question, " the" * document
    (the,) = tokenizer.encode(" the", special=False).ids
    found = windows(asked, text, tokenizer, max_length=max_length, overlap=overlap)
    spans = [(window.first_token, window.last_token + 1 - window.first_token) for window in found]
    shared = min(128, room // 2) if overlap is None else overlap
    assert spans[0][0] == 0
    assert spans[-1][0] + spans[-1][1] == document
    for (start, length), (following, _) in pairwise(spans):
        assert length == room
        assert start + length - following == shared <= room / 2
    best = dict.fromkeys(range(document), 0)
    for index, (window, (start, length)) in enumerate(zip(found, spans, strict=True)):
        assert len(window) == question + special + length <= max_length
        ids, types, place, null = LAYOUTS[name]([the] * question, [the] * length)
        assert window.input_ids == tuple(ids)
        assert window.token_type_ids == tuple(types)
        assert window.attention_mask == (1,) * len(window)
        assert (window.document_start, window.null) == (place, null)
        assert window.input_ids[window.null] == tokenizer.cls_id
        for position, (offset, is_best) in enumerate(zip(window.offsets, window.best, strict=True)):
            token = position - window.document_start + start
            if not start <= token < start + length:
                assert (offset, is_best) == (None, False)
                continue
            assert offset == (4 * token + 1, 4 * token + 4)
            assert is_best == (best_by_definition(spans, token) == index)
            best[token] += is_best
    assert set(best.values()) <= {1}


def test_a_document_that_fits_is_the_pair(any_kind):
    question, document = "Who wrote it?", "Ada Lovelace wrote the notes (in 1843)."
    (window,) = windows(question, document, any_kind)
    first = any_kind.layout.document == "first"
    pair = any_kind.encode(document, question) if first else any_kind.encode(question, document)
    assert window.input_ids == pair.ids
    assert window.token_type_ids == pair.type_ids
    assert [document[slice(*offset)] for offset in window.offsets if offset] == [
        document[start:end]
        for (start, end), sequence in zip(pair.offsets, pair.sequence_ids, strict=True)
        if sequence == (0 if first else 1)
    ]


def test_an_empty_document_is_one_window_without_a_token(tiny):
    (window,) = windows("cat", "", tiny)
    assert window == Window((2, 7, 3, 3), (1,) * 4, (0, 0, 0, 1), (None,) * 4, (False,) * 4, 0, -1, 3)
    assert window.document_start == 3


def test_number_of_windows(tiny):
    # BERT's step of 128 would be an overlap of 251 of 379 and make 6; more than half is not allowed here.
    document = "sat " * 1000
    assert len(windows("the cat", document, tiny, overlap=189)) == 5
    assert len(windows("the cat", document, tiny)) == 4
    assert len(windows("the cat", document, tiny, overlap=0)) == 3
    with pytest.raises(InputError, match="the overlap is 251; allowed are 0 to 189"):
        windows("the cat", document, tiny, overlap=251)
    with pytest.raises(InputError, match="the overlap is -1"):
        windows("the cat", document, tiny, overlap=-1)


def test_a_question_is_never_cut(tiny):
    assert len(windows("cat " * 61, "sat", tiny, max_length=96)) == 1
    with pytest.raises(InputError, match=r"62 tokens leaves 31 of 96.*at least 32"):
        windows("cat " * 62, "sat", tiny, max_length=96)
    with pytest.raises(InputError, match="leaves 4 of 8"):
        iter_windows("cat", "sat", tiny, max_length=8)  # at once, not when the first window is taken


def test_from_encodings(any_kind):
    question, document = "Who was she?", "A longer text, with [SEP] and ünïcödé. " * 40
    expected = windows(question, document, any_kind, max_length=96, overlap=20)
    for special in (True, False):
        encoded = [any_kind.encode(text, special=special) for text in (question, document)]
        assert windows_from_encodings(*encoded, any_kind, max_length=96, overlap=20) == expected
    with pytest.raises(InputError, match="the document was cut by"):
        windows_from_encodings(any_kind.encode(question), any_kind.encode(document, max_length=50), any_kind)
    with pytest.raises(InputError, match="the question is a pair"):
        windows_from_encodings(any_kind.encode(question, "x"), any_kind.encode(document), any_kind)


def test_windows_become_a_batch(tiny):
    found = windows("cat", "sat " * 70, tiny, max_length=40)
    batch = pad_windows(found, tiny)
    assert batch.input_ids.shape == (len(found), 40)
    for row, window in enumerate(found):
        assert batch.input_ids[row].tolist() == [*window.input_ids, *[0] * (40 - len(window))]
        assert batch.attention_mask[row].sum() == len(window)
        assert batch.token_type_ids[row].tolist() == [*window.token_type_ids, *[0] * (40 - len(window))]
    assert pad_windows(found, tiny, pad_to=64).input_ids.shape == (len(found), 64)


def test_windows_of_xlnet_are_padded_on_the_left(xlnet):
    found = windows("the", " the" * 70, xlnet, max_length=40)
    assert [len(window) for window in found] == [40, 40, 38]
    batch = pad_windows(found, xlnet)
    assert batch.input_ids[2].tolist() == [xlnet.pad_id] * 2 + list(found[2].input_ids)
    assert batch.attention_mask[2].tolist() == [0] * 2 + [1] * 38
    assert batch.token_type_ids[2].tolist() == [3] * 2 + list(found[2].token_type_ids)
    place = xlnet.layout.place(38, 40)
    assert batch.input_ids[2, place][found[2].null] == xlnet.cls_id


def test_room_follows_from_the_special_tokens(roberta, tiny):
    assert len(windows(" the" * 60, " the", roberta, max_length=96)) == 1
    with pytest.raises(InputError, match=r"61 tokens leaves 31 of 96.*at least 32"):
        windows(" the" * 61, " the", roberta, max_length=96)
    assert len(windows("the " * 61, "the", tiny, max_length=96)) == 1


def test_a_book_costs_little_memory(tiny):
    document = "sat " * 200_000
    assert sum(1 for _ in iter_windows("cat", document, tiny)) == 794
    tracemalloc.start()
    for window in islice(iter_windows("cat", document, tiny), 100):
        last = window
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert last.first_token == 99 * 252
    assert peak < 20e6  # a full encoding of this document takes more than 40 MB
