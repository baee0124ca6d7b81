"""What each objective draws from a corpus: counted, traced back to its documents, and the same on every run."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

import parity
import small_corpus
from pocketbert.data.corpus import Tokens, open_corpus, prepare
from pocketbert.data.objectives import (
    HEADS,
    Masking,
    guessed,
    inputs_of,
    loss_of,
    objective,
    score,
    word_logits,
)
from pocketbert.data.objectives.masking import Masker
from pocketbert.data.objectives.pairs import truncated
from pocketbert.errors import InputError
from pocketbert.heads import build
from pocketbert.model import preset
from pocketbert.text import Tokenizer

LENGTH = 64


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return small_corpus.tokenizer()


@pytest.fixture(scope="module")
def tokens(tokenizer, tmp_path_factory) -> Tokens:
    folder = tmp_path_factory.mktemp("corpus")
    path = small_corpus.write(folder / "small.txt", small_corpus.documents(80))
    return prepare(open_corpus(path), tokenizer, folder / "tokens", shard_characters=4000)


def make(name: str, tokenizer: Tokenizer, **options):
    return objective(name, tokenizer, length=LENGTH, **options)


def inner(tokenizer: Tokenizer, ids) -> list[int]:
    return [int(token) for token in ids if token not in (tokenizer.cls_id, tokenizer.sep_id)]


@pytest.mark.parametrize("name", HEADS)
def test_examples_fit_and_repeat_themselves(name, tokens, tokenizer) -> None:
    goal = make(name, tokenizer)
    examples, again = (goal.examples(tokens, seed=5) for _ in range(2))
    assert len(examples) > 80
    assert examples.lengths.max() <= LENGTH
    assert [len(example.input_ids) for example in examples] == examples.lengths.tolist()
    assert all(len(example.token_type_ids) == len(example.input_ids) for example in examples)
    chosen = range(0, len(examples), 7)
    one, other = (goal.collate([part[i] for i in chosen]) for part in (examples, again))
    assert all(torch.equal(one[key], other[key]) for key in one)
    later = goal.collate([examples.at(1)[i] for i in chosen])
    assert not torch.equal(later["labels"], one["labels"]), "another epoch guesses other words"
    part = goal.collate([examples[3:][i] for i in range(2)])
    whole = goal.collate([examples[i] for i in range(3, 5)])
    assert torch.equal(part["labels"], whole["labels"]), "a part keeps the names of its examples"
    assert len(goal.examples(tokens, seed=5, passes=3)) > 2.5 * len(examples)


def test_some_examples_are_of_the_whole_corpus(tokens, tokenizer) -> None:
    examples = make("bert", tokenizer).examples(tokens, seed=1)
    some = examples.spread(10)
    assert len(some) == len(some.lengths) == 10
    assert [example.draw[2] for example in some] == list(range(10)), "numbered without gaps"
    places = [int(np.flatnonzero((examples.rows == row).all(axis=1))[0]) for row in some.rows]
    assert places[0] == 0
    distances = np.diff([*places, len(examples)])
    assert max(distances) - min(distances) <= 1
    assert [len(example.input_ids) for example in some] == some.lengths.tolist()
    assert examples.spread(len(examples)) is examples


def test_pairs_are_half_and_half_and_keep_to_their_documents(tokens, tokenizer) -> None:
    examples = make("bert", tokenizer, short=0.0).examples(tokens, seed=1, passes=8)
    labels = examples.rows[:, 6]
    follows, drawn = examples.rows[labels == 0], examples.rows[labels == 1]
    assert (follows[:, 0] == follows[:, 3]).all()
    assert (drawn[:, 0] != drawn[:, 3]).all(), "a random segment is of another document"
    # The last sentence of a document has nothing that follows it; all others are decided by chance alone.
    decided = [row for row in examples.rows if row[2] <= [0, *tokens.ends(int(row[0]))][-2]]
    share = np.mean([row[6] == 0 for row in decided])
    assert len(decided) > 1000
    assert abs(share - 0.5) < 4 * 0.5 / np.sqrt(len(decided))
    uncut = follows[examples.lengths[labels == 0] < LENGTH]
    assert len(uncut) > 20
    assert (uncut[:, 4] == uncut[:, 2]).all(), "what follows begins where the first ended"
    assert all(row[2] in tokens.ends(int(row[0])) for row in uncut)
    assert (follows[:, 4] >= follows[:, 2]).all()


def test_segments_of_a_pair_are_marked_and_framed(tokens, tokenizer) -> None:
    examples = make("bert", tokenizer).examples(tokens, seed=1)
    for number in range(0, len(examples), 9):
        example, row = examples[number], examples.rows[number]
        first, second = (tokens.span(*map(int, part)).tolist() for part in (row[:3], row[3:6]))
        expected = [tokenizer.cls_id, *first, tokenizer.sep_id, *second, tokenizer.sep_id]
        assert example.input_ids.tolist() == expected
        assert example.token_type_ids.tolist() == [0] * (len(first) + 2) + [1] * (len(second) + 1)


def test_short_sequences(tokens, tokenizer) -> None:
    none, some = (make("bert", tokenizer, short=share).examples(tokens, seed=1) for share in (0.0, 1.0))
    assert (none.lengths == LENGTH).mean() > 0.7
    assert (some.lengths == LENGTH).mean() < 0.5
    assert len(some) > 1.2 * len(none)


def test_cutting_a_pair_spares_the_shorter_segment() -> None:
    random = np.random.default_rng(0)
    fronts = []
    for lengths, room, kept in [
        ((4, 10), 9, (4, 5)),
        ((10, 4), 9, (5, 4)),
        ((9, 9), 9, (5, 4)),
        ((3, 3), 9, (3, 3)),
    ]:
        for _ in range(50):
            first, second = truncated((0, 100, 100 + lengths[0]), (1, 0, lengths[1]), room, random)
            assert (first[2] - first[1], second[2] - second[1]) == kept
            assert first[1] >= 100
            assert 0 <= second[1] < second[2] <= lengths[1]
            if lengths[1] > kept[1]:
                fronts.append(second[1] / (lengths[1] - kept[1]))
    assert 0.4 < np.mean(fronts) < 0.6, "at either end by chance"


def test_order_of_sentences(tokens, tokenizer) -> None:
    examples = make("sentence-order", tokenizer).examples(tokens, seed=2, passes=6)
    rows = examples.rows
    assert (rows[:, 0] == rows[:, 3]).all()
    swapped = rows[:, 6] == 1
    assert (rows[swapped, 4] < rows[swapped, 1]).all()
    assert (rows[~swapped, 1] < rows[~swapped, 4]).all()
    assert abs(swapped.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(rows))


@pytest.mark.parametrize("name", ["masked", "full-sentences", "permutation"])
def test_packing_loses_no_token(name, tokens, tokenizer) -> None:
    examples = make(name, tokenizer).examples(tokens, seed=1)
    everything = [int(token) for number in range(len(tokens)) for token in tokens.span(number)]
    assert [token for example in examples for token in inner(tokenizer, example.input_ids)] == everything
    crossing = examples.rows[:, 2] > examples.rows[:, 0]
    assert crossing.any() == (name == "full-sentences")
    for row, following in pairwise(examples.rows):
        assert row[3] in tokens.ends(int(row[2])), "full sentences"
        assert following[1] == (0 if row[3] == tokens.lengths[row[2]] else row[3])
    if name == "full-sentences":
        number = int(np.flatnonzero(crossing)[0])
        separators = (examples[number].input_ids == tokenizer.sep_id).sum()
        assert separators == 1 + examples.rows[number, 2] - examples.rows[number, 0]


def test_a_sentence_longer_than_a_sequence_is_cut(tokens, tokenizer) -> None:
    for name in ("masked", "full-sentences"):
        examples = objective(name, tokenizer, length=10).examples(tokens, seed=1)
        found = [token for example in examples for token in inner(tokenizer, example.input_ids)]
        lost = tokens.size - len(found)
        assert 0 <= lost <= len(tokens) * 4, "single tokens at most"
        assert examples.lengths.max() == 10


def test_masks_are_counted_exactly_and_replaced_by_chance(tokens, tokenizer) -> None:
    examples = make("masked", tokenizer).examples(tokens, seed=3, passes=8)
    masker = Masker(tokenizer, Masking(most=4))
    masked = kept = other = 0
    for example in examples:
        ids, places = masker(example.input_ids, example.random())
        length = len(example.input_ids)
        assert len(places) == min(4, max(1, round(0.15 * length)))
        assert (np.diff(places) > 0).all()
        assert not {tokenizer.cls_id, tokenizer.sep_id} & set(example.input_ids[places].tolist())
        untouched = np.delete(np.arange(length), places)
        assert (ids[untouched] == example.input_ids[untouched]).all()
        masked += int((ids[places] == tokenizer.mask_id).sum())
        kept += int((ids[places] == example.input_ids[places]).sum())
        other += int(((ids[places] != example.input_ids[places]) & (ids[places] != tokenizer.mask_id)).sum())
        assert not (tokenizer.special_ids - {tokenizer.mask_id}) & set(ids[places].tolist())
    total = masked + kept + other
    for found, share in ((masked, 0.8), (kept, 0.1), (other, 0.1)):
        # A random word is the old one once in a while.
        assert abs(found / total - share) < 4 * np.sqrt(share * (1 - share) / total) + 0.002


def test_every_token_is_masked_equally_often(tokens, tokenizer) -> None:
    masker = Masker(tokenizer, Masking())
    example = make("masked", tokenizer).examples(tokens, seed=3)[0]
    counts = np.zeros(len(example.input_ids))
    for seed in range(3000):
        counts[masker(example.input_ids, np.random.default_rng(seed))[1]] += 1
    share = round(0.15 * len(counts)) / (len(counts) - 2)
    assert counts[0] == counts[-1] == 0
    assert np.abs(counts[1:-1] / 3000 - share).max() < 5 * np.sqrt(share / 3000)


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_whole_words_are_masked_whole(kind, tmp_path) -> None:
    tokenizer = small_corpus.tokenizer(kind=kind, size={"wordpiece": 70, "bpe": 300, "unigram": 60}[kind])
    path = small_corpus.write(tmp_path / "small.txt")
    tokens = prepare(open_corpus(path), tokenizer, tmp_path / "tokens")
    examples = make("masked", tokenizer).examples(tokens, seed=3)
    masker = Masker(tokenizer, Masking(share=0.3, whole_words=True))
    longest = 0
    for example in examples:
        _, places = masker(example.input_ids, example.random())
        assert len(places) >= 1
        text = tokenizer.decode(example.input_ids)
        chosen = set(places.tolist())
        for place in range(2, len(example.input_ids) - 1):
            before, token = map(int, example.input_ids[place - 1 : place + 1])
            if tokenizer.joins(before, token):
                assert (place in chosen) == (place - 1 in chosen), text
        runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
        longest = max(longest, *map(len, runs))
    assert longest > 2, "some words have several tokens"


def test_whole_words_are_the_words_of_the_text(tokenizer) -> None:
    """Told by ids alone, words are those that the text itself has."""
    for kind in ("wordpiece", "bpe", "unigram"):
        words = small_corpus.tokenizer(kind=kind, size=310 if kind == "bpe" else 70)
        text = "The unfinished well-known map isn't here; grandmother's lantern (blue) is."
        encoding = words.encode(text, special=False)
        for place in range(1, len(encoding)):
            found = words.joins(encoding.ids[place - 1], encoding.ids[place])
            told = words.continues(encoding.ids[place], text, encoding.offsets[place][0])
            unknown = words.unk_id in encoding.ids[place - 1 : place + 1]
            assert found == told or unknown, (kind, encoding.tokens[place - 1 : place + 1])


def test_labels_are_the_words_that_were_hidden(tokens, tokenizer) -> None:
    goal = make("bert", tokenizer)
    examples = goal.examples(tokens, seed=3)
    chosen = [examples[number] for number in (0, 5, 9, 20)]
    batch = goal.collate(chosen)
    real = batch["labels"] != -100
    assert guessed(batch) == int(real.sum())
    for row, example in enumerate(chosen):
        width = len(example.input_ids)
        restored = batch["input_ids"][row].clone()
        restored[batch["positions"][row][real[row]]] = batch["labels"][row][real[row]]
        assert restored[:width].tolist() == example.input_ids.tolist()
        assert (restored[width:] == tokenizer.pad_id).all()
        assert batch["attention_mask"][row].sum() == width
    assert batch["sentence_labels"].tolist() == [example.label for example in chosen]


NANO = {"bert": "mobilebert", "sentence-order": "albert", "masked": "distilbert", "full-sentences": "roberta"}


@pytest.mark.parametrize("name", NANO)
def test_accumulated_batches_lose_what_one_large_batch_loses(name, tokens, tokenizer) -> None:
    from dataclasses import replace

    goal = make(name, tokenizer)
    config = replace(preset(f"{NANO[name]}-nano"), vocab_size=tokenizer.size, pad_token_id=tokenizer.pad_id)
    model = parity.redraw(build(config, goal.head)).eval()
    examples = goal.examples(tokens, seed=3)
    chosen = [examples[number] for number in range(6)]
    with torch.no_grad():
        batch = goal.collate(chosen)
        whole, parts = loss_of(model(**inputs_of(batch)), batch)
        total = 0.0
        for part in (chosen[:1], chosen[1:]):
            piece = goal.collate(part)
            total += float(loss_of(model(**inputs_of(piece)), piece)[0]) * guessed(piece) / guessed(batch)
    assert total == pytest.approx(float(whole), rel=1e-5)
    assert set(parts) >= {"word_loss", "word_accuracy"}
    assert ("sentence_loss" in parts) == (goal.head == "pretraining")
    scores = score(model, examples[:6], goal, batch_size=4)
    assert scores["masked_lm_loss"] == pytest.approx(parts["word_loss"], rel=1e-4)
    assert scores["masked_lm_accuracy"] == pytest.approx(parts["word_accuracy"])


def test_a_word_of_a_permutation_is_seen_by_later_ones_only(tmp_path) -> None:
    """The masks and the encoder agree: change a hidden word, and only those guessed after it may notice."""
    from dataclasses import replace

    tokenizer = small_corpus.tokenizer(kind="unigram-xlnet", size=80)
    path = small_corpus.write(tmp_path / "small.txt")
    tokens = prepare(open_corpus(path), tokenizer, tmp_path / "tokens")
    goal = make("permutation", tokenizer)
    examples = goal.examples(tokens, seed=3)
    config = replace(preset("xlnet-nano"), vocab_size=tokenizer.size, pad_token_id=tokenizer.pad_id)
    model = parity.redraw(build(config, goal.head)).eval()
    chosen = [examples[number] for number in np.argsort(examples.lengths)[[0, 5, -1]]]
    batch = goal.collate(chosen)
    assert (batch["attention_mask"][0, 0], batch["attention_mask"][0, -1]) == (0, 1), "padded on the left"
    with torch.no_grad():
        before = word_logits(model(**inputs_of(batch)))
    assert before.isfinite().all()
    row, order = 2, goal.order(chosen[2])
    assert len(order) >= 3
    shift = batch["input_ids"].shape[1] - len(chosen[row].input_ids)
    for rank, place in enumerate(order):
        changed = {key: value.clone() for key, value in inputs_of(batch).items()}
        position = int(place) + shift
        assert batch["input_ids"][row, position] == batch["labels"][row, rank]
        assert position not in (0 if not shift else -1, changed["input_ids"].shape[1] - 1)
        changed["input_ids"][row, position] = (changed["input_ids"][row, position] + 9) % 60 + 15
        with torch.no_grad():
            after = word_logits(model(**changed))
        moved = (after[row] - before[row]).abs().amax(dim=-1)[: len(order)] > 1e-6
        assert moved.tolist() == [other > rank for other in range(len(order))]
        assert torch.equal(after[:2], before[:2])


def test_one_word_in_six_is_guessed_in_a_permutation(tokens, tokenizer) -> None:
    goal = objective("permutation", tokenizer, length=128)
    examples = goal.examples(tokens, seed=3, passes=4)
    orders = [goal.order(example) for example in examples]
    share = sum(map(len, orders)) / (sum(examples.lengths) - 2 * len(examples))
    assert abs(share - 1 / 6) < 0.02
    assert all(len(set(order.tolist())) == len(order) > 0 for order in orders)


def test_what_a_corpus_is_too_short_for(tokens, tokenizer, tmp_path) -> None:
    with pytest.raises(InputError, match=r"1 document\(s\); next-sentence pairs need another"):
        make("bert", tokenizer).examples(tokens.select([0]), seed=1)
    path = small_corpus.write(tmp_path / "short.txt", small_corpus.documents(5, least=1, most=1))
    single = prepare(open_corpus(path), tokenizer, tmp_path / "tokens")
    with pytest.raises(InputError, match="too short for this objective"):
        make("sentence-order", tokenizer).examples(single, seed=1)
    assert len(make("bert", tokenizer).examples(single, seed=1)) == 5, "each with a random second segment"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "electra"}, "there is no objective 'electra'; there are bert"),
        ({"length": 5}, "5 tokens leave no room"),
        ({"short": 1.5}, "share of short pairs is 1.5"),
    ],
)
def test_wrong_options(options, message, tokenizer) -> None:
    given = {"name": "bert", "tokenizer": tokenizer, **options}
    with pytest.raises(InputError, match=message):
        objective(**given)
    with pytest.raises(InputError, match="share of words to mask is 0"):
        Masking(share=0.0)
    with pytest.raises(InputError, match="at most 0 words"):
        Masking(most=0)
