"""Which kind of page some bytes are: by what they begin with, what they are called and what they were sent as."""

from __future__ import annotations

import re
from pathlib import PurePath
from urllib.parse import urlsplit

from pocketbert.errors import InputError
from pocketbert.text.pages.page import Kind

ENDINGS: dict[str, Kind] = {
    **dict.fromkeys((".html", ".htm", ".xhtml", ".xht", ".shtml"), "html"),
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd", ".mkdn", ".mdx", ".qmd", ".rmd"), "markdown"),
    ".pdf": "pdf",
    **dict.fromkeys((".txt", ".text", ".log", ".rst", ".csv", ".tsv", ".json", ".py", ".tex"), "plain"),
}
CONTENT_TYPES: dict[str, Kind] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "application/pdf": "pdf",
    "application/x-pdf": "pdf",
}
HTML_START = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|style|article|main|div|table|h1|p)[\s>/]",
    re.IGNORECASE,
)
HEAD = 20_000  # bytes in which the first tag is looked for
PDF_START = b"%PDF-"
# What else people have on their disks, by the bytes it begins with, and what to do about it.
FOREIGN = {
    b"PK\x03\x04": "a zip archive, or an office or e-book file, which is one; save it as PDF or HTML",
    b"\xd0\xcf\x11\xe0": "an old office file; save it as PDF or HTML",
    b"\x1f\x8b": "compressed with gzip; unpack it first",
    b"BZh": "compressed with bzip2; unpack it first",
    b"\xfd7zXZ": "compressed with xz; unpack it first",
    b"\x89PNG": "a picture; only text can be read",
    b"\xff\xd8\xff": "a picture; only text can be read",
    b"GIF8": "a picture; only text can be read",
    b"{\\rtf": "rich text; save it as PDF or HTML",
    b"%!PS": "PostScript; convert it to PDF",
}


def is_address(source: str) -> bool:
    """Whether a source is an address on the web, and no file."""
    return source.lower().startswith(("http://", "https://"))


def kind_of(data: bytes, *, name: str | None = None, content_type: str | None = None) -> Kind:
    """The kind of a page; plain text if nothing speaks for another."""
    for start, what in FOREIGN.items():
        if data.startswith(start):
            raise InputError(f"{name or 'the input'} is {what}")
    if PDF_START in data[:1024]:  # readers allow some bytes before it
        return "pdf"
    sent_as = (content_type or "").split(";")[0].strip().lower()
    called = PurePath(urlsplit(name).path if name and is_address(name) else name or "").suffix.lower()
    kind = CONTENT_TYPES.get(sent_as) or ENDINGS.get(called)
    if kind == "pdf":
        raise InputError(f"{name or 'the input'} is called a PDF but is none: it does not begin with %PDF-")
    if kind is None and sent_as != "text/plain" and _begins_like_html(data):
        return "html"
    return kind or "plain"


def _begins_like_html(data: bytes) -> bool:
    """Whether a tag of HTML is the first thing behind comments and declarations."""
    head = data[:HEAD].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe")  # UTF-16 and marks too
    while True:
        head = head.lstrip()
        for start, end in ((b"<!--", b"-->"), (b"<?xml", b"?>")):
            if head.startswith(start) and end in head:
                head = head[head.index(end) + len(end) :]
                break
        else:
            return HTML_START.match(head) is not None
