"""The browser extension in a real Chromium, which a test drives step by step."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from web_package import built, tool

LEFT_OUT = ("ort.webgpu.bundle.min.js", "ort-wasm-simd-threaded.asyncify.wasm")


def wait_until(condition: Callable[[], bool], *, seconds: float = 10) -> None:
    """Wait for something that takes a moment in a browser."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.03)


def assembled(folder: Path, model: Path) -> Path:
    """The extension with a model in it, as Chrome loads it."""
    shutil.copytree(built() / "dist-extension", folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    shutil.copytree(model, folder / "model")
    return folder


# The two run in the panel, and what they put into the page runs beside the page's own scripts, as the extension's does.
EXTRACT = """(async () => {
  const [{ id }] = await chrome.tabs.query({ active: true, currentWindow: true });
  const target = { tabId: id, frameIds: [0] };
  await chrome.scripting.executeScript({ target, files: ["page.js"] });
  return (await chrome.scripting.executeScript({ target, func: () => pocketbertPage.read() }))[0].result;
})()"""
SHOWN = """(async () => {
  const [{ id }] = await chrome.tabs.query({ active: true, currentWindow: true });
  const colours = (places) => {
    const inner = [...document.querySelectorAll("iframe")].map((frame) => frame.contentDocument?.defaultView);
    const views = [window, ...inner.filter(Boolean)];
    const ranges = (view) => [...(view.CSS.highlights.get("pocketbert-answer") ?? [])];
    const coloured = () => views.flatMap(ranges).map(String).join("");
    return places.map((place) => pocketbertPage.show([place], 0) === "shown" ? coloured() : null);
  };
  const target = { tabId: id, frameIds: [0] };
  return (await chrome.scripting.executeScript({ target, func: colours, args: [PLACES] }))[0].result;
})()"""


class Browser:
    """A Chromium with the extension: pages are served on this machine, and whoever asks for another is found out."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert self._hear() == "ready"

    def do(self, action: str, **values: Any) -> Any:
        """Send one step, see the list in web/tests/extension/remote.ts, and get what it gave."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": action, **values}) + "\n")
        self._process.stdin.flush()
        return self._hear()

    def serve(self, path: str, body: str | bytes, **headers: str) -> None:
        """Have a page; headers are given with underscores."""
        page: dict[str, Any] = {"headers": {name.replace("_", "-"): text for name, text in headers.items()}}
        if isinstance(body, bytes):
            page |= {"body": base64.b64encode(body).decode(), "base64": True, "type": "application/pdf"}
        else:
            page |= {"body": body, "type": "text/html; charset=utf-8"}
        self.do("serve", path=path, **page)

    def visit(self, path: str, *, host: str = "127.0.0.1") -> None:
        self.do("visit", path=path, host=host)

    def open(self, body: str, *, path: str = "/page", **headers: str) -> None:
        """Serve a page, go there and click the icon."""
        self.serve(path, body, **headers)
        self.visit(path)
        self.do("click")
        self.until("ready")

    def ask(self, question: str, *kinds: str, seconds: float = 30) -> dict[str, Any]:
        """Type a question, press Enter and wait for the outcome, which is an answer unless other kinds are expected."""
        self.type(question)
        return self.until(*(kinds or ("answers",)), seconds=seconds)

    def type(self, question: str) -> None:
        self.do("type", text=question)
        self.press("Enter")

    def press(self, key: str, *, shift: bool = False) -> None:
        self.do("press", key=key, shift=shift)

    def until(self, *kinds: str, seconds: float = 30) -> dict[str, Any]:
        state: dict[str, Any] = self.do("until", kinds=kinds, seconds=seconds)
        return state

    def wait_for(self, condition: Callable[[dict[str, Any]], bool], *, seconds: float = 10) -> None:
        """Wait until the panel's state is as wanted."""
        wait_until(lambda: condition(self.do("state")), seconds=seconds)

    def coloured(self) -> Mapping[str, list[str]]:
        found: Mapping[str, list[str]] = self.do("coloured")
        return found

    def extract(self) -> dict[str, Any]:
        """What the script in the page gives out, as the panel gets it."""
        report: dict[str, Any] = self.do("panel", expression=EXTRACT)
        return report

    def shown(self, stretches: list[tuple[int, int]]) -> list[str | None]:
        """What is coloured for stretches of the text that was given out last; None if the script says "changed"."""
        places = [{"start": start, "end": end} for start, end in stretches]
        found: list[str | None] = self.do("panel", expression=SHOWN.replace("PLACES", json.dumps(places)))
        return found

    def _hear(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the browser's program ended"
        answer = json.loads(line)
        assert "failed" not in answer, answer["failed"]
        return answer["done"]


@contextmanager
def browser_with(extension: Path) -> Iterator[Browser]:
    """Open a browser; whatever was done with it, it asked nobody but this machine, and its panel had no complaint."""
    program = built() / "build" / "extension.js"
    command = [tool("node"), str(program), tool("chromium"), str(extension)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        try:
            browser = Browser(process)
            yield browser
            complaints = browser.do("complaints")
            assert complaints == {"panel": [], "asked": []}, complaints
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(timeout=30)
