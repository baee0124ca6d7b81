"""Names and folders: a folder needs no network, a name is fetched once, and offline means offline.

The hub here is a small server of the test's own that speaks the hub's protocol. huggingface_hub reads its
settings when it is imported, so every setting gets a process of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pocketbert.errors import HubError
from pocketbert.hub import ONNX_PATTERNS, PATTERNS, Resolved, resolve

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "config.json": b'{"model_type": "bert"}',
    "model.safetensors": b"weights" * 1000,
    "vocab.txt": b"[PAD]\n",
    "1_Pooling/config.json": b"{}",
    "onnx/model.onnx": b"graph",
    "README.md": b"# Card",
    "pytorch_model.bin": b"code",
    "modeling_custom.py": b"code",
    "tokenizer.pkl": b"code",
}
DATA_ONLY = {"config.json", "model.safetensors", "vocab.txt", "1_Pooling/config.json"}


def test_local_folder_is_itself_without_the_hub_library(tmp_path: Path, no_network: None) -> None:
    assert resolve(tmp_path) == Resolved(tmp_path, None, str(tmp_path))
    assert resolve(str(tmp_path)).folder == tmp_path
    script = (
        f"import sys; from pocketbert.hub import resolve; resolve({str(tmp_path)!r}); print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"huggingface_hub", "requests", "httpx", "torch"} & set(run.stdout.split())


def test_folder_wins_over_a_name_of_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_network: None
) -> None:
    (tmp_path / "owner" / "name").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve("owner/name").folder == Path("owner/name")
    assert resolve("~/owner/name").folder == tmp_path / "owner" / "name"
    with pytest.raises(HubError, match="local folder and has no revisions"):
        resolve("owner/name", revision="main")


@pytest.mark.parametrize("shape", ["./{}", "{}/", "runs/new/{}", "../{}", "~/{}", "/nowhere/{}", "runs\\{}"])
def test_missing_folder_is_never_asked_of_the_hub(shape: str, no_network: None) -> None:
    with pytest.raises(HubError, match="there is no folder"):
        resolve(shape.format("best"))
    with pytest.raises(HubError, match="there is no folder"):
        resolve(Path("best"))


def test_missing_folder_names_its_neighbours(tmp_path: Path, no_network: None) -> None:
    for name in ("mobilebert-best", "bert", "unlike"):
        (tmp_path / name).mkdir()
    with pytest.raises(HubError, match=r"did you mean .*/mobilebert-best\?"):
        resolve(tmp_path / "mobilbert-best")
    with pytest.raises(HubError, match=r"nor its parent .*/elsewhere"):
        resolve(tmp_path / "elsewhere" / "best")


@pytest.mark.parametrize(
    "name", ["", "a b", "what is this?", "x\0y", "a--b", "é/name", "~nobody-here/x", "x" * 5000]
)
def test_what_is_no_name_at_all(name: str, no_network: None) -> None:
    with pytest.raises(HubError) as caught:
        resolve(name)
    assert len(str(caught.value)) < 600


def test_file_is_refused(tmp_path: Path, no_network: None) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"code")
    with pytest.raises(HubError, match=r"is a file; give the folder .*can run code"):
        resolve(tmp_path / "pytorch_model.bin")


@dataclass
class Hub:
    """A hub with one model, and what was asked of it."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    tokens: set[str] = field(default_factory=set)


@pytest.fixture
def hub() -> Iterator[Hub]:
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            hub.asked.append(path)
            hub.agents.add(self.headers["User-Agent"])
            hub.tokens.add(self.headers["Authorization"] or "")
            if path.startswith("/api/models/owner/gated"):
                self.answer(403, b"{}", {"X-Error-Code": "GatedRepo"})
            elif path in {f"/api/models/owner/name/revision/{revision}" for revision in ("main", COMMIT)}:
                siblings = [{"rfilename": name} for name in FILES]
                self.answer(
                    200, json.dumps({"id": "owner/name", "sha": COMMIT, "siblings": siblings}).encode()
                )
            elif path.startswith("/api/models/owner/name/revision/v"):
                self.answer(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
            elif path == f"/api/models/owner/name/tree/{COMMIT}":
                self.answer(200, json.dumps([self.describe(name) for name in FILES]).encode())
            elif (name := path.removeprefix(f"/owner/name/resolve/{COMMIT}/")) in FILES:
                self.answer(
                    200, FILES[name], {"ETag": f'"{self.describe(name)["oid"]}"', "X-Repo-Commit": COMMIT}
                )
            else:
                self.answer(404, b"{}", {"X-Error-Code": "RepoNotFound"})

        def do_HEAD(self) -> None:
            self.do_GET()

        def describe(self, name: str) -> dict:
            content = FILES[name]
            blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # as git names it
            return {"type": "file", "path": name, "size": len(content), "oid": blob}

        def answer(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for key, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


RESOLVE = """
import json, os, sys
contacts = []
watched = ("socket.connect", "socket.getaddrinfo")
sys.addaudithook(lambda event, _: contacts.append(event) if event in watched else None)
from pocketbert.errors import HubError
from pocketbert.hub import resolve
name, options, late = json.loads(sys.argv[1])
if late:
    import huggingface_hub.constants
    os.environ.update(late)
try:
    found = resolve(name, **options)
except HubError as error:
    print(json.dumps({"error": str(error), "contacts": contacts}))
else:
    files = sorted(path.relative_to(found.folder).as_posix() for path in found.folder.rglob("*") if path.is_file())
    print(json.dumps({"folder": str(found.folder), "revision": found.revision, "name": found.name,
                      "files": files, "contacts": contacts}))
"""


def resolved(
    name: str, settings: dict[str, str], late: dict[str, str] | None = None, **options: object
) -> dict:
    """What `resolve` does in a fresh process under these settings; it must be silent about it."""
    settings = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "no_proxy": "127.0.0.1"} | settings
    command = [sys.executable, "-c", RESOLVE, json.dumps([name, options, late])]
    run = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    return json.loads(run.stdout)


def test_name_is_fetched_once_without_code_or_telemetry_and_used_offline_after(
    hub: Hub, tmp_path: Path
) -> None:
    settings = {"HF_HOME": str(tmp_path), "HF_ENDPOINT": hub.url, "HF_TOKEN": "hf_test"}
    first = resolved("owner/name", settings)
    assert first["revision"] == COMMIT
    assert first["name"] == "owner/name"
    assert Path(first["folder"]) == tmp_path / "hub/models--owner--name/snapshots" / COMMIT
    assert set(first["files"]) == DATA_ONLY
    assert (Path(first["folder"]) / "model.safetensors").read_bytes() == FILES["model.safetensors"]
    assert all("owner/name" in path for path in hub.asked)
    assert not any(path.endswith((".bin", ".py", ".pkl", ".onnx", ".md")) for path in hub.asked)
    assert hub.tokens == {"Bearer hf_test"}
    assert all(agent.startswith("pocketbert/") and "torch" not in agent for agent in hub.agents)

    hub.asked.clear()
    again = resolved("owner/name", settings)
    assert again["folder"] == first["folder"]
    assert not any("/resolve/" in path for path in hub.asked)

    asked = len(hub.asked)
    for offline, late in [({"HF_HUB_OFFLINE": "1"}, None), ({}, {"HF_HUB_OFFLINE": "1"})]:
        found = resolved("owner/name", settings | offline, late)
        assert found["folder"] == first["folder"]
        assert found["contacts"] == []
    assert len(hub.asked) == asked

    cut_off = resolved("owner/name", settings | {"HF_ENDPOINT": "http://127.0.0.1:9"})
    assert cut_off["folder"] == first["folder"]
    assert cut_off["contacts"] != []


def test_exported_models_are_fetched_when_asked_for_and_code_never(hub: Hub, tmp_path: Path) -> None:
    settings = {"HF_HUB_CACHE": str(tmp_path / "cache"), "HF_ENDPOINT": hub.url}
    found = resolved("owner/name", settings, patterns=[*PATTERNS, *ONNX_PATTERNS])
    assert set(found["files"]) == DATA_ONLY | {"onnx/model.onnx"}
    assert Path(found["folder"]).is_relative_to(tmp_path / "cache")
    everything = resolved("owner/name", settings, revision=COMMIT, patterns=["*"])
    assert set(everything["files"]) == DATA_ONLY | {"onnx/model.onnx", "README.md"}


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("owner/nme", {}, "the hub has no model owner/nme, or it is private and HF_TOKEN is not set"),
        ("mobilbert", {"presets": ["mobilebert", "ib-bert-large"]}, "did you mean the preset mobilebert?"),
        ("owner/other", {"presets": ["mobilebert"]}, "presets are mobilebert"),
        ("owner/gated", {}, "accept its terms on the hub, then set HF_TOKEN"),
        ("owner/name", {"revision": "v2"}, "owner/name has no revision 'v2'"),
    ],
)
def test_hub_that_says_no(hub: Hub, tmp_path: Path, name: str, options: dict, message: str) -> None:
    found = resolved(name, {"HF_HOME": str(tmp_path), "HF_ENDPOINT": hub.url}, **options)
    assert message in found["error"]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE is set"),
        ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "cannot be reached"),
    ],
)
def test_uncached_name_without_the_hub_says_how_to_get_it(tmp_path: Path, settings: dict, why: str) -> None:
    found = resolved("owner/name", {"HF_HOME": str(tmp_path)} | settings, presets=["mobilebert"])
    assert why in found["error"]
    assert "hf download owner/name" in found["error"]
    assert "presets are mobilebert" in found["error"]
    assert bool(found["contacts"]) == ("HF_HUB_OFFLINE" not in settings)


def test_cache_laid_out_by_another_tool_is_used_offline(tmp_path: Path) -> None:
    model = tmp_path / "hub/models--owner--name"
    (model / "refs").mkdir(parents=True)
    (model / "refs/main").write_text(COMMIT)
    (model / "blobs").mkdir()
    (model / "blobs/abc").write_bytes(b"{}")
    (model / "snapshots" / COMMIT).mkdir(parents=True)
    (model / "snapshots" / COMMIT / "config.json").symlink_to("../../blobs/abc")
    settings = {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    found = resolved("owner/name", settings)
    assert found["revision"] == COMMIT
    assert found["files"] == ["config.json"]
    assert found["contacts"] == []
    assert resolved("owner/name", settings, revision=COMMIT)["folder"] == found["folder"]
    assert "owner/name at v2 is not complete" in resolved("owner/name", settings, revision="v2")["error"]
