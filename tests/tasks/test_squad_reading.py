from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pocketbert.errors import InputError
from pocketbert.tasks.squad.questions import Answer, Question, halves_by_title, hold_out
from pocketbert.tasks.squad.reading import read_questions, write_questions

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "data"
CONTEXT = "The mill on the Lower Brook was built in 1702 🦊 by Ida Holt."

SMALL: dict[str, Any] = {
    "version": "v2.0",
    "data": [
        {
            "title": "The mill",
            "paragraphs": [
                {
                    "context": CONTEXT,
                    "qas": [
                        {
                            "id": "q1",
                            "question": "Who built the mill?",
                            "answers": [{"text": "Ida Holt", "answer_start": CONTEXT.index("Ida")}],
                            "is_impossible": False,
                        },
                        {
                            "id": 7,
                            "question": "Who burnt the mill?",
                            "answers": [],
                            "plausible_answers": [{"text": "Ida Holt", "answer_start": CONTEXT.index("Ida")}],
                            "is_impossible": True,
                        },
                    ],
                }
            ],
        }
    ],
}


def written(folder: Path, document: object, name: str = "set.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_version_two(tmp_path: Path) -> None:
    questions = read_questions(written(tmp_path, SMALL))
    first, second = questions
    assert first == Question(
        "q1", "The mill", "Who built the mill?", CONTEXT, (Answer("Ida Holt", 51),), False
    )
    assert CONTEXT[first.answers[0].start : first.answers[0].end] == "Ida Holt"
    assert (second.id, second.answers, second.impossible) == ("7", (), True)
    assert questions.skipped == ()


def test_version_one_has_neither_flag_nor_title(tmp_path: Path) -> None:
    document = copy.deepcopy(SMALL)
    del document["data"][0]["title"]
    for entry in document["data"][0]["paragraphs"][0]["qas"]:
        del entry["is_impossible"]
    first, second = read_questions(str(written(tmp_path, document)))
    assert (first.title, first.impossible, second.impossible) == ("", False, True)


def test_a_byte_order_mark_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(SMALL).encode())
    assert len(read_questions(path)) == 2


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    questions = read_questions([EXAMPLES / "squad-train.json", EXAMPLES / "squad-dev.json"]).questions
    odd = Question("lone", "t", "what?", "a \ud800 lone surrogate", (Answer("\ud800", 2),), False)
    write_questions(tmp_path / "again.json", [*questions, odd])
    assert read_questions(tmp_path / "again.json").questions == (*questions, odd)


def test_the_examples() -> None:
    train = read_questions(EXAMPLES / "squad-train.json")
    dev = read_questions(EXAMPLES / "squad-dev.json")
    assert (len(train), sum(row.impossible for row in train), len({row.context for row in train})) == (
        24,
        6,
        8,
    )
    assert (len(dev), sum(row.impossible for row in dev)) == (10, 3)


def entry(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["data"][0]["paragraphs"][0]["qas"][0]
    return found


def paragraph(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["data"][0]["paragraphs"][0]
    return found


SLIPS: list[tuple[Callable[[dict[str, Any]], object], list[str]]] = [
    (lambda d: paragraph(d).pop("context"), ["data[0].paragraphs[0] has no 'context'", "It has: qas"]),
    (lambda d: paragraph(d).update(context=" \n"), ["data[0].paragraphs[0]", "'context' is empty"]),
    (lambda d: paragraph(d).update(context=3), ["'context' is 3; it must be a string"]),
    (lambda d: paragraph(d).update(qas={}), ["'qas' is {}; it must be a list"]),
    (lambda d: d["data"][0].update(title=None), ["data[0]", "'title' is None; it must be a string"]),
    (lambda d: d["data"][0].pop("paragraphs"), ["data[0] has no 'paragraphs'"]),
    (lambda d: d["data"].insert(0, "x"), ["data[0] is 'x'; it must be an object"]),
    (lambda d: entry(d).pop("id"), ["qas[0]: 'id' is None; it must be a string or a whole number"]),
    (lambda d: entry(d).update(id=True), ["'id' is True"]),
    (lambda d: entry(d).update(id="7"), ["question '7': the id is taken by", "qas[0]"]),
    (lambda d: entry(d).pop("question"), ["question 'q1' has no 'question'"]),
    (lambda d: entry(d).update(question=""), ["question 'q1': 'question' is empty"]),
    (lambda d: entry(d).pop("answers"), ["question 'q1' has no 'answers'"]),
    (
        lambda d: entry(d).update(answers=[]),
        ["question 'q1': 'answers' is empty, yet 'is_impossible' is false"],
    ),
    (
        lambda d: entry(d).update(is_impossible=True),
        ["question 'q1': 'is_impossible' is true, yet 'answers' holds 1"],
    ),
    (lambda d: entry(d).update(is_impossible="no"), ["'is_impossible' is 'no'; it must be true or false"]),
    (lambda d: entry(d)["answers"].append("Ida"), ["question 'q1': answers[1] is 'Ida'"]),
    (lambda d: entry(d)["answers"][0].update(text=""), ["answers[0]: 'text' is empty"]),
    (
        lambda d: entry(d)["answers"][0].update(answer_start="51"),
        ["'answer_start' is '51'; it must be a whole number"],
    ),
    (
        lambda d: entry(d)["answers"][0].update(answer_start=True),
        ["'answer_start' is True; it must be a whole number"],
    ),
    (
        lambda d: entry(d)["answers"][0].update(answer_start=-1),
        ["'answer_start' is -1", "allowed is 0 to 52"],
    ),
    (
        lambda d: entry(d)["answers"][0].update(answer_start=53),
        ["'answer_start' is 53", "allowed is 0 to 52"],
    ),
    (
        lambda d: entry(d)["answers"][0].update(answer_start=52),
        [
            "question 'q1': answers[0]",
            "'text' is 'Ida Holt'",
            "has 'da Holt.'",
            "the first place of the text is 51",
        ],
    ),
    (lambda d: entry(d)["answers"][0].update(text="ida holt"), ["the text is nowhere in the context"]),
]


@pytest.mark.parametrize(("spoil", "parts"), SLIPS)
def test_a_slip_says_where_it_is_and_what_is_allowed(
    tmp_path: Path, spoil: Callable[[dict[str, Any]], object], parts: list[str]
) -> None:
    document = copy.deepcopy(SMALL)
    spoil(document)
    path = written(tmp_path, document)
    with pytest.raises(InputError) as caught:
        read_questions(path)
    for part in [str(path), *parts]:
        assert part in str(caught.value)
    skipping = read_questions(path, on_bad="skip")
    assert len(skipping.skipped) == 1
    assert str(caught.value) == skipping.skipped[0]
    assert len(skipping) in (0, 1, 2)


def test_skipping_keeps_the_rest(tmp_path: Path) -> None:
    document = copy.deepcopy(SMALL)
    entry(document)["answers"][0]["answer_start"] = 0
    questions = read_questions(written(tmp_path, document), on_bad="skip")
    assert [row.id for row in questions] == ["7"]


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"{", "not a JSON file"),
        (b"\xff\xfe", "not a JSON file"),
        (b"[]", "must be an object"),
        (b"{}", "has no 'data'"),
    ],
)
def test_a_file_that_is_none_is_an_error_even_when_skipping(
    tmp_path: Path, content: bytes, part: str
) -> None:
    path = tmp_path / "set.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=part):
        read_questions(path, on_bad="skip")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for name in ("none.json", "none.parquet"):
        with pytest.raises(InputError, match=f"{name}: there is no such file"):
            read_questions(tmp_path / name)


def test_ids_are_unique_over_files(tmp_path: Path) -> None:
    first, second = written(tmp_path, SMALL, "a.json"), written(tmp_path, SMALL, "b.json")
    with pytest.raises(InputError, match=r"b\.json.*'q1': the id is taken by .*a\.json"):
        read_questions([first, second])
    assert len(read_questions([first, second], on_bad="skip").skipped) == 2


ROWS = [
    {
        "id": "q1",
        "title": "The mill",
        "context": CONTEXT,
        "question": "Who built the mill?",
        "answers": {"text": ["Ida Holt"], "answer_start": [51]},
    },
    {
        "id": "7",
        "title": "The mill",
        "context": CONTEXT,
        "question": "Who burnt the mill?",
        "answers": {"text": [], "answer_start": []},
    },
]


def test_tables_of_the_datasets_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    expected = read_questions(written(tmp_path, SMALL)).questions
    features = datasets.Features(
        {
            "id": datasets.Value("string"),
            "title": datasets.Value("string"),
            "context": datasets.Value("string"),
            "question": datasets.Value("string"),
            "answers": {
                "text": datasets.List(datasets.Value("string")),
                "answer_start": datasets.List(datasets.Value("int32")),
            },
        }
    )
    table = datasets.Dataset.from_list(ROWS, features=features)
    table.save_to_disk(tmp_path / "table")
    datasets.DatasetDict({"validation": table}).save_to_disk(tmp_path / "tables")
    table.to_parquet(tmp_path / "table.parquet")
    table.to_json(tmp_path / "table.jsonl")
    (tmp_path / "folder").mkdir()
    table.to_parquet(tmp_path / "folder" / "validation.parquet")

    for name, split in [
        ("table", "train"),
        ("tables", "validation"),
        ("table.parquet", "train"),
        ("table.jsonl", "train"),
        ("folder", "validation"),
    ]:
        assert read_questions(tmp_path / name, split=split).questions == expected, name
    with pytest.raises(InputError, match=r"no split 'train'; it has: validation"):
        read_questions(tmp_path / "tables")
    with pytest.raises(InputError, match="`datasets` cannot load it"):
        read_questions(tmp_path / "nothing")


def test_a_slip_in_a_table_names_its_row(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    bad = copy.deepcopy(ROWS)
    bad[0]["answers"]["answer_start"] = []  # type: ignore[index]
    bad[1]["answers"] = {"text": ["Ida"], "answer_start": [0]}
    datasets.Dataset.from_list(bad).save_to_disk(tmp_path / "table")
    questions = read_questions(tmp_path / "table", on_bad="skip")
    assert "row 0: answers has 1 texts and 0 starts" in questions.skipped[0]
    assert "row 1: question '7': answers[0]: 'text' is 'Ida'" in questions.skipped[1]


def test_a_table_without_a_column_is_an_error_even_when_skipping(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = [{("quest" if key == "question" else key): cell for key, cell in row.items()} for row in ROWS]
    datasets.Dataset.from_list(rows).save_to_disk(tmp_path / "table")
    with pytest.raises(InputError, match=r"table has no column 'question'; .*did you mean 'quest'\?"):
        read_questions(tmp_path / "table", on_bad="skip")


def table(folder: Path, *rows: str, header: str = "question,context,answer", name: str = "qa.csv") -> Path:
    path = folder / name
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_tables_of_text(tmp_path: Path) -> None:
    path = table(tmp_path, f"Who built it?,{CONTEXT}, Ida Holt ", f"Who burnt it?,{CONTEXT},")
    first, second = read_questions(path)
    assert first == Question(
        f"{path}, line 2", "", "Who built it?", CONTEXT, (Answer("Ida Holt", 51),), False
    )
    assert (second.answers, second.impossible) == ((), True)
    header = "id\ttitle\tquestion\tcontext\tanswer\tanswer_start"
    lines = (f"q1\tMill\tWhich letter?\t{CONTEXT}\te\t2", f"q2\tMill\tWho?\t{CONTEXT}\tIda\t")
    found = read_questions(table(tmp_path, *lines, header=header, name="qa.tsv"))
    assert [(row.id, row.title, row.answers) for row in found] == [
        ("q1", "Mill", (Answer("e", 2),)),
        ("q2", "Mill", (Answer("Ida", 51),)),
    ]


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("Who?,{0},Ada Holt,", "qa.csv, line 2: 'answer' is 'Ada Holt', which is nowhere in 'context'"),
        ("Who?,{0},e,", "qa.csv, line 2: 'answer' is 'e', which stands in 'context' more than once"),
        ("Who?,{0},e,x", "qa.csv, line 2: 'answer_start' is 'x'; it must be a whole number, or empty"),
        ("Who?,{0},e,3", "answers[0]: 'text' is 'e', but at 'answer_start' 3 the context has ' '"),
        (",{0},Ida,", "'question' is empty"),
        ("Who?,,Ida,", "qa.csv, line 2: 'context' is empty"),
    ],
)
def test_a_slip_in_a_table_of_text_names_its_row(tmp_path: Path, row: str, complaint: str) -> None:
    path = table(tmp_path, row.format(CONTEXT), header="question,context,answer,answer_start")
    with pytest.raises(InputError) as caught:
        read_questions(path)
    assert complaint in str(caught.value)
    assert read_questions(path, on_bad="skip").skipped == (str(caught.value),)
    with pytest.raises(InputError, match=r"has no column 'answer'; .*did you mean 'answers'"):
        read_questions(table(tmp_path, "a,b,c", header="question,context,answers"), on_bad="skip")


def test_halves_by_title_alternate_over_sorted_titles() -> None:
    rows = [Question(str(n), title, "?", "c", (), True) for n, title in enumerate("dbacebd")]
    left, right = halves_by_title(rows)
    assert [row.title for row in left] == list("ace")
    assert [row.title for row in right] == list("dbbd")


def test_hold_out_keeps_contexts_together_and_in_place() -> None:
    rows = [Question(f"{n}-{k}", "", "?", f"context {n}", (), True) for n in range(400) for k in range(2)]
    kept, held = hold_out(rows, fraction=0.25)
    assert len(kept) + len(held) == 800
    assert not {row.context for row in kept} & {row.context for row in held}
    assert 0.15 < len(held) / 800 < 0.35
    assert hold_out(rows[::-1][:100], fraction=0.25)[1] == [row for row in held if row in rows[-100:]][::-1]
    assert hold_out(rows, fraction=0.25, seed=1)[1] != held
    assert hold_out(rows, fraction=0.0)[1] == [] == hold_out(rows, fraction=1.0)[0]
    with pytest.raises(InputError, match="between 0 and 1"):
        hold_out(rows, fraction=20)


# Counted once with plain json; a reader that drops or invents rows is found out here.
REAL = {
    "covidqa-long": (1146, 0),
    "fairytaleqa-train": (3115, 0),
    "policyqa": (3809, 0),
    "squad-sample-train": (8494, 0),
    "squad2-dev": (3164, 1611),
    "squadshifts-amazon-train": (9076, 0),
    "squadshifts-reddit-train": (9039, 0),
    "squadshifts-wiki-train": (7257, 0),
}


def test_the_real_sets_hold_no_slip(unpacked: Callable[[str], Path]) -> None:
    folder = unpacked("qa")
    for name, (total, impossible) in REAL.items():
        questions = read_questions(folder / f"{name}.json")
        assert (len(questions), sum(row.impossible for row in questions)) == (total, impossible), name
    everything = read_questions([folder / f"{name}.json" for name in REAL])
    assert len(everything) == sum(total for total, _ in REAL.values())
