"""Pages from files, bytes, the standard input and the web; whatever is wrong ends in an error that says what to do."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pocketbert.errors import InputError, PocketbertError
from pocketbert.text.pages import page_from_text, read_page
from pocketbert.text.pages.fetch import fetch

HTML = "<html><title>Tea</title><p>Boil the water, wait, and drink the tea.</p></html>"
BOMB = gzip.compress(b"a" * 10**7)
SCRAPS = [b"<p>", b"%PDF-", b"# ", b"\0", b"\xff", b"&", b"```\n", b"a|b\n-|-\n", b"<", b"\xe9", b"tea"]
TEXT = "Boil the water, wait, and drink the tea."


def test_a_file_is_read_by_its_name(tmp_path):
    for name, kind, source in [
        ("a.html", "html", HTML),
        ("a.md", "markdown", f"# {TEXT}"),
        ("a.txt", "plain", TEXT),
    ]:
        path = tmp_path / name
        path.write_text(source, encoding="utf-8")
        for given_as in (path, str(path)):
            page = read_page(given_as)
            assert (page.kind, page.text, page.name, page.encoding) == (kind, TEXT, str(path), "utf-8")


def test_bytes_and_kinds_that_are_given():
    assert read_page(HTML.encode("utf-16")).text == TEXT
    assert read_page(b"# tea", kind="markdown").text == "tea"
    assert read_page(b"# tea", kind="plain").text == "# tea"
    assert read_page("чай".encode("cp1251"), encoding="cp1251").text == "чай"


def test_the_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(HTML.encode())))
    page = read_page("-")
    assert (page.text, page.name) == (TEXT, None)


def test_plain_text_is_untouched():
    text = "\r\n  two  blanks\tand\u00a0more\u00ad \r\n\r\n"
    page = read_page(text.encode())
    assert (page.text, page.source) == (text, text)
    assert page.locate(text.index("two"), text.index("blanks")).line == 2


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("no/such/file.txt", "cannot be read: No such file"),
        (".", "is a folder"),
        ("", "is a folder|cannot be read"),
        ("a\0b", "is no name of a file"),
        ("~nobody-of-this-name/x", "is no name of a file|cannot be read"),
        ("x" * 5000, "cannot be read"),
        ("ftp://example.org/x", "only http and https"),
        ("file:///etc/passwd", "only http and https"),
        (None, "from a NoneType; give a path"),
        (7, "from a int; give a path"),
        (b"", "holds no text$"),
        (b" \n ", "holds no text$"),
        (b"<html><script>draw()</script>", "no text that a reader would see"),
        (b"\x89PNG....", "a picture"),
        (b"\1\2\3" * 100, "binary"),
    ],
)
def test_what_cannot_be_read_says_why(source, reason):
    with pytest.raises(InputError, match=reason):
        read_page(source)


def test_wrong_choices_are_refused():
    with pytest.raises(InputError, match="no kind 'word' of page; allowed are html, markdown, pdf, plain"):
        read_page(b"x", kind="word")
    with pytest.raises(InputError, match="no part 'half' of a page; allowed are article, all"):
        page_from_text("x", part="half")
    with pytest.raises(InputError, match="a PDF is no text"):
        page_from_text("%PDF-", kind="pdf")


def test_a_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("pocketbert.text.pages.reading.LARGEST", 2**20)
    (tmp_path / "large.txt").write_bytes(b"a" * (2**20 + 1))
    with pytest.raises(InputError, match="more than 1 MB"):
        read_page(tmp_path / "large.txt")


def test_a_pipe_is_read():
    code = "from pocketbert.text.pages import read_page; print(read_page('/dev/stdin').text)"
    done = subprocess.run(
        [sys.executable, "-c", code], input=HTML, capture_output=True, text=True, check=True
    )
    assert done.stdout == TEXT + "\n"


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    data=st.binary(max_size=80) | st.lists(st.sampled_from(SCRAPS), max_size=12).map(b"".join),
    kind=st.sampled_from([None, "html", "markdown", "pdf", "plain"]),
)
def test_anything_ends_in_a_page_or_in_our_own_error(data, kind):
    try:
        page = read_page(data, kind=kind)
    except PocketbertError:
        return
    assert page.locate(0, len(page.text)).line >= 1


def test_parsers_are_imported_when_they_are_needed():
    code = (
        "import sys; from pocketbert.text.pages import read_page; read_page(b'tea')\n"
        "parsers = 'pypdfium2', 'markdown_it', 'charset_normalizer', 'http', 'html', 'numpy'\n"
        "print([name for name in parsers if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


class Site(BaseHTTPRequestHandler):
    """A small web site with all that can go wrong."""

    def do_GET(self) -> None:
        path = self.path
        if path.startswith("/to/"):
            self.answer(b"", status=302, Location=path.removeprefix("/to/"))
        elif path == "/loop":
            self.answer(b"", status=301, Location="/loop")
        elif path == "/packed":
            self.answer(gzip.compress(HTML.encode()), Content_Type="text/html", Content_Encoding="gzip")
        elif path == "/bomb":
            self.answer(BOMB, Content_Type="text/plain", Content_Encoding="gzip")
        elif path == "/torn":
            self.answer(gzip.compress(HTML.encode())[:-12], Content_Type="text/html", Content_Encoding="gzip")
        elif path == "/large":
            self.answer(b"a" * 300_000, Content_Type="text/plain")
        elif path == "/picture":
            self.answer(b"...", Content_Type="image/png")
        elif path == "/russian":
            self.answer("чай".encode("koi8-r"), Content_Type="text/plain; charset=koi8-r")
        elif path.startswith("/na%C3%AFve"):
            self.answer(f"# {path}".encode(), Content_Type="text/plain")
        elif path == "/slow-body":
            self.answer(b"", Content_Length="1000")
            self.drip()
        elif path == "/slow-head":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            self.drip()
        elif path == "http://far.example/page":  # asked as a proxy
            self.answer(self.headers["Proxy-Authorization"].encode(), Content_Type="text/plain")
        elif path == "/page":
            self.answer(HTML.encode(), Content_Type="text/html")
        else:
            self.answer(b"gone", status=404)

    def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content_Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def drip(self) -> None:
        """A byte now and then, so that no single wait is long."""
        try:
            for _ in range(40):
                self.wfile.write(b"a")
                time.sleep(0.05)
        except OSError:
            pass

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("no_proxy", "127.0.0.1")
        yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_page_from_the_web(site):
    page = read_page(f"{site}/page")
    assert (page.text, page.title, page.kind, page.name) == (TEXT, "Tea", "html", f"{site}/page")
    assert read_page(f"{site}/packed").text == TEXT
    assert read_page(f"{site}/russian").text == "чай"
    assert read_page(f"{site}/naïve page.md?a=b c#d").text == "/na%C3%AFve%20page.md?a=b%20c"


def test_a_proxy_is_asked(site, monkeypatch):
    monkeypatch.setenv("http_proxy", site.replace("://", "://user:a%20b@"))
    assert read_page("http://far.example/page").text == "Basic dXNlcjphIGI="


def test_redirects_are_followed(site):
    page = read_page(f"{site}/to//to/{site}/page")
    assert (page.text, page.name) == (TEXT, f"{site}/page")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/none", "the server says 404"),
        ("/loop", "more than 5 other addresses"),
        ("/to/file:///etc/passwd", "leads to file:///etc/passwd; only http and https"),
        ("/to/ftp://example.org/", "only http and https"),
        ("/picture", "of the type image/png"),
        ("/torn", "came incomplete"),
    ],
)
def test_what_cannot_be_fetched_says_why(site, path, reason):
    with pytest.raises(InputError, match=reason):
        read_page(site + path)


@pytest.mark.parametrize("path", ["/large", "/bomb"])
def test_more_than_the_limit_is_refused(site, path):
    tracemalloc.start()
    with pytest.raises(InputError, match=r"more than 0\.25 MB"):
        fetch(site + path, largest=2**18)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 10**6  # however much the bytes would unpack to


@pytest.mark.parametrize("path", ["/slow-head", "/slow-body"])
def test_time_is_limited_as_a_whole(site, path):
    with pytest.raises(InputError, match=r"longer than 0\.3 seconds"):
        fetch(site + path, seconds=0.3)


def test_nobody_there():
    with pytest.raises(InputError, match="could not be fetched"):
        fetch("http://127.0.0.1:9/")


@pytest.mark.parametrize(
    "address",
    [
        "http://",
        "http:///x",
        "https://[",
        "http://a b/",
        "http://host:port/",
        "http://\0/",
        "http://..",
        "http://" + "a" * 9999,
    ],
)
def test_malformed_addresses(address):
    with pytest.raises(InputError):
        read_page(address)


def test_no_network_without_an_address(no_network, tmp_path):
    (tmp_path / "a.html").write_text(
        HTML + "<img src=http://example.org/x.png><link href=http://example.org>"
    )
    assert read_page(tmp_path / "a.html").text == TEXT
    with pytest.raises(InputError):
        read_page(Path("http://example.org"))
