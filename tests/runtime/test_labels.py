"""Classifier, Tagger, Filler and Features: what torch says, whatever the batch, the length and the window."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

import small_models
from pocketbert import Classifier, Features, Filler, Tagger, Tokenizer, load
from pocketbert.errors import CheckpointError, ConfigError, InputError
from pocketbert.runtime.documents import Document
from pocketbert.runtime.tag_words import words_of
from pocketbert.text.label_config import LabelConfig, shares
from strange_texts import strange_texts

LABELS = ("bad", "good", "mixed")
TAGS = ("O", "B-person", "I-person", "B-place", "I-place")
TEXTS = ["The lid broke.", "Lovely, and quick: the best fan we ever had.", "It does what it says."]
PEOPLE = {"mira": "B-person", "holt": "I-person", "turin": "B-place", "ada": "B-person"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str | None, Path]:
    root = tmp_path_factory.mktemp("models")
    options = {"classification": {"labels": LABELS}, "tags": {"labels": TAGS}, "masked-lm": {}, None: {}}
    return {
        head: small_models.exported(root / str(head), head, **given)  # type: ignore[arg-type]
        for head, given in options.items()
    }


def torch_logits(folder: Path, ids: list[int], types: list[int] | None = None) -> np.ndarray:
    with torch.no_grad():
        output = load(folder).eval()(
            torch.tensor([ids]), token_type_ids=None if types is None else torch.tensor([types])
        )
    return (output.last if hasattr(output, "last") else output.logits)[0].numpy()


class TestClassifier:
    def test_it_says_what_torch_says(self, folders) -> None:
        classifier, tokenizer = Classifier.load(folders["classification"]), Tokenizer.load()
        assert not classifier.calibrated
        for text, found in zip(TEXTS, classifier(TEXTS), strict=True):
            exact = shares(torch_logits(folders["classification"], list(tokenizer.encode(text).ids)))
            assert list(found.scores.values()) == pytest.approx(exact.tolist(), abs=1e-5)
            assert found.label == LABELS[exact.argmax()]
            assert found.labels == (found.label,)
            assert found.score == max(found.scores.values())
            assert found == classifier(text) or found.scores == pytest.approx(classifier(text).scores)
            assert [name for name, _ in found.top()] == sorted(
                LABELS, key=found.scores.__getitem__, reverse=True
            )

    def test_several_threads_may_ask_at_once(self, folders) -> None:
        classifier = Classifier.load(folders["classification"])
        alone = [classifier(text).scores for text in TEXTS]
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(lambda number: classifier(TEXTS[number % 3]).scores, range(60)))
        assert together == [alone[number % 3] for number in range(60)]

    def test_pairs(self, folders) -> None:
        classifier = Classifier.load(folders["classification"])
        encoding = Tokenizer.load().encode(TEXTS[0], TEXTS[1])
        exact = shares(torch_logits(folders["classification"], list(encoding.ids), list(encoding.type_ids)))
        one = classifier(TEXTS[0], TEXTS[1])
        assert list(one.scores.values()) == pytest.approx(exact.tolist(), abs=1e-5)
        assert classifier(TEXTS[:2], [TEXTS[1], TEXTS[1]])[0].scores == pytest.approx(one.scores, abs=1e-5)
        assert classifier(TEXTS[:1], TEXTS[1])[0].scores == pytest.approx(one.scores, abs=1e-5)
        assert one.scores != pytest.approx(classifier(TEXTS[0]).scores, abs=1e-3)

    def test_what_is_cut_is_said(self, folders) -> None:
        classifier = Classifier.load(folders["classification"])
        text = "word " * 300
        cut = classifier(text, window=12)
        assert cut.truncated == 290
        assert cut.to_json()["truncated"] == 290
        assert cut.scores == pytest.approx(classifier("word " * 10).scores, abs=1e-5)
        assert classifier(TEXTS[0]).truncated == 0

    def test_a_temperature_changes_scores_and_no_label(self, folders, tmp_path) -> None:
        plain = Classifier.load(folders["classification"])
        warm = Classifier(
            plain.session, plain.tokenizer, LABELS, config=LabelConfig(window=64, temperature=4.0)
        )
        assert warm.calibrated
        for left, right in zip(plain(TEXTS), warm(TEXTS), strict=True):
            assert left.label == right.label
            assert left.score > right.score > 1 / 3
            odds = np.log(np.array(list(left.scores.values())) / left.score) / 4
            assert np.exp(odds).tolist() == pytest.approx(
                [s / right.score for s in right.scores.values()], rel=1e-4
            )

    def test_several_labels_and_scores(self, tmp_path) -> None:
        multi = Classifier.load(
            small_models.exported(tmp_path / "m", "classification", labels=LABELS, problem="multi")
        )
        logits = torch_logits(tmp_path / "m", list(Tokenizer.load().encode(TEXTS[0]).ids))
        found = multi(TEXTS[0])
        assert list(found.scores.values()) == pytest.approx((1 / (1 + np.exp(-logits))).tolist(), abs=1e-5)
        assert set(found.labels) == {name for name, logit in zip(LABELS, logits, strict=True) if logit > 0}
        assert set(found.to_json()) == {"labels", "scores"}
        score = Classifier.load(
            small_models.exported(tmp_path / "r", "classification", labels=["stars"], problem="regression")
        )
        exact = torch_logits(tmp_path / "r", list(Tokenizer.load().encode(TEXTS[0]).ids))
        assert score(TEXTS[0]).score == pytest.approx(float(exact[0]), abs=1e-5)
        assert (score(TEXTS[0]).label, score(TEXTS[0]).labels) == ("stars", ())

    def test_streams_are_lazy(self, folders) -> None:
        classifier = Classifier.load(folders["classification"])
        taken = []

        def texts():
            for text in TEXTS * 3:
                taken.append(text)
                yield text

        stream = classifier.stream(texts(), ahead=2)
        assert next(stream).label == classifier(TEXTS[0]).label
        assert len(taken) == 2
        assert len(list(stream)) == 8

    @pytest.mark.parametrize(
        ("arguments", "options", "message"),
        [
            (("",), {}, "the text is empty"),
            ((None,), {}, "the text is None"),
            ((["one"], ["two", "three"]), {}, "there are 1 texts and 2 second texts"),
            (("one", ["two"]), {}, "there is one text, and the second is of the type list"),
            (("one", " "), {}, "the second text is empty"),
            (("one",), {"window": 9999}, "window is 9999; this model reads at most"),
            (("one",), {"window": 2}, "max_length is 2"),
        ],
    )
    def test_misuse(self, folders, arguments, options, message) -> None:
        with pytest.raises(InputError, match=message):
            Classifier.load(folders["classification"])(*arguments, **options)

    def test_folders_that_will_not_do(self, folders, tmp_path) -> None:
        with pytest.raises(
            CheckpointError, match=r"is a tagger \(BertForTokenClassification\); a classifier is"
        ):
            Classifier.load(folders["tags"])
        with pytest.raises(CheckpointError, match="is a bare encoder"):
            Tagger.load(folders[None])
        with pytest.raises(CheckpointError, match="--head none"):
            Features.load(folders["tags"])
        with pytest.raises(CheckpointError, match="is a classifier"):
            Filler.load(folders["classification"])
        plain = Classifier.load(folders["classification"])
        with pytest.raises(CheckpointError, match="gives 3 logits a text, but"):
            Classifier(plain.session, plain.tokenizer, LABELS[:2])("one")
        with pytest.raises(InputError, match="a row of numbers for each token"):
            Tagger(plain.session, plain.tokenizer, LABELS)("one")


@pytest.mark.parametrize("name", ["roberta-nano", "albert-nano", "xlnet-nano"])
def test_relatives_read_as_torch_does(name, tmp_path) -> None:
    """Other frames, other segments, and padding on the other side: rows of like length share a batch."""
    classes = Classifier.load(small_models.exported(tmp_path / "c", "classification", name, labels=LABELS))
    tagger = Tagger.load(small_models.exported(tmp_path / "t", "tags", name, labels=TAGS))
    tokenizer, text = classes.tokenizer, "the library opens at nine and nobody waits " * 2
    rows = [tokenizer.encode(each) for each in (text + "the", text + "the a")]
    assert 0 < len(rows[1]) - len(rows[0]) < 3
    for row, found, tags in zip(
        rows, classes([text + "the", text + "the a"]), tagger([text + "the", text + "the a"]), strict=True
    ):
        exact = shares(torch_logits(tmp_path / "c", list(row.ids), list(row.type_ids)))
        assert list(found.scores.values()) == pytest.approx(exact.tolist(), abs=1e-4)
        scores = shares(torch_logits(tmp_path / "t", list(row.ids), list(row.type_ids)))
        firsts = [row.word_ids.index(number) for number in dict.fromkeys(row.word_ids) if number is not None]
        assert [word.score for word in tags.words] == pytest.approx(
            scores[firsts].max(axis=1).tolist(), abs=1e-4
        )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"window": 1, "overlap": None, "temperature": None}, "window is 1"),
        ({"window": 64, "overlap": -1, "temperature": None}, "overlap is -1"),
        ({"window": 64, "overlap": None, "temperature": 0}, "temperature is 0"),
        ({"window": 64}, "it must have exactly window, overlap, temperature"),
        ({"window": 4096, "overlap": None, "temperature": None}, "asks for windows of 4096 tokens"),
    ],
)
def test_a_broken_label_config(values, message, folders, tmp_path) -> None:
    (tmp_path / "config.json").write_text((folders["classification"] / "config.json").read_text())
    Tokenizer.load().save(tmp_path)
    (tmp_path / "onnx").symlink_to(folders["classification"] / "onnx")
    (tmp_path / "label_config.json").write_text(json.dumps(values))
    with pytest.raises(ConfigError, match=message):
        Classifier.load(tmp_path)


@pytest.fixture(scope="module")
def by_heart(tmp_path_factory) -> Tagger:
    return Tagger.load(small_models.toy_tagger(tmp_path_factory.mktemp("by-heart"), PEOPLE, TAGS))


class TestTagger:
    def test_entities_stand_where_they_stand(self, by_heart) -> None:
        text = "Mira Holt, of Turin's inn, met  MIRA\n\nHOLT."
        found = by_heart(text)
        assert [(entity.text, entity.label) for entity in found] == [
            ("Mira Holt", "person"), ("Turin", "place"), ("MIRA\n\nHOLT", "person"),
        ]  # fmt: skip
        assert all(text[entity.start : entity.end] == entity.text for entity in found)
        assert all(0.9 < entity.score < 1 for entity in found)
        assert [word.text for word in found.words][:6] == ["Mira", "Holt", ",", "of", "Turin", "'s"]

    @pytest.mark.parametrize("window", [12, 17, 32, 33])
    @pytest.mark.parametrize("overlap", [0, 3, None])
    def test_nothing_is_lost_or_doubled_at_seams(self, by_heart, window, overlap) -> None:
        """Names everywhere, so that some lie on every seam: the windows say what one large window says."""
        rng = np.random.default_rng(window)
        words = ["mira", "holt", "turin", "sailed", "unbelievably", ",", "ada"]
        text = " ".join(rng.choice(words, 300))
        whole = by_heart(text, window=2048)
        assert len(whole) > 100
        found = by_heart(text, window=window, overlap=overlap)
        assert found == whole
        assert [word.text for word in found.words] == text.split()

    def test_tags_without_a_beginning_and_of_another_kind(self, tmp_path) -> None:
        tags = {"mira": "I-person", "holt": "I-person", "turin": "I-place", "ada": "B-place"}
        tagger = Tagger.load(small_models.toy_tagger(tmp_path, tags, TAGS))
        found = tagger("mira holt turin ada turin and mira")
        assert [(entity.text, entity.label) for entity in found] == [
            ("mira holt", "person"), ("turin", "place"), ("ada turin", "place"), ("mira", "person"),
        ]  # fmt: skip

    def test_parts_of_speech_are_given_word_by_word(self, tmp_path) -> None:
        tags = {"mira": "NAME", "sailed": "VERB"}
        tagger = Tagger.load(small_models.toy_tagger(tmp_path, tags, ("O", "NAME", "VERB")))
        assert [(word.text, word.label) for word in tagger("Mira sailed away")] == [
            ("Mira", "NAME"), ("sailed", "VERB"),
        ]  # fmt: skip

    def test_it_says_what_torch_says(self, folders) -> None:
        tagger, text = Tagger.load(folders["tags"]), "Ada Lovelace unbelievably sailed."
        encoding = Tokenizer.load().encode(text)
        exact = shares(torch_logits(folders["tags"], list(encoding.ids)))
        found = tagger(text)
        firsts = [encoding.offsets.index((word.start, next(e for s, e in encoding.offsets[1:-1] if s == word.start)))
                  for word in found.words]  # fmt: skip
        assert [word.tag for word in found.words] == [TAGS[exact[place].argmax()] for place in firsts]
        assert [word.score for word in found.words] == pytest.approx(exact[firsts].max(axis=1), abs=1e-5)

    def test_strange_texts(self, folders) -> None:
        tagger = Tagger.load(folders["tags"])
        texts = [text for text in strange_texts(3, 150) if text.strip()]
        for text, found in zip(texts, tagger(texts, window=24), strict=True):
            places = [(word.start, word.end) for word in found.words]
            assert all(text[word.start : word.end] == word.text for word in found.words)
            assert places == sorted(places)
            assert all(left[1] <= right[0] for left, right in pairwise(places))
            assert all(text[entity.start : entity.end] == entity.text for entity in found)

    def test_misuse(self, by_heart) -> None:
        for options, message in (
            ({"window": 5}, "window is 5; it must be 10 tokens or more"),
            ({"window": 5000}, "at most 4096 tokens"),
            ({"overlap": 29}, "allowed are 0 to 15"),
        ):
            with pytest.raises(InputError, match=message):
                by_heart("text", **options)
        with pytest.raises(InputError, match="the text is empty"):
            by_heart(["one", " "])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Mr. O'Neil's dog", ["Mr", ".", "O'Neil", "'s", "dog"]),
        ("the U.S.-based AT&T (NYC)", ["the", "U.S.", "-", "based", "AT&T", "(", "NYC", ")"]),
        ("they're well-known, aren't they?", ["they", "'re", "well-known", ",", "aren", "'t", "they", "?"]),
        ("1,200 km at 12:30.", ["1,200", "km", "at", "12:30", "."]),
        ("J. K. Rowling’s café", ["J.", "K.", "Rowling", "’s", "café"]),
        ("東京 is big", ["東", "京", "is", "big"]),
        ("me@example.org --", ["me@example.org", "-", "-"]),
    ],
)
def test_words_of_raw_texts(text, words) -> None:
    document = Document.of(text, Tokenizer.load())
    found = [document.characters(first, last, whole_words=False) for first, last in words_of(document)]
    assert [text[start:end] for start, end in found] == words


def test_filler_says_what_torch_says(folders) -> None:
    filler, tokenizer = Filler.load(folders["masked-lm"]), Tokenizer.load()
    (gap,) = filler("a [MASK] c", top_k=3)
    ids = [tokenizer.cls_id, tokenizer.id("a"), tokenizer.mask_id, tokenizer.id("c"), tokenizer.sep_id]
    exact = shares(torch_logits(folders["masked-lm"], ids)[2])
    best = np.argsort(-exact)[:3]
    assert [guess.id for guess in gap] == best.tolist()
    assert [guess.score for guess in gap] == pytest.approx(exact[best].tolist(), rel=1e-3)
    assert gap[0].text == f"a {gap[0].token} c"
    assert [len(gaps) for gaps in filler(["a [MASK]", "[MASK] [MASK]"], top_k=1)] == [1, 2]
    for text, message in (("no gap", "the text has no gap"), ("[MASK] " * 600, "this model reads at most")):
        with pytest.raises(InputError, match=message):
            filler(text)


def test_features_of_short_and_long_texts(folders) -> None:
    features, tokenizer = Features.load(folders[None]), Tokenizer.load()
    encoding = tokenizer.encode(TEXTS[1])
    exact = torch_logits(folders[None], list(encoding.ids))[1:-1]
    found = features(TEXTS[1])
    assert found.tokens == encoding.tokens[1:-1]
    assert found.offsets.tolist() == [list(place) for place in encoding.offsets[1:-1]]
    assert found.vectors == pytest.approx(exact, abs=1e-4)
    text = " ".join(TEXTS * 5)
    long, short = features([text, TEXTS[0]], window=24, overlap=6)
    assert len(long) == len(tokenizer.encode(text)) - 2
    assert np.abs(long.vectors).min(axis=1).all() or np.abs(long.vectors).sum(axis=1).all()
    assert short.vectors == pytest.approx(features(TEXTS[0]).vectors, abs=1e-4)
    window = tokenizer.encode(text).ids[1:23]
    first = torch_logits(folders[None], [tokenizer.cls_id, *window, tokenizer.sep_id])[1:-1]
    assert long.vectors[:18] == pytest.approx(first[:18], abs=1e-4)


def test_no_torch_is_needed(folders) -> None:
    """Not by the classes, and not by the verbs."""
    code = (
        "import sys; sys.modules['torch'] = None; sys.modules['transformers'] = None\n"
        "from pocketbert.cli import main\n"
        f"assert main(['classify', {str(folders['classification'])!r}, 'A text.']) == 0\n"
        f"assert main(['tag', {str(folders['tags'])!r}, 'A text.', '--words']) == 0\n"
        f"assert main(['features', {str(folders[None])!r}, 'A text.']) == 0\n"
        f"assert main(['fill', 'A [MASK].', '--model', {str(folders['masked-lm'])!r}]) == 0\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
