"""Tags for words: CoNLL and CoNLL-U files, the scheme of entities, alignment with tokens, scores."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import parity
from pocketbert.errors import InputError
from pocketbert.heads import build
from pocketbert.tasks.tags import bio
from pocketbert.tasks.tags.features import IGNORED, featurise, first_pieces, gather
from pocketbert.tasks.tags.metrics import by_kind, evaluate
from pocketbert.tasks.tags.predict import collate, predict
from pocketbert.tasks.tags.sentences import Sentence, check_tags, hold_out, read_sentences, tag_names
from pocketbert.text import Tokenizer

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"
CONLLU = """\
# sent_id = 1
# text = Don't go.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
3.1\tgone\tgo\tVERB\tVBN\t_\t_\t_\t_\t_
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

"""


def written(tmp_path: Path, text: str, name: str = "t.conll") -> Path:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def test_column_files(tmp_path) -> None:
    file = written(
        tmp_path,
        "-DOCSTART- -X- -X- O\n\nAda NNP B-NP B-PER\nsang VBD B-VP O\n\n\nIt PRP B-NP O\n",
    )
    sentences = read_sentences([file])
    assert [(row.words, row.tags) for row in sentences] == [
        (("Ada", "sang"), ("B-PER", "O")),
        (("It",), ("O",)),
    ]
    assert sentences[1].place == f"{file}, line 7"
    assert read_sentences([file], column="2")[0].tags == ("NNP", "VBD")
    tabs = written(tmp_path, "New York\tB-LOC\n # \tO\n", "tabs.conll")
    assert read_sentences([tabs])[0].words == ("New York", "#")
    assert len(read_sentences([DATA / "names.conll"])) == 10


def test_conllu(tmp_path) -> None:
    file = written(tmp_path, CONLLU, "t.conllu")
    sentence = read_sentences([file])[0]
    assert sentence.words == ("Do", "n't", "go", ".")
    assert sentence.tags == ("AUX", "PART", "VERB", "PUNCT")
    assert read_sentences([file], column="xpos")[0].tags == ("VB", "RB", "VB", ".")
    other = written(tmp_path, CONLLU, "t.txt")
    assert read_sentences([other], form="conllu") == [
        Sentence(sentence.words, sentence.tags, f"{other}, line 1")
    ]


@pytest.mark.parametrize(
    ("name", "text", "column", "complaint"),
    [
        ("t.conll", "Ada B-PER\nsang\n", None, "t.conll, line 2: 'sang' is no word with a tag behind it"),
        ("t.conll", "Ada\t\n", None, "t.conll, line 1: the word 'Ada' has no tag"),
        ("t.conll", "Ada B-PER\n", "3", "t.conll, line 1: 2 columns, so there is no column 3"),
        ("t.conll", "Ada B-PER\n", "upos", "column is 'upos'; in a CoNLL file it is a number from 2 up"),
        ("t.conll", "\n\n", None, "t.conll holds no sentences"),
        ("t.conllu", "1\tAda\n", None, "t.conllu, line 1: 2 columns; CoNLL-U has 10"),
        (
            "t.conllu",
            CONLLU,
            "pos",
            "column is 'pos'; of a CoNLL-U file it is upos, xpos, deprel: did you mean",
        ),
    ],
)
def test_a_slip_says_where(name, text, column, complaint, tmp_path) -> None:
    with pytest.raises(InputError, match=re.escape(complaint)):
        read_sentences([written(tmp_path, text, name)], column=column)


def test_tables_with_lists(tmp_path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    rows = [
        {"tokens": ["Ada", "sang"], "tags": ["B-PER", "O"], "pos": ["NNP", "VBD"]},
        {"tokens": ["It"], "tags": ["O"], "pos": ["PRP"]},
    ]
    lines = written(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "t.jsonl")
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    for file in (lines, tmp_path / "t.parquet"):
        assert [(row.words, row.tags) for row in read_sentences([file])] == [
            (("Ada", "sang"), ("B-PER", "O")),
            (("It",), ("O",)),
        ]
        assert read_sentences([file], column="pos")[0].tags == ("NNP", "VBD")
    assert read_sentences([lines])[1].place == f"{lines}, line 2"
    words = written(tmp_path, '{"words": ["Ada"], "tags": ["O"]}\n', "w.jsonl")
    assert read_sentences([words])[0].words == ("Ada",)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ('{"tokens": ["a"]}', "line 1 has no column 'tags'; it has 'tokens'"),
        ('{"text": "a", "tags": []}', "line 1 has no column 'tokens'"),
        ('{"tokens": "a", "tags": ["O"]}', "line 1: 'tokens' is 'a'; it must be a list"),
        ('{"tokens": ["a"], "tags": [3]}', "line 1: entry 1 of 'tags' is 3; it must be a text"),
        ('{"tokens": ["a", " "], "tags": ["O", "O"]}', "line 1: entry 2 of 'tokens' is ' '"),
        ('{"tokens": ["a", "b"], "tags": ["O"]}', "line 1: 'tokens' has 2 words and 'tags' 1 tags"),
    ],
)
def test_a_slip_in_a_table_says_where(row, complaint, tmp_path) -> None:
    with pytest.raises(InputError, match=re.escape(complaint)):
        read_sentences([written(tmp_path, f"{row}\n", "t.jsonl")])


def test_unknown_tags_and_missing_files(tmp_path) -> None:
    sentences = [Sentence(("Ada", "sang"), ("B-PER", "B-PRE"), "t.conll, line 4")]
    with pytest.raises(
        InputError, match=r"line 4, word 2 \('sang'\): the tag 'B-PRE' is unknown; allowed are O, B-PER"
    ):
        check_tags(sentences, ["O", "B-PER"])
    with pytest.raises(InputError, match="there is no such file"):
        read_sentences([tmp_path / "none.conll"])


def test_the_scheme_of_entities() -> None:
    assert bio.kind_of(["O", "B-x", "I-y"]) == "entities"
    assert bio.kind_of(["O", "NOUN"]) == bio.kind_of(["O"]) == bio.kind_of(["B-", "O"]) == "words"
    tags = ["I-a", "I-a", "O", "B-a", "I-b", "I-b", "B-b", "I-b", "O", "I-a"]
    assert bio.slips(tags) == [0, 4, 9]
    assert bio.repair(tags) == ("B-a", "I-a", "O", "B-a", "B-b", "I-b", "B-b", "I-b", "O", "B-a")
    assert bio.slips(bio.repair(tags)) == []
    bad = Sentence(("x", "y"), ("O", "I-a"), "t.conll, line 1")
    assert bio.checked([bad]) == ([Sentence(("x", "y"), ("O", "B-a"), "t.conll, line 1")], 1)
    with pytest.raises(
        InputError, match=r"line 1, word 2 \('y'\): the tag 'I-a' goes on with nothing; it must be B-a"
    ):
        bio.checked([bad], on_slip="error")
    assert tag_names([Sentence(("a",) * 4, ("I-b", "B-b", "O", "B-a"), "")]) == ("O", "B-a", "B-b", "I-b")


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [
        ("BIOES", ("S-a", "B-a", "I-a", "E-a", "O", "B-b", "E-b")),
        ("BMES", ("S-a", "B-a", "M-a", "E-a", "O", "B-b", "E-b")),
        ("BILOU", ("U-a", "B-a", "I-a", "L-a", "O", "B-b", "L-b")),
    ],
)
def test_other_schemes_of_entities(scheme, tags) -> None:
    ours = ("B-a", "B-a", "I-a", "I-a", "O", "B-b", "I-b")
    assert bio.other_scheme(tags) == scheme
    assert bio.checked([Sentence(tuple("abcdefg"), tags, "")]) == ([Sentence(tuple("abcdefg"), ours, "")], 0)


def test_tags_of_no_other_scheme() -> None:
    for tags in (["O", "B-x", "I-x"], ["O"], ["S", "E", "O"], ["S-x", "NOUN"], ["S-x", "U-x"], ["E-"]):
        assert bio.other_scheme(tags) is None, tags


def test_the_first_piece_has_the_tag() -> None:
    tokenizer = Tokenizer.load()
    words = ("Unaffable", "\u200b\u200d", "don't", "Ünlü", "x" * 300, "end")
    pieces, first = first_pieces(words, tokenizer)
    tokens = [tokenizer.token(token) for token in pieces.tolist()]
    assert first[1] == -1, "a word of control characters has no pieces"
    starts = [tokens[place] for place in first.tolist() if place >= 0]
    assert starts[0] == "una"
    assert starts[1:] == ["don", "un", "[UNK]", "end"]
    sentence = Sentence(words, ("B-x", "O", "O", "O", "O", "B-x"), "")
    (feature,) = featurise([sentence], tokenizer, {"O": 0, "B-x": 1}, max_length=64)
    batch = collate([feature])
    labels = batch["labels"][0]
    assert labels[feature.positions].tolist() == [1, 0, 0, 0, 1]
    assert (labels != IGNORED).sum() == 5
    assert feature.words.tolist() == [0, 2, 3, 4, 5]
    assert [tokenizer.token(int(batch["input_ids"][0, place])) for place in feature.positions] == starts
    assert gather([sentence], [feature], [np.array([1, 2, 3, 4, 5])], none=9) == [[1, 9, 2, 3, 4, 5]]


@pytest.mark.parametrize("length", [10, 16, 31, 128])
def test_no_word_of_a_long_sentence_is_lost(length) -> None:
    tokenizer = Tokenizer.load()
    words = tuple("unaffable" if n % 3 else "day" for n in range(100))
    sentence = Sentence(words, tuple("ab"[n % 2] for n in range(100)), "")
    features = featurise(
        [Sentence(("short",), ("a",), ""), sentence], tokenizer, {"a": 0, "b": 1}, max_length=length
    )
    assert max(map(len, features)) <= length
    own = [feature for feature in features if feature.sentence_index == 1]
    assert sorted(np.concatenate([feature.words for feature in own]).tolist()) == list(range(100)), (
        "each once"
    )
    assert [len(feature.words) for feature in features[:1]] == [1]
    tags = gather([sentence], own_only(own), [feature.tags for feature in own], none=9)
    assert tags == [[n % 2 for n in range(100)]]


def own_only(features):
    from dataclasses import replace

    return [replace(feature, sentence_index=0) for feature in features]


def test_a_window_too_small_is_refused() -> None:
    with pytest.raises(InputError, match="leaves 7 for words; at least 8"):
        featurise([], Tokenizer.load(), max_length=9)


def test_predicting_in_batches_equals_one_by_one() -> None:
    torch.manual_seed(0)
    model = parity.redraw(build("mobilebert-nano", "tags", labels=3))
    sentences = read_sentences([DATA / "names.conll"])
    features = featurise(sentences, Tokenizer.load(), max_length=12)
    together = predict(model, features, batch_tokens=64)
    for feature, logits in zip(features, together, strict=True):
        assert logits.shape == (len(feature.words), 3)
        assert np.allclose(predict(model, [feature])[0], logits, atol=1e-4)


def test_entity_scores_by_hand() -> None:
    truth = [["B-a", "I-a", "O", "B-b"], ["O", "B-a"]]
    said = [["B-a", "I-a", "O", "O"], ["I-b", "B-b"]]
    # Three true entities, three said (an I- behind nothing is one), one is right.
    found = evaluate(truth, said, "entities")
    assert found["precision"] == found["recall"] == found["f1"] == pytest.approx(100 / 3)
    assert found["accuracy"] == pytest.approx(50)
    assert by_kind(truth, said)["a"] == {
        "precision": 100, "recall": 50, "f1": pytest.approx(200 / 3), "entities": 2,
    }  # fmt: skip
    half = evaluate([["B-a", "I-a"]], [["B-a", "O"]], "entities")
    assert half["f1"] == 0, "both ends must be right"
    assert evaluate([["N", "V"]], [["N", "N"]], "words") == {"accuracy": 50}
    assert evaluate([["O"]], [["O"]], "entities")["f1"] == 0
    with pytest.raises(InputError, match="a tag for every word"):
        evaluate([["O"]], [["O", "O"]], "words")
    with pytest.raises(InputError, match="no word"):
        evaluate([], [], "words")


def test_held_out_sentences() -> None:
    rows = [Sentence((f"w{n % 50}",), ("O",), str(n)) for n in range(200)]
    kept, held = hold_out(rows, fraction=0.1)
    assert len(held) == 20
    assert not {row.words for row in kept} & {row.words for row in held}
    assert hold_out(rows[::-1], fraction=0.1)[1] == held[::-1]
    assert hold_out(rows, fraction=0.1, seed=3)[1] != held
    with pytest.raises(InputError, match="too few"):
        hold_out(rows[:1], fraction=0.1)


def test_real_files(unpacked) -> None:
    folder = unpacked("tags")
    names = {
        "wnut17/wnut17train.conll": 3394,
        "wnut17/emerging.dev.conll": 1009,
        "wnut17/emerging.test.annotated": 1287,
        "ud-ewt/en_ewt-ud-dev.conllu": 2001,
    }
    for name, count in names.items():
        sentences = read_sentences([folder / name])
        assert len(sentences) == count, name
        entities = bio.kind_of(tag_names(sentences)) == "entities"
        assert entities == name.startswith("wnut17")
