"""Corpora in every form become the same documents, and tokens that do not depend on how they were made."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

import small_corpus
from pocketbert.data.corpus import Corpus, Tokens, open_corpus, prepare
from pocketbert.errors import InputError, TrainingError
from pocketbert.text import Tokenizer

DOCUMENTS = [
    ["The tide came in at noon.", "Nobody had moved the boat!"],
    ["Was it Dr. Lund who found it?", "She says so.", "We believe her."],
    ["One sentence can be a document."],
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return small_corpus.tokenizer()


def write_sentences(path: Path) -> None:
    small_corpus.write(path, DOCUMENTS)


def write_documents(path: Path) -> None:
    path.write_text("".join(" ".join(document) + "\n" for document in DOCUMENTS))


def write_wiki(path: Path) -> None:
    lines = []
    for number, document in enumerate(DOCUMENTS):
        lines += [
            f'<doc id="{number}" url="https://example.org/{number}" title="Tide {number}">',
            f"Tide {number}",
            "",
        ]
        lines += [" ".join(document), "", "</doc>", ""]
    lines += ['<doc id="9" url="https://example.org/9" title="Empty">', "Empty", "", "</doc>"]
    path.write_text("\n".join(lines) + "\n")


def write_jsonl(path: Path) -> None:
    rows: list[object] = ["\n".join(DOCUMENTS[0]), " ".join(DOCUMENTS[1]), DOCUMENTS[2]]
    path.write_text("".join(json.dumps({"id": 1, "text": row}) + "\n" for row in rows))


def write_parquet(path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"text": [" ".join(document) for document in DOCUMENTS]}), path)


@pytest.mark.parametrize(
    ("name", "form", "write"),
    [
        ("corpus.txt", "sentences", write_sentences),
        ("corpus.txt", "documents", write_documents),
        ("wiki_00", "wiki", write_wiki),
        ("corpus.jsonl", "jsonl", write_jsonl),
        ("wiki_json", "jsonl", write_jsonl),
        ("corpus.parquet", "parquet", write_parquet),
    ],
)
def test_every_form_gives_the_same_documents(name, form, write, tmp_path) -> None:
    write(tmp_path / name)
    found = open_corpus(tmp_path / name, form)
    assert list(found.documents()) == DOCUMENTS
    if form != "documents":
        assert open_corpus(tmp_path / name).files[0][1] == form, "told without being said"


def test_a_file_can_be_one_document(tmp_path) -> None:
    (tmp_path / "book.txt").write_text("A long line is\nwrapped here. It\nends.\n\nA paragraph follows\n")
    assert list(open_corpus(tmp_path, "file").documents()) == [
        ["A long line is wrapped here.", "It ends.", "A paragraph follows"]
    ]


def test_a_set_that_datasets_loads(tmp_path) -> None:
    (tmp_path / "set").mkdir()
    write_parquet(tmp_path / "set" / "train.parquet")
    corpus = open_corpus(str(tmp_path / "set"), "hub")
    assert list(corpus.documents()) == DOCUMENTS
    assert corpus.sources[0].sha256
    with pytest.raises(InputError, match=r"has no field 'body'.*it has text"):
        list(open_corpus(str(tmp_path / "set"), "hub", field="body").documents())
    with pytest.raises(InputError, match="cannot load it with the split 'dev'"):
        list(open_corpus(str(tmp_path / "set"), "hub", split="dev").documents())


@pytest.mark.parametrize("name", ["owner/name", "wikimedia/wikipedia:20231101.en"])
def test_names_of_sets_are_told_from_files(name) -> None:
    assert open_corpus(name).sets == (name,)


def test_folders_and_patterns_are_read_in_the_order_of_names(tmp_path) -> None:
    for name in ("b/two.txt", "a/one.txt", "c.txt", ".hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{name}\n\nend\n")
    found = [document[0] for document in open_corpus(tmp_path).documents()]
    assert found == ["a/one.txt", "end", "b/two.txt", "end", "c.txt", "end"]
    some = open_corpus([str(tmp_path / "*" / "*.txt"), tmp_path / "c.txt"])
    assert [path.name for path, _ in some.files] == ["one.txt", "two.txt", "c.txt"]


@pytest.mark.parametrize(
    ("text", "form", "message"),
    [
        ("only\nlines\n", "auto", "format=sentences, format=documents"),
        ('{"body": "x"}\n', "jsonl", r"line 1 has no field 'text'; .* by --text_field .*: it has body"),
        ('{"text": 3}\n', "jsonl", "'text' is of the type int"),
        ("[1]\n", "jsonl", "every line must be an object"),
        ("{\n", "jsonl", "line 1 is not a JSON object"),
        ("<doc id='1'>\ntext\n", "wiki", "ends inside a <doc>"),
        ("text\n", "wiki", "text outside"),
        ("no table", "parquet", "is not a Parquet file"),
    ],
)
def test_what_cannot_be_read_says_where_and_why(text, form, message, tmp_path) -> None:
    path = tmp_path / "corpus"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        list(open_corpus(path, form).documents())


def test_what_is_not_there_or_not_text(tmp_path, tokenizer, monkeypatch) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        open_corpus(tmp_path / "nothing.txt")
    for name in (
        "texts/nothing.txt",
        "corpsu",
        "a/b/c",
        str(tmp_path.relative_to(tmp_path.parent)),
        "./corpus",
    ):
        with pytest.raises(
            InputError, match=r"no such file or folder, .* written owner/name, or needs format=hub"
        ):
            open_corpus(name)
    (tmp_path / "texts").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="texts/corpsu: there is no such file or folder"):
        open_corpus("texts/corpsu")
    (tmp_path / "latin").write_bytes(b"caf\xe9\n\nx\n")
    with pytest.raises(InputError, match="not UTF-8"):
        list(open_corpus(tmp_path / "latin", "sentences").documents())
    with pytest.raises(InputError, match="format is 'prose'"):
        open_corpus(tmp_path, "prose")
    (tmp_path / "empty").write_text("\n\n")
    with pytest.raises(InputError, match="the corpus is empty"):
        prepare(open_corpus(tmp_path / "empty", "sentences"), tokenizer, tmp_path / "tokens")
    assert not (tmp_path / "tokens").exists()
    (tmp_path / "unreadable").write_text("\u200b\n\n")
    with pytest.raises(InputError, match="1 documents hold nothing that the tokenizer can read"):
        prepare(open_corpus(tmp_path / "unreadable", "sentences"), tokenizer, tmp_path / "tokens")
    assert [path.name for path in (tmp_path / "tokens").iterdir()] == [".lock"]


def test_a_compressed_text_is_to_be_unpacked(tmp_path) -> None:
    (tmp_path / "corpus.txt.gz").write_bytes(gzip.compress(b"One.\n\nTwo.\n"))
    with pytest.raises(InputError, match=r"corpus.txt.gz is compressed; unpack it first \(gunzip"):
        open_corpus(tmp_path / "corpus.txt.gz")


def test_a_damaged_page_of_parquet_names_the_file(tmp_path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "corpus.parquet"
    texts = [f"Sentence {number} of many." for number in range(3000)]
    parquet.write_table(pa.table({"text": texts}), path, use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[2000:4000] = b"\xff" * 2000
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"corpus.parquet is damaged \(.+\); get the file again"):
        list(open_corpus(path).documents())


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    return open_corpus(small_corpus.write(tmp_path_factory.mktemp("corpus") / "small.txt"))


def test_tokens_are_those_of_the_sentences(corpus, tokenizer, tmp_path) -> None:
    tokens = prepare(corpus, tokenizer, tmp_path, shard_characters=1500)
    texts = list(corpus.documents())
    assert len(tokens) == len(texts)
    assert len(list(tmp_path.glob("shard-*"))) > 3
    everything = []
    for number, document in enumerate(texts):
        found = tokens.document(number)
        assert [tuple(ids) for ids in found] == [
            tokenizer.encode(text, special=False).ids for text in document
        ]
        everything += [token for ids in found for token in ids]
        assert tokens.ends(number)[-1] == tokens.lengths[number] == sum(map(len, found))
    assert tokens.size == len(everything)
    assert (tokens.counts() == np.bincount(everything, minlength=tokenizer.size)).all()
    index = json.loads((tmp_path / "index.json").read_text())
    assert index["tokenizer"] == tokenizer.fingerprint
    assert index["sources"][0]["sha256"] == corpus.sources[0].sha256


def test_byte_pairs_keep_the_blank_between_sentences(tmp_path) -> None:
    pairs = small_corpus.tokenizer(kind="bpe", size=400)
    path = tmp_path / "corpus.txt"
    small_corpus.write(path, DOCUMENTS)
    tokens = prepare(open_corpus(path), pairs, tmp_path / "tokens")
    for number, document in enumerate(DOCUMENTS):
        ids = [int(token) for token in tokens.span(number)]
        assert pairs.decode(ids) == " ".join(document)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_several_workers_write_what_one_does_and_a_stopped_run_goes_on(corpus, tokenizer, tmp_path) -> None:
    alone, several, resumed = (tmp_path / name for name in ("alone", "several", "resumed"))
    prepare(corpus, tokenizer, alone, shard_characters=3000)
    prepare(corpus, tokenizer, several, shard_characters=3000, workers=2)
    assert contents(several) == contents(alone)

    class StoppedError(Exception):
        pass

    def stop(progress) -> None:
        if progress.shards == 2:
            raise StoppedError

    with pytest.raises(StoppedError):
        prepare(corpus, tokenizer, resumed, shard_characters=3000, progress=stop)
    with pytest.raises(InputError, match="not finished"):
        Tokens.open(resumed)
    (resumed / ".unfinished-shard-00002-1").mkdir()
    before = {path: path.stat().st_mtime_ns for path in resumed.glob("shard-*/*.npy")}
    assert len(before) == 6
    prepare(corpus, tokenizer, resumed, shard_characters=3000)
    assert contents(resumed) == contents(alone)
    assert {path: path.stat().st_mtime_ns for path in before} == before, "whole shards are left alone"


def test_another_corpus_is_refused_or_overwritten(corpus, tokenizer, tmp_path) -> None:
    prepare(corpus, tokenizer, tmp_path / "tokens", shard_characters=3000)
    small_corpus.write(tmp_path / "other.txt", DOCUMENTS[:3])
    other = open_corpus(tmp_path / "other.txt")
    with pytest.raises(
        InputError, match="holds the shards of another corpus: texts and shard_characters differ"
    ):
        prepare(other, tokenizer, tmp_path / "tokens")
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(InputError, match="the corpus is empty"):
        prepare(open_corpus(tmp_path / "empty.txt"), tokenizer, tmp_path / "tokens", overwrite=True)
    assert len(prepare(corpus, tokenizer, tmp_path / "tokens", shard_characters=3000)) == 30, (
        "nothing was lost"
    )
    assert len(prepare(other, tokenizer, tmp_path / "tokens", overwrite=True)) == 3
    prepare(other, tokenizer, tmp_path / "alone")
    assert contents(tmp_path / "tokens") == contents(tmp_path / "alone")
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "tokens").rglob("*.npy")}
    prepare(other, tokenizer, tmp_path / "tokens", overwrite=True)
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps, (
        "the same corpus is not tokenised again"
    )


def test_who_comes_second_waits_and_finds_it_done(corpus, tokenizer, tmp_path) -> None:
    both, found, did = tmp_path / "both", [], []

    def second() -> None:
        found.append(prepare(corpus, tokenizer, both, shard_characters=3000, progress=did.append))

    other = threading.Thread(target=second)

    def begin(progress) -> None:
        if progress.shards == 2:
            other.start()
            other.join(timeout=0.5)  # long enough to write some shards

    prepare(corpus, tokenizer, both, shard_characters=3000, progress=begin)
    other.join(timeout=60)
    prepare(corpus, tokenizer, tmp_path / "alone", shard_characters=3000)
    assert [len(tokens) for tokens in found] == [30]
    assert did == []
    assert contents(both) == contents(tmp_path / "alone")


def test_a_killed_worker_is_told_and_the_next_run_goes_on(corpus, tokenizer, tmp_path) -> None:
    def kill(progress) -> None:
        if progress.shards == 2:  # both have begun
            for worker in multiprocessing.active_children():
                worker.kill()

    with pytest.raises(TrainingError, match=r"one of 2 workers died .* again with fewer workers"):
        prepare(corpus, tokenizer, tmp_path / "killed", shard_characters=3000, workers=2, progress=kill)
    prepare(corpus, tokenizer, tmp_path / "killed", shard_characters=3000)
    prepare(corpus, tokenizer, tmp_path / "whole", shard_characters=3000)
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


@pytest.mark.parametrize("plan", ['{"texts": []}', '{"texts"', "3"])
def test_a_plan_without_a_shard_binds_nobody(plan, corpus, tokenizer, tmp_path) -> None:
    (tmp_path / "plan.json").write_text(plan)
    assert len(prepare(corpus, tokenizer, tmp_path)) == 30
    (tmp_path / "index.json").unlink()
    (tmp_path / "plan.json").write_text(plan)
    with pytest.raises(InputError, match=r"holds .*shards.*; give another folder, or delete this one"):
        prepare(corpus, tokenizer, tmp_path)


def test_what_is_damaged_is_made_again(corpus, tokenizer, tmp_path) -> None:
    prepare(corpus, tokenizer, tmp_path, shard_characters=3000)
    before = contents(tmp_path)
    (tmp_path / "shard-00001" / "tokens.npy").write_bytes(b"torn")
    with pytest.raises(InputError, match=r"shard-00001 is damaged .*delete it and prepare the corpus again"):
        prepare(corpus, tokenizer, tmp_path, shard_characters=3000)
    shutil.rmtree(tmp_path / "shard-00001")
    prepare(corpus, tokenizer, tmp_path, shard_characters=3000)
    assert contents(tmp_path) == before
    (tmp_path / "index.json").write_text("{")
    with pytest.raises(InputError, match="prepare it again"):
        Tokens.open(tmp_path)
    prepare(corpus, tokenizer, tmp_path, shard_characters=3000)
    assert contents(tmp_path) == before


def test_another_tokenizer_or_text_is_refused(corpus, tokenizer, tmp_path) -> None:
    folder = tmp_path / "tokens"
    prepare(corpus, tokenizer, folder)
    other = small_corpus.tokenizer(size=100)
    with pytest.raises(InputError, match=r"another tokenizer, of 120 words; this one has 100"):
        Tokens.open(folder, other)
    with pytest.raises(InputError, match="tokenizer and vocabulary differ"):
        prepare(corpus, other, folder)
    changed = small_corpus.write(tmp_path / "changed.txt", DOCUMENTS)
    with pytest.raises(InputError, match="texts differ"):
        prepare(open_corpus(changed), tokenizer, folder)
    moved = tmp_path / "moved.txt"
    shutil.copy(corpus.files[0][0], moved)
    assert len(prepare(open_corpus(moved), tokenizer, folder)) == 30, "a corpus that has moved is the same"
    (folder / "shard-00000" / "tokens.npy").write_bytes(b"torn")
    with pytest.raises(InputError, match="damaged"):
        Tokens.open(folder)


def test_held_out_documents_are_in_one_part_only(corpus, tokenizer, tmp_path) -> None:
    tokens = prepare(corpus, tokenizer, tmp_path)
    rest, held = tokens.split(0.2, seed=3)
    again, _ = tokens.split(0.2, seed=3)

    def texts(part: Tokens) -> list[tuple[int, ...]]:
        return [tuple(part.span(number)) for number in range(len(part))]

    assert (len(rest), len(held)) == (24, 6)
    assert sorted(texts(rest) + texts(held)) == sorted(texts(tokens))
    assert texts(again) == texts(rest)
    assert texts(tokens.split(0.2, seed=4)[1]) != texts(held)
    assert [len(part) for part in tokens.split(0.01, seed=3, least=2)] == [28, 2]
    with pytest.raises(InputError, match="too few to hold out 1"):
        tokens.select([0]).split(0.5, seed=1)


def test_the_real_corpus(unpacked, tmp_path) -> None:
    folder = unpacked("corpus")
    file = sorted((folder / "wikipedia-featured").glob("*.txt"))[0]
    tokenizer = Tokenizer.load()
    corpus = open_corpus(file)
    texts = [document for _, document in zip(range(12), corpus.documents(), strict=False)]
    path = small_corpus.write(tmp_path / "some.txt", texts)
    tokens = prepare(open_corpus(path), tokenizer, tmp_path / "tokens")
    assert corpus.files[0][1] == "wiki"
    assert len(tokens) == 12
    lengths = [len(sentence) for number in range(12) for sentence in tokens.document(number)]
    assert 15 < np.mean(lengths) < 40, "sentences, not paragraphs"
    assert tokens.counts()[tokenizer.unk_id] < tokens.size / 500
