"""The server of a bundle: right types and headers, ranges, and nothing that the manifest does not list."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pocketbert.errors import CheckpointError, InputError
from pocketbert.runtime.manifest import write_manifest
from pocketbert.serve.static import POLICY, Site

WASM = bytes(range(256)) * 40
PAGE = Path(__file__).resolve().parents[2] / "web" / "page" / "index.html"
Reply = tuple[int, dict[str, str], bytes]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "bundle"
    (folder / "model").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>the page")
    for name in ("a.js", "b.mjs", "c.css", "model/d.json", "model/e.onnx", "f.svg", "model/my words.txt"):
        (folder / name).write_text(name)
    (folder / "engine.wasm").write_bytes(WASM)
    write_manifest(folder)
    (folder / "unlisted.txt").write_text("nobody's business")
    (folder.parent / "secret.txt").write_text("a secret")
    return folder


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Site]:
    with Site(folder) as site:
        threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield site
        site.shutdown()


def fetch(site: Site, path: str, method: str = "GET", **headers: str) -> Reply:
    connection = http.client.HTTPConnection("127.0.0.1", site.server_port, timeout=10)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=named)
        response = connection.getresponse()
        return (
            response.status,
            {name.lower(): value for name, value in response.getheaders()},
            response.read(),
        )
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/index.html?x=1", "text/html; charset=utf-8"),
        ("/a.js", "text/javascript; charset=utf-8"),
        ("/b.mjs", "text/javascript; charset=utf-8"),
        ("/c.css", "text/css; charset=utf-8"),
        ("/engine.wasm", "application/wasm"),
        ("/model/d.json", "application/json"),
        ("/manifest.json", "application/json"),
        ("/model/e.onnx", "application/octet-stream"),
        ("/f.svg", "image/svg+xml"),
        ("/model/my%20words.txt", "text/plain; charset=utf-8"),
    ],
)
def test_types_and_headers(path: str, kind: str, site: Site) -> None:
    status, headers, body = fetch(site, path)
    assert (status, headers["content-type"]) == (200, kind)
    assert headers["content-security-policy"] == POLICY
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-embedder-policy"] == "require-corp"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-cache"
    assert headers["content-length"] == str(len(body))
    assert headers["etag"] == f'"{hashlib.sha256(body).hexdigest()}"'
    head = fetch(site, path, "HEAD")
    assert (head[0], head[1]["content-length"], head[2]) == (200, str(len(body)), b"")


def test_a_file_is_sent_again_only_if_it_changed(site: Site) -> None:
    tag = fetch(site, "/engine.wasm")[1]["etag"]
    status, headers, body = fetch(site, "/engine.wasm", If_None_Match=f'"other", {tag}')
    assert (status, headers["etag"], body) == (304, tag, b"")
    assert fetch(site, "/engine.wasm", If_None_Match='"other"')[0] == 200


@pytest.mark.parametrize(
    ("given", "start", "end"),
    [("bytes=0-0", 0, 1), ("bytes=100-199", 100, 200), ("bytes=10000-", 10000, 10240), ("bytes=-5", 10235, 10240),
     ("bytes=10000-99999", 10000, 10240), ("bytes=-99999", 0, 10240)],
)  # fmt: skip
def test_ranges(given: str, start: int, end: int, site: Site) -> None:
    status, headers, body = fetch(site, "/engine.wasm", Range=given)
    assert (status, body) == (206, WASM[start:end])
    assert headers["content-range"] == f"bytes {start}-{end - 1}/10240"
    tag = headers["etag"]
    assert fetch(site, "/engine.wasm", Range=given, If_Range=tag)[0] == 206
    assert fetch(site, "/engine.wasm", Range=given, If_Range='"other"')[0] == 200


@pytest.mark.parametrize("given", ["bytes=10240-", "bytes=99999-100000", "bytes=-0"])
def test_ranges_that_are_not_there(given: str, site: Site) -> None:
    status, headers, _ = fetch(site, "/engine.wasm", Range=given)
    assert (status, headers["content-range"]) == (416, "bytes */10240")


@pytest.mark.parametrize("given", ["bytes=5-2", "bytes=-", "bytes=1-2,4-5", "lines=1-2", "bytes=x"])
def test_what_is_no_range_gets_the_whole(given: str, site: Site) -> None:
    assert fetch(site, "/engine.wasm", Range=given)[::2] == (200, WASM)


@pytest.mark.parametrize(
    "path",
    ["/nowhere", "/model", "/model/", "/unlisted.txt", "/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt",
     "/model/../../secret.txt", "//secret.txt", "/a.js/", "/a.js%00", "http://127.0.0.1/a.js", "*",
     "/\\..\\secret.txt"],
)  # fmt: skip
def test_nothing_else_is_there(path: str, site: Site) -> None:
    status, headers, body = fetch(site, path)
    assert (status, body) == (404, b"404 Not Found\n")
    assert headers["content-security-policy"] == POLICY


def test_other_names_and_methods_are_refused(site: Site) -> None:
    assert fetch(site, "/", Host="evil.example")[0] == 403
    assert fetch(site, "/", Host=f"localhost:{site.server_port}")[0] == 200
    assert fetch(site, "/", "POST")[0] == 501


def test_a_folder_that_is_no_page(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is no bundle"):
        Site(tmp_path)
    (tmp_path / "manifest.json").write_text('{"sha256": {"../secret.txt": "00"}}')
    with pytest.raises(CheckpointError, match="which is not in the folder"):
        Site(tmp_path)
    (tmp_path / "manifest.json").write_text('{"sha256": {"package.json": "00"}}')
    with pytest.raises(InputError, match=r"has no index.html"):
        Site(tmp_path)


def test_a_port_that_is_taken(site: Site, folder: Path) -> None:
    with pytest.raises(
        InputError, match=f"port {site.server_port} is taken by another program; choose another"
    ):
        Site(folder, site.server_port)


def test_the_page_carries_the_same_policy_for_other_hosts() -> None:
    found = re.search(r'content="(default-src[^"]*)"', PAGE.read_text(encoding="utf-8"))
    assert found
    # Who may show the page in a frame can only be said in a header.
    assert f"{found[1]}; frame-ancestors 'none'" == POLICY


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_the_verb_serves_until_it_is_ended(folder: Path, sign: signal.Signals) -> None:
    command = [sys.executable, "-m", "pocketbert", "web", "--port", "0", "--bundle", str(folder), "--json"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        # A suite in the background ignores it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        port = int(address.rstrip("/").rsplit(":", 1)[1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"<!doctype html>the page"
        connection.close()
        process.send_signal(sign)
        _, complaints = process.communicate(timeout=20)
        assert process.returncode == 0, complaints
        assert "Traceback" not in complaints


def test_the_verb_says_that_a_port_is_taken(site: Site, folder: Path) -> None:
    for more in (["--bundle", str(folder)], []):  # before anything is built
        command = [sys.executable, "-m", "pocketbert", "web", "--port", str(site.server_port), *more]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2
        assert "is taken by another program; choose another one with --port" in done.stderr
