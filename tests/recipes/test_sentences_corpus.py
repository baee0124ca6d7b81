"""The texts an embedder is taught with have nothing of what it is measured on."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "teaching" / "sentences_corpus.py"


def put(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def squad(context: str, question: str, answer: str) -> dict:
    place = {"text": answer, "answer_start": context.index(answer)}
    return {
        "data": [{"paragraphs": [{"context": context, "qas": [{"question": question, "answers": [place]}]}]}]
    }


def tsv(*rows: str) -> str:
    return "\n".join(row.replace("|", "\t") for row in rows) + "\n"


def sets(data: Path) -> None:
    """Texts that are measured on, most of them met again in what is to be taught with."""
    put(data / "glue/STS-B/train.tsv", tsv(
        "sentence1|sentence2|score", "Two hens cross a road.|Some birds cross a road.|3.5",
        "A dog runs over the wet sand.|A dog is running on sand.|4.0"))  # fmt: skip
    put(
        data / "glue/STS-B/dev.tsv",
        tsv("sentence1|sentence2|score", "A dog runs over the wet sand.|A cat.|0.5"),
    )
    put(data / "glue/STS-B/test.tsv", tsv("sentence1|sentence2", "A pan lies on the stove.|A pot."))
    put(
        data / "glue/QNLI/dev.tsv",
        tsv("question|sentence", "Who built the old mill?|Ada built the old mill."),
    )
    put(data / "glue/QNLI/test.tsv", tsv("question|sentence", "Why not today?|Because it rains so much."))
    put(data / "retrieval/reqa-squad/train.json", {
        "questions": ["When does the ferry leave?", "Who built the old mill?"],
        "answers": ["The ferry leaves at nine\nin the morning.", "It was built by the river people."]})  # fmt: skip
    put(data / "retrieval/reqa-squad/test.json", {
        "questions": ["Where do geese sleep at night?"], "candidates": ["Geese sleep on the lake at night."],
        "ground_truths": [[0]]})  # fmt: skip
    put(data / "retrieval/cranfield/cran.all.1400", ".I 1\n.T\nwings\n.W\nwings bend in a strong wind .\n")
    put(data / "retrieval/cranfield/cran.qry", ".I 1\n.W\nhow do wings bend in wind .\n")
    put(data / "retrieval/cranfield/cranqrel", "1 1 2\n")
    put(
        data / "qa/squad2-dev.json",
        squad("The hall has nine doors. One is red.", "How many doors has it?", "nine"),
    )
    put(
        data / "qa/covidqa-long.json",
        squad("Masks help a lot indoors.", "What helps a lot indoors?", "Masks"),
    )
    put(
        data / "qa/village-train.json",
        squad(
            "The baker opens at six. THE HALL has nine doors! A cart of the baker waits for the ferry.",
            "When does the baker open?",
            "six",
        ),
    )
    put(data / "nli/snli/dev.csv", "premise,hypothesis,label\n" + "\n".join((
        "Three men lift a piano,Some men lift a thing,entailment",
        "Three men lift a piano,The men are all asleep,contradiction",
        "A pan lies on the stove,There is a pan here,entailment",
        "A pan lies on the stove,The stove is quite empty,contradiction")))  # fmt: skip
    put(data / "nli/mpe/train.csv", "premise,hypothesis,label\n"
        "123jpg0A boy sits by the sea 123jpg1A child looks at some water,A child is outside,entailment\n")  # fmt: skip
    put(data / "corpus/novels/corpus/one.txt", "It was a long and\nquiet night. Nobody came to the door.\n")
    put(data / "corpus/wikipedia-featured/AA.txt",
        '<doc id="1" url="x" title="Geese">\nGeese\n\nGeese sleep on the lake, at night. '
        "They eat grass most of the day.\n</doc>\n")  # fmt: skip


def made(data: Path, out: Path) -> dict:
    command = [sys.executable, str(SCRIPT), str(data), "--output", str(out), "--sentences", "60"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rows(file: Path) -> list[list[str]]:
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


def test_nothing_that_is_measured_on_is_taught(tmp_path: Path) -> None:
    sets(tmp_path / "data")
    counts = made(tmp_path / "data", tmp_path / "out")
    lines = (tmp_path / "out" / "sentences.txt").read_text().splitlines()
    assert len(lines) == counts["sentences"] == len(set(lines))
    assert {
        "When does the ferry leave?",
        "The ferry leaves at nine in the morning.",
        "The baker opens at six.",
        "A boy sits by the sea",
        "A child looks at some water",
        "Three men lift a piano",
        "It was a long and quiet night.",
        "They eat grass most of the day.",
    } <= set(lines)
    text = "\n".join(lines).lower()
    for forbidden in ("geese sleep", "nine doors", "a pan lies", "a dog runs", "who built", "wings", "masks"):
        assert forbidden not in text, forbidden
    assert counts["left_out"] == {
        "questions.csv: reqa": 1,
        "questions: reqa": 1,
        "nli": 2,
        "paragraphs: village-train": 1,
        "wikipedia": 1,
        "nli.csv: snli": 2,
        "asked.csv: village-train": 1,
        "sts.csv": 1,
    }


def test_passages_are_sentences_that_follow_each_other(tmp_path: Path) -> None:
    sets(tmp_path / "data")
    paragraphs = [
        " ".join(f"Line {row} of part {part} has seven words." for row in range(20)) for part in range(3)
    ]
    paragraphs[1] = paragraphs[1].replace("Line 3 of part 1 has seven words.", "A pan lies on the stove.")
    articles = [
        f'<doc id="{part}" url="x" title="T{part}">\nT{part}\n\n{text}\n</doc>\n'
        for part, text in enumerate(paragraphs)
    ]
    put(tmp_path / "data/corpus/wikipedia-featured/AB.txt", "".join(articles))
    counts = made(tmp_path / "data", tmp_path / "out")
    found = (tmp_path / "out" / "passages.txt").read_text().splitlines()
    assert counts["passages"] == len(found) > 3
    whole = "\n".join(paragraphs)
    assert all(passage in whole and 30 <= len(passage.split()) < 117 for passage in found)
    assert not any("pan lies" in passage for passage in found)
    assert counts["left_out"]["passages"] >= 1


def test_tables_for_labelled_training(tmp_path: Path) -> None:
    sets(tmp_path / "data")
    made(tmp_path / "data", tmp_path / "out")
    assert rows(tmp_path / "out" / "nli.csv")[1:] == [
        ["Three men lift a piano", "Some men lift a thing", "The men are all asleep"]
    ]
    asked = rows(tmp_path / "out" / "questions.csv")[1:]
    ferry, baker = "The ferry leaves at nine in the morning.", "The baker opens at six."
    assert [row[:2] for row in asked] == [
        ["When does the ferry leave?", ferry],
        ["When does the baker open?", baker],
    ]
    assert asked[0][2] == "A cart of the baker waits for the ferry."  # has a word of the question
    assert asked[1][2] == "A cart of the baker waits for the ferry."
    assert rows(tmp_path / "out" / "sts.csv")[1:] == [
        ["Two hens cross a road.", "Some birds cross a road.", "3.5"]
    ]


def test_questions_with_the_passages_of_an_index(tmp_path: Path) -> None:
    sets(tmp_path / "data")
    filler = " ".join(f"Stall {number} of the market sells some kind of fruit." for number in range(12))
    bridge = f"The bridge was opened by a mayor. {filler} It carries carts."
    put(tmp_path / "data/qa/market-train.json", squad(bridge, "Who opened the bridge?", "a mayor"))
    tower = f"A tower stands beside the bridge. {filler}"
    put(tmp_path / "data/qa/tower-train.json", squad(tower, "What stands beside the bridge?", "A tower"))
    counts = made(tmp_path / "data", tmp_path / "out")
    # What the village's baker does stands in a passage with a sentence that is measured on.
    row, other = rows(tmp_path / "out" / "asked.csv")[1:]
    assert counts["left_out"]["asked.csv: village-train"] == 1
    assert row[0] == "Who opened the bridge?"
    assert row[1].startswith("The bridge was opened by a mayor. Stall 0 of the market")
    assert row[1] in bridge
    assert 60 < len(row[1].split()) <= 110
    assert row[2] == other[1]
    assert other[1] in tower


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    sets(tmp_path / "data")
    made(tmp_path / "data", tmp_path / "one")
    made(tmp_path / "data", tmp_path / "two")
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()
