"""`pocketbert tokens` and `pocketbert vocab`: tables, JSON, sources of text, colours and exit statuses."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys

import pytest

from pocketbert.cli import main


@pytest.fixture
def run(capsys, monkeypatch):
    def run(*arguments: str, stdin: bytes | None = None, status: int = 0) -> str:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin or b"")))
        assert main(list(arguments)) == status
        out, err = capsys.readouterr()
        return out if status == 0 else err

    return run


def test_tokens_as_a_table(run):
    lines = run("tokens", "Café [SEP] 中").splitlines()
    assert lines[0].split() == ["id", "start", "end", "token"]
    assert [line.split() for line in lines[1:]] == [
        ["101", "special", "[CLS]"],
        ["7668", "0", "4", "cafe"],
        ["1031", "5", "6", "["],
        ["19802", "6", "9", "sep"],
        ["1033", "9", "10", "]"],
        ["1746", "11", "12", "中"],
        ["102", "special", "[SEP]"],
    ]


def test_tokens_as_json(run, uncased):
    text, pair = "Naïve\ud800\x1b cats", "sat"
    report = json.loads(run("tokens", text, "--pair", pair, "--json"))
    encoding = uncased.encode(text, pair)
    assert [entry["id"] for entry in report["tokens"]] == list(encoding.ids)
    assert [entry["token"] for entry in report["tokens"]] == list(encoding.tokens)
    assert [(entry["start"], entry["end"]) for entry in report["tokens"]] == list(encoding.offsets)
    assert [entry["special"] for entry in report["tokens"]] == [
        each is None for each in encoding.sequence_ids
    ]
    assert [entry["sequence"] for entry in report["tokens"]] == list(encoding.sequence_ids)
    assert report["tokens"][1]["text"] == "Naïve"
    assert (report["count"], report["truncated"]) == (len(encoding), 0)


def test_where_the_text_comes_from(run, tmp_path):
    expected = run("tokens", "the cats\n", "--json")
    (tmp_path / "text").write_bytes(b"the cats\n")
    assert run("tokens", "--file", str(tmp_path / "text"), "--json") == expected
    assert run("tokens", "-", "--json", stdin=b"the cats\n") == expected
    assert run("tokens", "--json", stdin=b"the cats\n") == expected
    assert "not both" in run("tokens", "a", "--file", str(tmp_path / "text"), status=2)
    assert "cannot be read" in run("tokens", "--file", str(tmp_path / "nowhere"), status=2)
    assert "cannot be read" in run("tokens", "--file", str(tmp_path), status=2)
    assert "not UTF-8 (byte 1)" in run("tokens", stdin=b"a\xff", status=2)
    (tmp_path / "text").write_bytes(b"\xff")
    assert "not UTF-8 (byte 0)" in run("tokens", "--file", str(tmp_path / "text"), status=2)


def test_tokens_says_how_much_was_cut(capsys):
    assert main(["tokens", "one two three", "--max-length", "4"]) == 0
    out, err = capsys.readouterr()
    assert "three" not in out
    assert err == "tokens cut to keep to 4: 1\n"
    assert main(["tokens", "one", "--max-length", "2"]) == 2


def test_another_models_tokenizer(run, tiny, tmp_path, no_network):
    tiny.save(tmp_path / "model")
    report = json.loads(run("tokens", "the dog", "--model", str(tmp_path / "model"), "--json"))
    assert [entry["token"] for entry in report["tokens"]] == ["[CLS]", "the", "[UNK]", "[SEP]"]
    (tmp_path / "broken").mkdir()
    assert "neither a tokenizer.json" in run("tokens", "x", "--model", str(tmp_path / "broken"), status=1)
    assert "no folder" in run("tokens", "x", "--model", str(tmp_path / "nowhere"), status=1)


def test_tokenizers_of_the_family(run, roberta_folder, albert_folder, xlnet_folder):
    def rows(folder: object) -> list[list[str]]:
        table = run("tokens", " the reader", "--pair", " it", "--model", str(folder))
        return [line.split() for line in table.splitlines()[1:]]

    assert [row[-1] for row in rows(roberta_folder)] == [
        "<s>",
        "Ġthe",
        "Ġreader",
        "</s>",
        "</s>",
        "Ġit",
        "</s>",
    ]
    assert [row[1:] for row in rows(albert_folder)] == [
        ["special", "[CLS]"],
        ["1", "4", "▁the"],
        ["5", "11", "▁reader"],
        ["special", "[SEP]"],
        ["1", "3", "▁it"],
        ["special", "[SEP]"],
    ]
    assert [row[-1] for row in rows(xlnet_folder)] == ["▁the", "▁reader", "<sep>", "▁it", "<sep>", "<cls>"]
    assert rows(albert_folder / "spiece.model") == rows(albert_folder)
    report = json.loads(run("tokens", "the (café)", "--model", str(albert_folder), "--json"))
    assert [entry["text"] for entry in report["tokens"] if entry["text"] in "()"][1:] == ["(", ")", ""]
    counts = json.loads(run("vocab", str(xlnet_folder), "--json"))
    assert (counts["size"], counts["counts"]["special"]) == (sum(counts["counts"].values()), 9)


def test_a_word_cannot_steer_the_terminal(run, tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n\x1b[2J\n\u202ex\n")
    assert run("vocab", str(tmp_path), "--list").splitlines()[-2:] == ["     4  \\x1b[2J", "     5  \\u202ex"]


def test_vocab_counts_by_kind(run, tiny, tmp_path):
    tiny.save(tmp_path)
    assert [line.rsplit(maxsplit=1) for line in run("vocab", str(tmp_path)).splitlines()] == [
        ["whole words", "3"],
        ["continuations", "2"],
        ["single characters", "2"],
        ["unused", "1"],
        ["special tokens", "5"],
        ["all", "13"],
    ]
    assert json.loads(run("vocab", str(tmp_path), "--json")) == {
        "size": 13,
        "counts": {"word": 3, "continuation": 2, "character": 2, "unused": 1, "special": 5},
    }
    counts = json.loads(run("vocab", "--json"))
    assert counts["size"] == sum(counts["counts"].values()) == 30522
    assert counts["counts"]["unused"] == 994


def test_vocab_lists_and_searches(run, tiny, tmp_path):
    tiny.save(tmp_path)
    assert run("vocab", str(tmp_path), "--list").splitlines()[6] == "     6  the"
    assert len(run("vocab", str(tmp_path), "--list").splitlines()) == 13
    assert run("vocab", str(tmp_path), "--search", "AT").split() == ["7", "cat", "12", "sat"]
    assert run("vocab", str(tmp_path), "--search", "dog") == ""
    assert run("vocab", str(tmp_path), "--kind", "continuation").split() == ["8", "##s", "10", "##a"]
    found = json.loads(run("vocab", str(tmp_path / "vocab.txt"), "--search", "a", "--kind", "word", "--json"))
    assert found["words"] == [
        {"id": 7, "word": "cat", "kind": "word"},
        {"id": 12, "word": "sat", "kind": "word"},
    ]
    assert "Invalid value" in run("vocab", "--kind", "verb", status=2)


@pytest.mark.parametrize(
    ("setting", "coloured"), [({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False)]
)
def test_colours_on_a_terminal(setting, coloured):
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "pocketbert", "tokens", "unaffable 👍"]
    subprocess.run(command, stdout=end, check=True, env={**environment, **setting, "TERM": "xterm"})
    os.close(end)
    shown = os.read(terminal, 10_000).decode()
    os.close(terminal)
    assert "##ffa" in shown
    assert ("\x1b[36m##ffa" in shown) == ("\x1b[31m[UNK]" in shown) == ("\x1b[" in shown) == coloured


def test_tokens_works_in_the_base_install_and_without_colours_in_a_pipe():
    code = (
        "import sys; from pocketbert.cli import main\n"
        "for name in ('torch', 'onnxruntime', 'transformers', 'numpy', 'huggingface_hub'): sys.modules[name] = None\n"
        "sys.exit(main(['tokens', 'unaffable']) or main(['vocab']))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "##ffa" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_terminal_without_a_text_is_misuse():
    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "pocketbert", "tokens"]
    done = subprocess.run(command, stdin=end, capture_output=True, text=True, check=False, timeout=60)
    os.close(terminal)
    os.close(end)
    assert done.returncode == 2
    assert "Give a text" in done.stderr
