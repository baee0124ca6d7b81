"""Read the fenced blocks of a Markdown document, run them in order and compare what they show.

- `console`: every line after `$ ` is run by bash; the lines below it are what the terminal shows.
- `python`: all blocks of a document share one namespace; a `text` block right below one is what it prints.
- In shown output, a line `...` stands for any lines, and `...` inside a line for any characters.
- Other languages (`text`, `json`, `toml`) are pictures; a block without a language is an error.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

PICTURES = {"text", "json", "toml"}
NOT_RUN = {"scripts/test"}  # a test that runs all tests would never end

# Flags whose numbers make an example long: the command is run with these instead, and all its flags.
TOY_VALUES = {
    "--rounds": "1",
    "--max_steps": "2",
    "--search": "2",
    "--block_steps": "1",
    "--distillation_steps": "1",
    "--num_train_epochs": "1",
    "--per_device_train_batch_size": "2",
    "--max_seq_length": "64",
}

# Runs blocks one after the other in one namespace: JSON lines [code, place] in, [printed, error] out.
INTERPRETER = """
import contextlib, io, json, sys, traceback
namespace = {"__name__": "__main__"}
for line in sys.stdin:
    code, place = json.loads(line)
    printed, error = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(code, place, "exec"), namespace)
    except BaseException:
        error = traceback.format_exc()
    print(json.dumps([printed.getvalue(), error]), flush=True)
"""


@dataclass(frozen=True)
class Block:
    """One fenced block, and where it stands."""

    language: str
    text: str
    place: str  # file:line
    shown: str | None = None  # what a python block prints


def run(document: Path, *, folder: Path, environment: Mapping[str, str]) -> None:
    """Run every block of a document in `folder`; the first that does not do what it shows is an error."""
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", INTERPRETER],
        cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as interpreter:  # fmt: skip
        for block in blocks(document):
            if block.language == "python":
                run_python(block, interpreter)
            elif block.language == "console":
                run_console(block, folder, environment)
            else:
                assert block.language in PICTURES, (
                    f"{block.place}: is it python, console or one of {PICTURES}?"
                )


def run_python(block: Block, interpreter: subprocess.Popen[str]) -> None:
    assert interpreter.stdin is not None
    assert interpreter.stdout is not None
    interpreter.stdin.write(json.dumps([block.text, block.place]) + "\n")
    interpreter.stdin.flush()
    printed, error = json.loads(interpreter.stdout.readline())
    assert error is None, f"{block.place}\n{error}"
    assert_shown(block.shown or "", printed, block.place)


def run_console(block: Block, folder: Path, environment: Mapping[str, str]) -> None:
    for command, shown in commands(block):
        if command.split()[0] in NOT_RUN:
            continue
        done = subprocess.run(
            ["bash", "-c", toy(command)], cwd=folder, env=environment, timeout=120,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        place = f"{block.place} $ {command}"
        assert done.returncode == 0, f"{place}\nended with {done.returncode}:\n{done.stdout}"
        assert_shown(shown, done.stdout, place)


def blocks(document: Path) -> list[Block]:
    """The fenced blocks of a document, with a text block right below a python block taken as its output."""
    lines = document.read_text(encoding="utf-8").splitlines()
    found: list[Block] = []
    end = 0
    for number, language, text in fences(lines):
        adjacent = not "".join(lines[end : number - 1]).strip()
        end = number + text.count("\n") + 1
        if language == "text" and adjacent and found and found[-1].language == "python":
            found[-1] = replace(found[-1], shown=text)
        else:
            found.append(Block(language, text, f"{document.name}:{number}"))
    return found


def fences(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """(line number of the opening fence, language, text) of every fenced block."""
    opening: tuple[int, str] | None = None
    body: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not line.startswith("```"):
            body.append(line)
        elif opening is None:
            opening, body = (number, line[3:].strip()), []
        else:
            yield *opening, "".join(f"{text}\n" for text in body)
            opening = None
    assert opening is None, f"the block that opens in line {opening} is never closed"


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """(command, output below it) of a console block; a backslash at the end of a line continues it."""
    command, shown = "", ""
    for line in block.text.splitlines():
        if command.endswith("\\"):
            command = command[:-1] + line.strip()
        elif line.startswith("$ "):
            if command:
                yield command, shown
            command, shown = line[2:], ""
        else:
            assert command, f"{block.place}: output without a command; commands start with '$ '"
            shown += f"{line}\n"
    assert command, f"{block.place}: no command; commands start with '$ '"
    yield command, shown


def toy(command: str) -> str:
    """The same command with the same flags, at toy size."""
    for flag, value in TOY_VALUES.items():
        command = re.sub(rf"({flag}[ =])\d\S*", rf"\g<1>{value}", command)
    return command


def assert_shown(shown: str, real: str, place: str) -> None:
    """The shown output is the real one, apart from `...` and blanks at the ends of lines."""
    pattern = "".join(r"(?:.*\n)*" if line.strip() == "..." else wild(line) for line in shown.splitlines())
    assert re.fullmatch(pattern, real), f"{place}\nshows:\n{shown}\nbut gives:\n{real}"


def wild(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ ]*\n"
