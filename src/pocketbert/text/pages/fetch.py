"""A page from the web, because someone gave its address: with a limit on bytes, seconds and redirects.

Redirects are followed here and not by a library, so that every address on the way is http or https, never a file.
"""

from __future__ import annotations

import socket
import threading
import zlib
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import SplitResult, quote, unquote, urldefrag, urljoin, urlsplit

from pocketbert import __version__
from pocketbert.errors import InputError
from pocketbert.text.pages.kinds import is_address

LARGEST = 32 * 2**20  # bytes, packed or not
SECONDS = 30.0
REDIRECTS = 5
CHUNK = 65536
LONGEST_ADDRESS = 8192  # characters
READABLE = (
    "text/",
    "application/xhtml+xml",
    "application/pdf",
    "application/x-pdf",
    "application/octet-stream",
)
HEADERS = {
    "User-Agent": f"pocketbert/{__version__}",
    "Accept": "text/html,application/xhtml+xml,text/markdown;q=0.9,application/pdf;q=0.9,text/plain;q=0.8,*/*;q=0.1",
    "Accept-Encoding": "gzip",
}


@dataclass(frozen=True)
class Fetched:
    """What came back: the bytes, what they were sent as, and from where in the end."""

    data: bytes
    content_type: str | None
    charset: str | None
    address: str


def fetch(
    address: str, *, largest: int = LARGEST, seconds: float = SECONDS, redirects: int = REDIRECTS
) -> Fetched:
    """Get a page by http or https."""
    here = address
    with _Watch(seconds) as watch, _as_input_errors(address, watch):
        for _ in range(redirects + 1):
            with watch.connect(_split(here)) as response:
                target = response.headers.get("Location") if 300 <= response.status < 400 else None
                if target is None:
                    fetched = _fetched(response, here, largest)
                    watch.check()  # what was cut off looks as if it were complete
                    return fetched
            here = urldefrag(urljoin(here, target)).url
            if not is_address(here):
                raise InputError(f"{address} leads to {here}; only http and https addresses are followed")
    raise InputError(f"{address} leads to more than {redirects} other addresses; give the last one")


class _Watch:
    """Ends the connection when the time is up: the timeout of a socket begins anew with every byte."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.is_over = False
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> _Watch:
        self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()

    @contextmanager
    def connect(self, address: SplitResult) -> Iterator[HTTPResponse]:
        connection, target, headers = _connection(address, self.seconds)
        try:
            connection.connect()
            self._socket = connection.sock  # which the connection forgets once there is a response
            self.check()
            connection.request("GET", target, headers={**HEADERS, **headers})
            yield connection.getresponse()
        finally:
            connection.close()

    def check(self) -> None:
        if self.is_over:
            raise TimeoutError

    def _end(self) -> None:
        self.is_over = True
        if self._socket is not None:
            with suppress(OSError):  # closed already
                self._socket.shutdown(socket.SHUT_RDWR)


@contextmanager
def _as_input_errors(address: str, watch: _Watch) -> Iterator[None]:
    try:
        yield
    except (HTTPException, OSError, ValueError, zlib.error) as error:
        if watch.is_over or isinstance(error, TimeoutError):
            raise InputError(f"{address} took longer than {watch.seconds:g} seconds") from error
        if isinstance(error, InputError):
            raise
        raise InputError(f"{address} could not be fetched: {error}") from error


def _split(address: str) -> SplitResult:
    """The parts of an address, in ASCII as the wire wants them."""
    parts = urlsplit(address.strip())
    if not parts.hostname or len(address) > LONGEST_ADDRESS:
        raise InputError(f"{address[:200]} is no address; write one such as https://example.org/page")
    host = parts.hostname.encode("idna").decode("ascii")
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port else ""
    kept = "!$%&'()*+,/:;=?@[]~"
    return SplitResult(
        parts.scheme.lower(), f"{host}{port}", quote(parts.path or "/", kept), quote(parts.query, kept), ""
    )


def _connection(address: SplitResult, seconds: float) -> tuple[HTTPConnection, str, dict[str, str]]:
    """A connection, direct or through the proxy that the environment names; what to ask for, and how."""
    from urllib.request import getproxies, proxy_bypass

    host = address.hostname or ""
    target = address._replace(scheme="", netloc="").geturl()
    kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
    named = getproxies().get(address.scheme)
    if not named or proxy_bypass(host):
        return kind(host, address.port, timeout=seconds), target, {}
    proxy = urlsplit(named if "://" in named else f"http://{named}")
    secret = f"{unquote(proxy.username or '')}:{unquote(proxy.password or '')}"
    headers = (
        {"Proxy-Authorization": f"Basic {b64encode(secret.encode()).decode()}"} if proxy.username else {}
    )
    connection = kind(proxy.hostname or "", proxy.port, timeout=seconds)
    if address.scheme == "http":
        return connection, address.geturl(), headers
    connection.set_tunnel(host, address.port, headers)
    return connection, target, {}


def _fetched(response: HTTPResponse, address: str, largest: int) -> Fetched:
    if response.status != 200:
        raise InputError(
            f"{address} could not be fetched: the server says {response.status} {response.reason}"
        )
    sent_as = response.headers.get_content_type() if "Content-Type" in response.headers else None
    if sent_as and not sent_as.startswith(READABLE):
        raise InputError(
            f"{address} is of the type {sent_as}; HTML, Markdown, PDF and plain text can be read"
        )
    data = b"".join(_body(response, address, largest))
    return Fetched(data, sent_as, response.headers.get_content_charset(), address)


def _body(response: HTTPResponse, address: str, largest: int) -> Iterator[bytes]:
    packing = response.headers.get("Content-Encoding", "identity").lower()
    if packing not in ("identity", "gzip", "x-gzip"):
        raise InputError(f"{address} came packed as {packing}, which was not asked for")
    unpacker = zlib.decompressobj(wbits=31) if packing != "identity" else None
    size = 0
    while chunk := response.read(CHUNK):
        # At most one byte more than allowed is unpacked: enough to see that it is too much.
        data = unpacker.decompress(chunk, largest - size + 1) if unpacker else chunk
        size += len(data)
        if size > largest:
            raise InputError(f"{address} has more than {largest / 2**20:g} MB; save the page and cut it down")
        yield data
    if unpacker and not unpacker.eof:
        raise InputError(f"{address} came incomplete; try again")
