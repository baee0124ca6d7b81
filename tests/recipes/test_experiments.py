"""The drivers of the transfer experiments on toy data: every run ends, is not run twice, and its numbers arrive."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

import parity
from pocketbert.heads import build, load, save
from pocketbert.tasks.squad.reading import read_questions
from pocketbert.text import Tokenizer

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "data"


def run(script: str, *arguments: object) -> str:
    command = [sys.executable, str(ROOT / "benchmarks" / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def last_line(output: str) -> dict[str, Any]:
    return json.loads(output.splitlines()[-1])


def test_ablations(tmp_path: Path) -> None:
    task = tmp_path / "task.all"
    lines = [(0, "the cat sat on the mat"), (1, "i think this is\x85 lovely")] * 12
    task.write_text("\n".join(f"{label} {text}" for label, text in lines) + "\n", encoding="latin-1")
    places = ["--corpus", EXAMPLES / "corpus.txt", "--task", task, "--work", tmp_path / "work", "--dry"]
    sizes = ["--vocab-size", 600, "--teacher-steps", 2, "--block-steps", 1, "--distillation-steps", 1]
    rest = ["--learnt", 16, "--task-seeds", 1, "--seeds", 0, "--arms", "progressive", "--split", 0.2]
    rest += ["--jobs", 2, "--measured", 20, "--batch", 2, "--cached"]
    measured = last_line(run("transfer.py", *places, *sizes, *rest))
    assert list(measured["arms"]) == ["progressive"]
    for (row,) in measured["arms"].values():
        assert 0 <= row["masked_lm_accuracy"] <= 1
        assert 0 <= row["task_accuracy"] <= 1
        assert len(row["layers"]) == 6
    assert measured["unigram"]["unigram_accuracy"] > 0
    (state,) = (tmp_path / "work" / "teacher").glob("checkpoint-*/state.json")
    assert json.loads(state.read_text())["identity"]["processes"] == 2, "the teacher learns in both jobs"
    views = json.loads((tmp_path / "work" / "views-0" / "cache.json").read_text())
    assert views["examples"] == 7 * 2, "a text for every place of a student's seven steps"
    stamps = {file: file.stat().st_mtime_ns for file in (tmp_path / "work").rglob("*.safetensors")}
    assert last_line(run("transfer.py", *places, *sizes, *rest)) == measured
    assert stamps == {file: file.stat().st_mtime_ns for file in (tmp_path / "work").rglob("*.safetensors")}


def test_compression(tmp_path: Path) -> None:
    torch.manual_seed(0)
    for name, head in (("weights", None), ("reader", "question-answering")):
        save(parity.redraw(build("mobilebert-nano", head)), tmp_path / name)
        Tokenizer.load().save(tmp_path / name)
    (tmp_path / "questions").mkdir()
    shutil.copy(EXAMPLES / "squad-train.json", tmp_path / "questions" / "train.json")
    shutil.copy(EXAMPLES / "squad-dev.json", tmp_path / "questions" / "held-out.json")
    places = [
        flag for name in ("weights", "reader", "questions", "work") for flag in (f"--{name}", tmp_path / name)
    ]
    sizes = [
        "--blocks",
        1,
        "--block-steps",
        1,
        "--head-steps",
        1,
        "--reader-steps",
        1,
        "--batch",
        4,
        "--length",
        64,
    ]
    rest = [
        "--corpus",
        EXAMPLES / "corpus.txt",
        "--methods",
        "none,distilbert",
        "--split",
        0.2,
        "--dry",
    ]
    measured = last_line(run("compress.py", *places, *sizes, *rest))
    assert list(measured["methods"]) == ["none", "distilbert"]
    assert {"best_f1", "HasAns_f1", "layers"} <= set(measured["methods"]["distilbert"])
    assert measured["methods"]["none"]["layers"] is None
    # Whoever learns nothing from the encoder reads as many steps more.
    logs = {name: tmp_path / "work" / f"{name}-reader" / "log.jsonl" for name in measured["methods"]}
    lengths = {name: json.loads(log.read_text().splitlines()[-1])["step"] for name, log in logs.items()}
    assert lengths == {"none": 2, "distilbert": 1}
    assert "masked_lm_accuracy" in measured["masked_lm_head"]


def test_shrinking(tmp_path: Path) -> None:
    torch.manual_seed(0)
    save(parity.redraw(build("mobilebert-nano", "question-answering")), tmp_path / "reader")
    Tokenizer.load().save(tmp_path / "reader")
    (tmp_path / "questions").mkdir()
    for name in ("train.json", "wide.json"):
        shutil.copy(EXAMPLES / "squad-train.json", tmp_path / "questions" / name)
    shutil.copy(EXAMPLES / "squad-dev.json", tmp_path / "questions" / "held-out.json")
    places = [flag for name in ("reader", "questions", "work") for flag in (f"--{name}", tmp_path / name)]
    sizes = ["--blocks", "1,1", "--steps", "2,1", "--rates", "1e-3,1e-3", "--batch", 4, "--length", 64]
    measured = last_line(run("shrink.py", *places, *sizes, "--threads", 1, "--dry"))
    first, again = measured["stages"]
    (gone,) = first["removed"]
    assert again["removed"] == []
    assert gone["block"] in (0, 1)
    assert gone["distance"] > 0
    assert {"best_f1", "HasAns_f1"} <= set(measured["scores"])
    before, small = (
        load(tmp_path / "work" / name, head="question-answering") for name in ("blocks-1", "blocks-1-2")
    )
    assert not torch.equal(before.head.linear.weight, small.head.linear.weight)
    assert (small.config.num_hidden_layers, small.config.attention_probs_dropout_prob) == (1, 0.0)


def test_scores_of_tasks(tmp_path: Path) -> None:
    torch.manual_seed(0)
    save(parity.redraw(build("mobilebert-nano")), tmp_path / "weights")
    Tokenizer.load().save(tmp_path / "weights")
    shutil.copytree(EXAMPLES / "glue", tmp_path / "data" / "glue")
    tags = tmp_path / "data" / "tags" / "wnut17"
    tags.mkdir(parents=True)
    for name in ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"):
        shutil.copy(EXAMPLES / "names.conll", tags / name)
    places = [flag for name in ("weights", "data", "work") for flag in (f"--{name}", tmp_path / name)]
    given = ["--tasks", "sst-2,wnut17", "--steps", 2, "--threads", 1, "--dry"]
    output = run("tasks.py", *places, *given)
    measured = {name: row for line in output.splitlines() for name, row in json.loads(line).items()}
    assert list(measured) == ["sst-2", "wnut17"]
    for row in measured.values():
        assert all(0 <= row[way][row["score"]] <= 100 for way in ("torch", "fp32", "int8"))
        assert row["int8"]["megabytes"] < row["fp32"]["megabytes"]
    assert measured["sst-2"]["settings"]["learning_rate"] == 5e-5


def test_questions_for_a_small_reader(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.csv"
    rows = [
        "premise,hypothesis,label",
        "A tired baker is carrying two warm loaves.,A baker is at work.,entailment",
    ]
    pairs.write_text("\n".join(rows))
    files = [EXAMPLES / "squad-train.json", EXAMPLES / "squad-dev.json"]
    run("teaching/questions.py", *files, "--pairs", pairs, "--output", tmp_path, "--held-out", 6)
    train, wide, held = (
        read_questions(tmp_path / f"{name}.json").questions for name in ("train", "wide", "held-out")
    )
    for questions in (train, wide):
        assert any(question.answers for question in questions)
        assert any(not question.answers for question in questions)
        assert not {question.context for question in questions} & {question.context for question in held}
    assert len(wide) > len(train)


def test_a_failing_run_says_where_to_look(tmp_path: Path) -> None:
    places = ["--corpus", tmp_path / "nothing", "--task", tmp_path, "--work", tmp_path / "work", "--dry"]
    command = [sys.executable, str(ROOT / "benchmarks" / "transfer.py"), *map(str, places)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert "words.log" in done.stderr
    assert "nothing" in (tmp_path / "work" / "words.log").read_text()


def test_clozes(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    kept = (
        "Anna Lindqvist opened a bakery in Malmö during the winter of 1911. Her brother Karl Lindqvist delivered the "
        "bread by sledge to 40 villages. The bakery burned down in 1923, and Karl moved to Denmark with his family."
    )
    known = (
        "Peter Holm built a lighthouse near Skagen in 1857, and his daughter Ingrid kept its lamp for 30 years. "
        "Ships from Norway and from Germany could see it on clear nights. In 1901 the tower fell into the sea."
    )
    texts = {"Bread": kept, "Sea": known, "Salt": "Too short to ask about."}
    pages = [f'<doc id="1" title="{title}">\n{title}\n\n{text}\n</doc>' for title, text in texts.items()]
    (corpus / "wiki_00").write_text("\n".join(pages), encoding="utf-8")
    asked = {"id": "a", "question": "Who?", "answers": [{"text": "Peter Holm", "answer_start": 0}]}
    paragraphs = [{"context": known, "qas": [asked]}]
    apart = tmp_path / "apart.json"
    apart.write_text(json.dumps({"data": [{"title": "Sea", "paragraphs": paragraphs}]}), encoding="utf-8")
    output = tmp_path / "clozes.json"
    run("teaching/clozes.py", corpus, "--apart", apart, "--output", output, "--count", 5, "--ratio", 0)
    questions = read_questions(str(output)).questions
    assert {question.context for question in questions} == {kept}
    for question in questions:
        (answer,) = question.answers
        assert kept[answer.start :].startswith(answer.text)
        assert question.question.endswith("?")
        assert answer.text not in question.question


def test_lessons(tmp_path: Path) -> None:
    """Of two files one: no question twice about a text, none about a long text, none of a set to measure by."""

    def write(name: str, texts: dict[str, list[str]]) -> Path:
        paragraphs = [
            {
                "context": text,
                "qas": [
                    {
                        "id": f"{name}-{place}-{number}",
                        "question": question,
                        "answers": [{"text": text[:4], "answer_start": 0}],
                    }
                    for number, question in enumerate(asked)
                ],
            }
            for place, (text, asked) in enumerate(texts.items())
        ]
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps({"data": [{"title": name, "paragraphs": paragraphs}]}), encoding="utf-8")
        return file

    rain = "Rain fell on the roof."
    known = "The boat left at dawn and came back with forty crates of herring."
    one = write("one", {rain: ["What fell?", "Where?"], "Snow " * 99: ["What lay?"], known: ["Who left?"]})
    two = write("two", {rain: ["What fell?", "On what?", "how many  crates"], "Wind blew.": ["What fell?"]})
    apart = write("apart", {f"Early. {known.replace('boat', 'Boat')}": ["How many crates?"]})

    def draw(*options: object) -> list[tuple[str, str]]:
        output = tmp_path / "out" / "lessons.json"
        run("teaching/lessons.py", one, two, "--apart", apart, "--output", output, "--longest", 70, *options)
        return [(question.question, question.context) for question in read_questions(str(output)).questions]

    every = draw()
    assert sorted(every) == [
        ("On what?", rain),
        ("What fell?", rain),
        ("What fell?", "Wind blew."),
        ("Where?", rain),
    ]
    assert len(draw("--count", 2)) == 2
    assert draw() == every


def test_gathered(tmp_path: Path) -> None:
    """The sentence that answers stands in every second text, beside others that are like it and not too long."""
    sentences = {
        "Who built the lighthouse?": "Peter Holm built the lighthouse near Skagen.",
        "When did the lighthouse fall?": "The lighthouse fell into the sea in 1901.",
        "What did Ingrid keep?": "Ingrid kept the lamp of the lighthouse for years.",
        "What is brewed in Malmö?": "Strong coffee.",
        "How long was the storm?": f"The lighthouse stood {'long ' * 120}.",
    }
    pairs = tmp_path / "pairs.json"
    written = {"questions": list(sentences), "answers": list(sentences.values())}
    pairs.write_text(json.dumps(written), encoding="utf-8")
    output = tmp_path / "gathered.json"
    run("teaching/gathered.py", pairs, "--output", output, "--texts", 6)
    questions = read_questions(str(output)).questions
    for question, sentence in sentences.items():
        texts = [found.context for found in questions if found.question == question]
        with_it = [text for text in texts if sentence in text]
        assert len(with_it) == 3
        alone = [text for text in texts if text not in with_it]
        if "coffee" in sentence:  # no other sentence is like it
            assert (set(with_it), alone) == ({sentence}, [])
        else:
            assert all("lighthouse" in text for text in alone)
    assert all(found.impossible and not found.answers for found in questions)
    gathered = [found.context for found in questions if found.question.startswith("Who")]
    assert any(len(text) > len(sentences["Who built the lighthouse?"]) for text in gathered)
    assert max(map(len, gathered)) <= 480
