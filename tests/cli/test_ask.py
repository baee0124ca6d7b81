"""`pocketbert ask`, as people and programs use it."""

from __future__ import annotations

import codecs
import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

import toy_reader
from pocketbert.cli import main

FILLER = "The weather was fine and the people went to the market as they did on every day of the week .\n"
PAGE = "An old book.\n\nThey found gold in the\nriver. Some say silver too!\n\nBronze came later.\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(toy_reader.save_reader(tmp_path_factory.mktemp("reader")))


@pytest.fixture
def page(tmp_path: Path) -> str:
    (tmp_path / "page.txt").write_text(PAGE)
    return str(tmp_path / "page.txt")


def test_an_answer_in_its_sentence(model: str, page: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", page, "What did they find?", "--model", model]) == 0
    assert capsys.readouterr() == ("0.98  line 3  They found **gold** in the river.\n", "")


def test_the_next_best(model: str, page: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", page, "What?", "--model", model, "--top", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[6:] for line in lines] == [
        "line 3  They found **gold** in the river.",
        "line 4  Some say **silver** too!",
        "line 6  **Bronze** came later.",
    ]


def test_not_on_this_page(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty-handed.txt").write_text("They went to the river and came back.")
    arguments = ["ask", str(tmp_path / "empty-handed.txt"), "What did they find?", "--model", model]
    assert main(arguments) == 3
    assert capsys.readouterr() == ("not on this page (probability 1.00)\n", "")
    assert main([*arguments, "--threshold", "1"]) == 0


def test_json(model: str, page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", page, "What did they find?", "--model", model, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert list(report) == ["question", "answers", "no_answer", "read"]
    (answer,) = report["answers"]
    assert list(answer) == ["text", "start", "end", "score", "logit", "sentence"]
    assert PAGE[answer["start"] : answer["end"]] == answer["text"] == "gold"
    assert answer["sentence"] == "They found gold in the\nriver."
    assert answer["logit"] == 20.0
    assert report["read"] == {"windows": 1, "of": 1}
    (tmp_path / "nothing.txt").write_text("Nothing here.")
    assert main(["ask", str(tmp_path / "nothing.txt"), "What?", "--model", model, "--json"]) == 3
    report = json.loads(capsys.readouterr().out)
    assert report["answers"] == []
    assert report["no_answer"] > 0.99


def test_several_files_are_searched_as_one(
    model: str, page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.txt"
    other.write_text("Nothing.\nOnly copper and silver.\n")
    assert main(["ask", str(other), page, "What?", "--model", model, "--top", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(f"{page}, line 3  They found **gold** in the river.")
    assert lines[1].endswith(f"{other}, line 2  Only copper and **silver**.")
    assert main(["ask", str(other), page, "What?", "--model", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"][0]["file"] == page
    other.write_text("Nothing.")
    assert main(["ask", str(other), str(other), "What?", "--model", model]) == 3
    assert capsys.readouterr().out.startswith("not on these pages")


def test_why(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "long.txt"
    path.write_text(FILLER * 30 + "The comet brought gold.\n" + FILLER * 30)
    assert main(["ask", str(path), "What did the comet bring?", "--model", model, "--why"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"1\.00  line 31  The comet brought \*\*gold\*\*\.", out[0])
    assert re.fullmatch(r"read 3 of \d\d windows; no answer 0\.00", out[1])
    assert len(out) == 6
    assert [bool(re.fullmatch(r"  0\.\d{3}  1\.000  line \d+: gold", line)) for line in out[3:]].count(
        True
    ) == 1
    arguments = ["ask", str(path), "What did the comet bring?", "--model", model, "--json"]
    assert main([*arguments, "--why", "--read", "all"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert len(report["windows"]) == report["read"]["windows"] == report["read"]["of"]


def test_a_deadline_never_says_not_on_this_page(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "long.txt"
    path.write_text(FILLER * 400)
    assert main(["ask", str(path), "What?", "--model", model, "--deadline", "0", "--read", "all"]) == 3
    assert re.fullmatch(r"no answer in the \d+ windows read of \d{3}\n", capsys.readouterr().out)


def test_the_page_from_standard_input(model: str) -> None:
    command = [sys.executable, "-m", "pocketbert", "ask", "-", "What did they find?", "--model", model]
    done = subprocess.run(command, input=PAGE, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "0.98  line 3  They found **gold** in the river.\n"


def test_questions_from_standard_input(
    model: str, page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("What did they find?\n\nAnd then?\n"))
    assert main(["ask", page, "--model", model]) == 0
    assert capsys.readouterr().out.count("**gold**") == 2


def test_a_prompt_with_history_and_colour(model: str, page: str) -> None:
    """On a terminal: two questions, the second called back with the arrow key, then end of input."""
    shown = on_a_terminal(["ask", page, "--model", model], ["What did they find?\n", "\x1b[A\n", "\x04"])
    assert shown.count("question> ") == 3
    assert shown.count("What did they find?") >= 2
    assert shown.count("They found \x1b[32m\x1b[1mgold\x1b[0m in the river.") == 2


def test_no_colour_when_told_so(model: str, page: str) -> None:
    shown = on_a_terminal(["ask", page, "What?", "--model", model], [], NO_COLOR="1")
    assert "They found **gold** in the river." in shown
    assert "\x1b[32m" not in shown


def test_a_page_cannot_steer_the_terminal(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page.txt").write_text("They \x9b2J found \u202egold here.")
    assert main(["ask", str(tmp_path / "page.txt"), "What?", "--model", model]) == 0
    assert capsys.readouterr().out == "1.00  line 1  They \\x9b2J found \\u202e**gold** here.\n"


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["nowhere.txt"], 2, "there is no file 'nowhere.txt'; write: pocketbert ask FILE"),
        (["nowhere.txt", "What?"], 2, "nowhere.txt"),
        ([], 2, "Missing argument"),
        (["{page}", "What?", "--top", "0"], 2, "top_k is 0"),
        (["{page}", "What?", "--read", "some"], 2, "'some' is not one of"),
        (["{page}", "What?", "--deadline", "-1"], 2, "deadline is -1"),
        (["{page}", "", "--question", ""], 2, ""),
        (["{page}", "--question", " "], 2, "the question is empty"),
        (["{page}", "why " * 5000], 2, "the question has 20,000 characters"),
        (["{blank}", "What?"], 2, "holds no text"),
        (["{page}", "What?", "--model", "{page}"], 1, "is a file; give the model folder"),
        (["{page}", "What?", "--model", "./nowhere"], 1, "there is no folder ./nowhere"),
    ],
)
def test_misuse_and_failure(
    model: str,
    page: str,
    tmp_path: Path,
    words: list[str],
    status: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "blank.txt").write_text(" \n")
    words = [word.format(page=page, blank=tmp_path / "blank.txt") for word in words]
    assert main(["ask", *words, *([] if "--model" in words else ["--model", model])]) == status
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err


def test_a_question_that_is_also_a_file(
    model: str, page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(page).parent)
    assert main(["ask", page, "-q", "page.txt", "--model", model]) == 0
    assert "**gold**" in capsys.readouterr().out


def test_asking_needs_no_torch_and_no_network(model: str, page: str) -> None:
    code = (
        "import sys\n"
        "def wall(event, _):\n"
        "    assert not event.startswith(('socket.connect', 'socket.getaddrinfo')), event\n"
        "sys.addaudithook(wall)\n"
        "from pocketbert.cli import main\n"
        f"status = main(['ask', {page!r}, 'What?', '--model', {model!r}])\n"
        "heavy = ('torch', 'transformers', 'huggingface_hub', 'onnx', 'safetensors', 'http.client', 'ssl')\n"
        "print(status, [name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("0 []\n")


def on_a_terminal(words: list[str], keys: list[str], **environment: str) -> str:
    """Run a command on a pseudo-terminal, type keys at each prompt, and return all that was shown."""
    main_end, other_end = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        [sys.executable, "-m", "pocketbert", *words],
        stdin=other_end, stdout=other_end, stderr=other_end, close_fds=True,
        env={**inherited, "TERM": "xterm", **environment},
    )  # fmt: skip
    os.close(other_end)
    shown, waiting, prompts, ends = "", list(keys), 0, time.monotonic() + 60
    characters = codecs.getincrementaldecoder("utf-8")()  # a chunk may end within one
    while time.monotonic() < ends:
        ready, _, _ = select.select([main_end], [], [], 1)
        if ready:
            try:
                data = os.read(main_end, 4096)
            except OSError:
                break
            if not data:
                break
            shown += characters.decode(data)
            if waiting and shown.count("question> ") > prompts:
                prompts = shown.count("question> ")
                os.write(main_end, waiting.pop(0).encode())
        elif process.poll() is not None:
            break
    os.close(main_end)
    assert process.wait(timeout=30) == 0
    return shown
