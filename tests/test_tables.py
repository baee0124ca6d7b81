"""Rows of every kind of table, and what is said of every slip: the file, the row, what is allowed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pocketbert.errors import InputError
from pocketbert.tables import Row, check_columns, open_set, read_rows

ROWS = [
    {"text": 'He said "no", twice', "label": "good"},
    {"text": "two\nlines", "label": "bad"},
    {"text": "naïve; but true", "label": "good"},
]


def cells(source: Path, **options) -> list[dict]:
    return [dict(row.cells) for row in read_rows(source, **options)]


def write_csv(path: Path) -> None:
    path.write_bytes(
        '\ufefftext,label\r\n"He said ""no"", twice",good\r\n"two\nlines",bad\r\n\r\nnaïve; but true,good\r\n'.encode()
    )


def write_semicolons(path: Path) -> None:
    path.write_text('text;label\n"He said ""no"", twice";good\n"two\nlines";bad\n"naïve; but true";good\n')


def write_json_lines(path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def write_json_list(path: Path) -> None:
    path.write_text(json.dumps(ROWS, indent=1))


def write_parquet(path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist([{**row, "other": 1} for row in ROWS]), path)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("table.csv", write_csv),
        ("table.csv", write_semicolons),
        ("table.jsonl", write_json_lines),
        ("table.json", write_json_lines),
        ("table.json", write_json_list),
        ("table.parquet", write_parquet),
    ],
)
def test_every_form_gives_the_same_rows(name, write, tmp_path) -> None:
    write(tmp_path / name)
    assert cells(tmp_path / name, columns=["text", "label"]) == ROWS
    with pytest.raises(
        InputError, match=r"table\.\w+.* has no column 'txt'; it has .*: did you mean 'text'\?"
    ):
        cells(tmp_path / name, columns=["txt"])


def test_a_set_that_datasets_loads(tmp_path) -> None:
    (tmp_path / "set").mkdir()
    write_parquet(tmp_path / "set" / "validation.parquet")
    assert cells(tmp_path / "set", columns=["label", "text"], split="validation") == ROWS
    with pytest.raises(InputError, match=r"set has no column 'lable'.*did you mean 'label'"):
        cells(tmp_path / "set", columns=["lable"], split="validation")


def test_quotation_marks_of_a_tsv_file_belong_to_it_or_to_the_text(tmp_path) -> None:
    file = tmp_path / "table.tsv"
    file.write_text('text\tlabel\n"a ""b"""\t1\n"so it is\t0\n\n')
    assert cells(file) == [{"text": 'a "b"', "label": "1"}, {"text": '"so it is', "label": "0"}]
    assert cells(file, quotes="characters")[0]["text"] == '"a ""b"""'


def test_columns_without_a_line_of_names(tmp_path) -> None:
    file = tmp_path / "table.tsv"
    file.write_text("good day\t1\n")
    assert cells(file, header=("text", "label"), columns=["label"]) == [{"text": "good day", "label": "1"}]
    (tmp_path / "table.jsonl").write_text("{}")
    with pytest.raises(InputError, match="names its columns itself"):
        read_rows(tmp_path / "table.jsonl", header=("text",))


def test_two_columns_of_a_name_are_refused(tmp_path) -> None:
    complaint = r"has two columns 'text', the 1\. and the 3\.; rename or delete one"
    (tmp_path / "table.csv").write_text("text,label,text\na,1,b\n")
    with pytest.raises(InputError, match=complaint):
        cells(tmp_path / "table.csv")
    (tmp_path / "bare.tsv").write_text("a\t1\tb\n")
    with pytest.raises(InputError, match=complaint):
        cells(tmp_path / "bare.tsv", header=("text", "label", "text"))
    (tmp_path / "wide.csv").write_text("text,label,,\na,1,,\n")
    assert cells(tmp_path / "wide.csv", columns=["text"]) == [{"text": "a", "label": "1", "": ""}]


@pytest.mark.parametrize("name", ["table.txt", "table.csv.gz", "table"])
def test_a_file_of_an_unknown_ending_is_no_name_of_the_hub(name, tmp_path) -> None:
    write_csv(tmp_path / name)
    with pytest.raises(InputError, match=rf"{name} is no table by its ending; tables end with \.csv, \.tsv"):
        read_rows(tmp_path / name)
    with pytest.raises(InputError, match=rf"{name} is no table by its ending; here they end with \.parquet"):
        open_set(str(tmp_path / name), "train")


def test_rows_come_one_by_one(tmp_path) -> None:
    """A slip far down does not keep the rows above it back."""
    file = tmp_path / "table.jsonl"
    file.write_text('{"a": 1}\n' * 1000 + "[]\n")
    rows = read_rows(file, columns=["a"])
    assert [next(rows).cells["a"] for _ in range(1000)] == [1] * 1000
    with pytest.raises(InputError, match=r"table.jsonl, line 1001 holds a list"):
        next(rows)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        (
            "t.csv",
            "text,label\na,1\nb,2,3\n",
            "t.csv, line 3: 3 fields, but there are 2 columns (text, label)",
        ),
        ("t.csv", 'text,label\n"two\nlines",1\nb\n', "t.csv, line 4: 1 fields, but there are 2 columns"),
        (
            "t.csv",
            'text,label\n"never closed,1\n',
            "t.csv, line 2: unexpected end of data; write a text with",
        ),
        ("t.tsv", "text\tlabel\na\n", "t.tsv, line 2: 1 fields, but there are 2 columns"),
        ("t.csv", "", "t.csv has no column 'text'; it has none"),
        ("t.jsonl", '{"text": "a", "label": 1}\n{oops\n', "t.jsonl, line 2 is not a JSON object"),
        ("t.jsonl", '{"text": "a"}\n', "t.jsonl, line 1 has no column 'label'; it has 'text'"),
        ("t.jsonl", "3\n", "t.jsonl, line 1 holds a int"),
        ("t.parquet", "no", "t.parquet is not a Parquet file"),
    ],
)
def test_a_broken_file_says_where(name, text, complaint, tmp_path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=re.escape(complaint)):
        cells(tmp_path / name, columns=["text", "label"])


def test_a_file_that_is_not_there_or_not_utf8(tmp_path) -> None:
    (tmp_path / "table.txt").write_text("")
    with pytest.raises(InputError, match=r"table.txt is no table by its ending; tables end with .csv, .tsv"):
        list(read_rows(tmp_path / "table.txt"))
    with pytest.raises(InputError, match=r"nothing.csv: there is no such file"):
        read_rows(tmp_path / "nothing.csv")
    (tmp_path / "old.csv").write_bytes("text\ncafé\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"old.csv is not UTF-8 .*iconv"):
        cells(tmp_path / "old.csv")


ROW = Row(
    "t.csv, line 7", {"text": " ", "number": "four", "label": "postive", "many": "a, c", "nothing": None}
)


@pytest.mark.parametrize(
    ("ask", "complaint"),
    [
        (lambda: ROW.text("text"), "t.csv, line 7: 'text' is empty; every row needs a text there"),
        (lambda: ROW.text("nothing"), "t.csv, line 7: 'nothing' is empty"),
        (lambda: Row("p", {"text": 3}).text("text"), "p: 'text' is 3; a text is needed"),
        (lambda: ROW.number("number"), "t.csv, line 7: 'number' is 'four'; a number such as 3.5 is needed"),
        (lambda: ROW.number("nothing"), "'nothing' is None; a number"),
        (lambda: Row("p", {"n": "nan"}).number("n"), "p: 'n' is 'nan'; a number"),
        (lambda: Row("p", {"n": "6"}).number("n", least=0, most=5), "p: 'n' is 6; it must lie in 0 … 5"),
        (
            lambda: ROW.label("label", {"negative": 0, "positive": 1}),
            "t.csv, line 7: the label 'postive' is unknown; allowed are negative, positive: did you mean 'positive'?",
        ),
        (lambda: ROW.label("text"), "t.csv, line 7: 'text' is empty; every row needs a label"),
        (lambda: ROW.labels("many", {"a": 0, "b": 1}), "the label 'c' is unknown; allowed are a, b"),
        (lambda: check_columns("t.csv", ["Texts"], ["text"]), "did you mean 'text'?"),
    ],
)
def test_a_wrong_cell_says_where_and_what_is_allowed(ask, complaint) -> None:
    with pytest.raises(InputError, match=re.escape(complaint)):
        ask()


def test_cells_that_are_right() -> None:
    row = Row(
        "p",
        {"text": " kept as it is ", "n": "1e-1", "label": 2.0, "many": "a|b", "list": ["b", 3], "no": None},
    )
    assert row.text("text") == " kept as it is "
    assert row.number("n") == 0.1
    assert row.label("label") == "2"
    assert row.labels("many", separator="|") == ["a", "b"]
    assert row.labels("list") == ["b", "3"]
    assert row.labels("no") == []
