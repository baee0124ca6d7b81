"""A bundle over HTTP: the files of its manifest and nothing else, to this machine and nobody else.

A path is looked up among the listed files, never on the disk, so that none can lead out of the folder. The page may
load nothing from elsewhere, run nothing that is not a file of its own, and sit in nobody's frame.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

from pocketbert.errors import CheckpointError, InputError
from pocketbert.runtime.manifest import FILE_NAME, KEY, sha256

HOST = "127.0.0.1"
NAMES = {HOST, "localhost"}
PATIENCE = 30  # seconds that a client may be silent
BLOCK = 1 << 16

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; worker-src 'self'; "
    "style-src 'self'; img-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",  # with the next one, the page may use threads
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",  # kept, but asked for again: the answer is 304 until the bundle changes
}
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
}
RANGE = re.compile(r"bytes=(\d*)-(\d*)")


@dataclass(frozen=True)
class File:
    """A file that may be fetched."""

    path: Path
    tag: str

    @property
    def kind(self) -> str:
        return TYPES.get(self.path.suffix, "application/octet-stream")


class Site(ThreadingHTTPServer):
    """The bundle in a folder, at a port of this machine; 0 is any that is free. Serves after `serve_forever`."""

    daemon_threads = True

    def __init__(self, folder: str | Path | None, port: int = 0) -> None:
        """A site without a folder has nothing to show; it finds out whether the port can be had."""
        self.files = {} if folder is None else _files(Path(folder))
        try:
            super().__init__((HOST, port), Handler)
        except OSError as error:
            why = (
                "is taken by another program"
                if error.errno == errno.EADDRINUSE
                else f"is refused ({error.strerror})"
            )
            raise InputError(
                f"port {port} {why}; choose another one with --port, or --port 0 for any that is free"
            ) from error

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves in the middle of a file is no error."""


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD."""

    server: Site
    protocol_version = "HTTP/1.1"
    server_version = "pocketbert"
    sys_version = ""
    timeout = PATIENCE

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's signature
        """Nothing is logged: what is asked here is nobody's business."""

    def end_headers(self) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def _answer(self, *, with_body: bool) -> None:
        # A page of another site can lead its own name to this machine; it may not read what is here.
        if urlsplit(f"//{self.headers.get('Host', '')}").hostname not in NAMES:
            self._refuse(HTTPStatus.FORBIDDEN, with_body)
            return
        file = self.server.files.get(_name(self.path))
        if file is None:
            self._refuse(HTTPStatus.NOT_FOUND, with_body)
            return
        if file.tag in [tag.strip() for tag in self.headers.get("If-None-Match", "").split(",")]:
            self.send_response(HTTPStatus.NOT_MODIFIED)
            self.send_header("ETag", file.tag)
            self.end_headers()
            return
        try:
            with file.path.open("rb") as opened:
                self._send(file, opened, with_body)
        except OSError:
            # Removed since the start, or a client that has left; either way there is nobody to tell more.
            self.close_connection = True

    def _send(self, file: File, opened: BinaryIO, with_body: bool) -> None:
        size = opened.seek(0, 2)
        wanted = _range(self.headers, file.tag, size)
        if wanted is None:
            self._refuse(
                HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, with_body, {"Content-Range": f"bytes */{size}"}
            )
            return
        start, end, partial = wanted
        self.send_response(HTTPStatus.PARTIAL_CONTENT if partial else HTTPStatus.OK)
        if partial:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        self.send_header("Content-Type", file.kind)
        self.send_header("Content-Length", str(end - start))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", file.tag)
        self.end_headers()
        opened.seek(start)
        while with_body and start < end and (block := opened.read(min(BLOCK, end - start))):
            self.wfile.write(block)
            start += len(block)

    def _refuse(self, status: HTTPStatus, with_body: bool, headers: Mapping[str, str] | None = None) -> None:
        body = f"{status.value} {status.phrase}\n".encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", TYPES[".txt"])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)


def _files(folder: Path) -> dict[str, File]:
    """Path -> file, for all that the manifest of a bundle lists."""
    manifest = folder / FILE_NAME
    try:
        hashes = json.loads(manifest.read_text(encoding="utf-8"))[KEY]
        names = {name: f'"{digest}"' for name, digest in hashes.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"{folder} is no bundle ({FILE_NAME} cannot be read: {error}); make one with: pocketbert bundle"
        ) from error
    for name in names:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise CheckpointError(
                f"{manifest} names {name!r}, which is not in the folder; make the bundle again"
            )
    if "index.html" not in names:
        raise InputError(
            f"{folder} has no index.html; make a bundle for a page: pocketbert bundle --for page"
        )
    files = {f"/{name}": File(folder / name, tag) for name, tag in names.items()}
    files[f"/{FILE_NAME}"] = File(manifest, f'"{sha256(manifest)}"')
    files["/"] = files["/index.html"]
    return files


def _name(target: str) -> str:
    """The path of a request, without what is behind a question mark."""
    return unquote(urlsplit(target).path if target.startswith("/") else "")


def _range(headers: Any, tag: str, size: int) -> tuple[int, int, bool] | None:
    """Start, end, and whether it is a part; None if there is nothing there. What we do not know is the whole file."""
    match = RANGE.fullmatch(headers.get("Range", "").strip())
    if not match or match[0] == "bytes=-" or headers.get("If-Range", tag) != tag:
        return 0, size, False
    first, last = match.groups()
    if not first:
        return (max(0, size - int(last)), size, True) if int(last) and size else None
    start, end = int(first), min(int(last) + 1 if last else size, size)
    if last and int(last) < int(first):
        return 0, size, False  # no range at all, says the standard
    return (start, end, True) if start < size else None
