"""The page in a real Chromium, served from a bundle by our own server."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pocketbert.bundle.folder import make_bundle
from pocketbert.runtime.session import FILES
from pocketbert.serve.static import Site
from toy_reader import LOGITS, save_reader
from web_package import built, node, tool


def toy_bundle(folder: Path, target: str = "page") -> Path:
    """A bundle with a reader that opens at once and whose answers can be foretold."""
    built()
    model = save_reader(folder / "toy", logits={**LOGITS, "silver": 9.0})  # so that silver is a fair second
    shutil.move(model / FILES["fp32"], model / FILES["int8-fast"])  # the way of the embedded reader
    return make_bundle(str(model), folder / target, target=target).path


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a bundle, for as long as it is needed."""
    with Site(folder) as site:
        threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield site.address
        finally:
            site.shutdown()


def in_page(scenario: str, home: str, **job: Any) -> Any:
    """What a scenario saw; the page asked nobody but its own server and broke no rule of its policy."""
    program = built() / "build" / "page.js"
    job |= {"home": home, "chromium": tool("chromium")}
    done = node("node", str(program), scenario, input=json.dumps(job), timeout=240)
    answer = json.loads(done.stdout)
    assert answer["offOrigin"] == [], answer["offOrigin"]
    assert answer["complaints"] == [], answer["complaints"]
    assert answer["requests"] > 5
    return answer["outcome"]
