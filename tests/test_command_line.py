"""The command line: verbs found lazily, errors turned into messages and exit statuses."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import pocketbert.cli
from pocketbert.cli import VERBS, group, main
from pocketbert.errors import InputError, PocketbertError

USAGE = "Usage: pocketbert failing [OPTIONS]\nTry 'pocketbert failing --help' for help.\n\n"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_there_and_its_help_line_is_its_own(verb: str) -> None:
    context = click.Context(group)
    command = group.get_command(context, verb)
    assert isinstance(command, click.Command)
    assert command.name == verb
    assert command.get_short_help_str(limit=200) == VERBS[verb][1]
    assert isinstance(command, click.Group) or any("--json" in parameter.opts for parameter in command.params)


def test_no_verb_is_forgotten() -> None:
    folder = Path(pocketbert.cli.__file__).parent
    found = {
        path.stem
        for path in folder.glob("*.py")
        if re.search(r"^(def command\(|command = )", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert found == set(VERBS)


def test_help_lists_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for verb, (_, line) in VERBS.items():
        assert f"  {verb}" in shown
        assert line in shown


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (PocketbertError("the weights are gone"), 1, "pocketbert: the weights are gone\n"),
        (InputError("a text is missing"), 2, "pocketbert: a text is missing\n"),
        (
            FileNotFoundError(2, "No such file", "words.txt"),
            1,
            "pocketbert: [Errno 2] No such file: 'words.txt'\n",
        ),
        (click.UsageError("no such flag"), 2, "Error: no such flag\n"),
        (KeyboardInterrupt(), 130, "\n"),
        (click.exceptions.Exit(3), 3, ""),
    ],
)
def test_errors_become_messages_and_statuses(
    error: BaseException,
    status: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    @click.command()
    def failing() -> None:
        raise error

    monkeypatch.setattr(group, "get_command", lambda context, name: failing)
    assert main(["failing"]) == status
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.removeprefix(USAGE) == message


def test_unknown_verb_is_misuse() -> None:
    done = subprocess.run([sys.executable, "-m", "pocketbert", "nonesuch"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "nonesuch" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("write", ["print", "click.echo"])
def test_a_reader_that_leaves_is_no_error(write: str) -> None:
    code = (
        "import sys, click, pocketbert.cli as cli\n"
        f"cli.group.get_command = lambda *_: click.Command('verb', callback=lambda: {write}('text'))\n"
        "sys.exit(cli.main(['verb']))"
    )
    command = f'PYTHONUNBUFFERED= "{sys.executable}" -c "{code}" | true; echo ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("1\n", "")
