"""From a file, the standard input, bytes or an address on the web to a page."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from pocketbert.errors import InputError
from pocketbert.text.pages.kinds import is_address, kind_of
from pocketbert.text.pages.page import Kind, Offsets, Page, Part

LARGEST = 256 * 2**20  # bytes; a shelf of novels is less


def read_page(
    source: str | os.PathLike[str] | bytes,
    *,
    kind: Kind | None = None,
    part: Part = "article",
    encoding: str | None = None,
    name: str | None = None,
) -> Page:
    """A page from a file, from "-" (the standard input), from bytes, or from an http or https address.

    The kind is told from the content and the name if it is not given. Of an HTML page the article is read, with
    `part="all"` everything that it shows. Nothing is fetched unless the source is a string that begins with
    http:// or https://. A page without text is an error. `name` is what bytes are called, if they have a name.

    >>> read_page(b"<title>Tea</title><p>Boil the water.").text
    'Boil the water.'
    """
    from pocketbert.text.pages.decoding import decode

    _check(kind, part)
    given = _given(source, name)
    name = given.name or "the input"
    found = kind or kind_of(given.data, name=given.name, content_type=given.content_type)
    if found == "pdf":
        from pocketbert.text.pages.pdf import read_pdf

        return replace(read_pdf(given.data, name=name), name=given.name)
    text, used = decode(given.data, encoding=encoding, sent_as=given.charset, name=name)
    page = page_from_text(text, kind=found, part=part)
    if not page.text.strip():
        raise InputError(f"{name} holds no text{' that a reader would see' if page.source.strip() else ''}")
    return replace(page, name=given.name, encoding=used)


def page_from_text(text: str, *, kind: Kind = "plain", part: Part = "article") -> Page:
    """A page from a text that is decoded already: HTML, Markdown or plain; it may be empty."""
    _check(kind, part)
    if kind == "html":
        from pocketbert.text.pages.html import read_html

        return read_html(text, part=part)
    if kind == "markdown":
        from pocketbert.text.pages.markdown import read_markdown

        return read_markdown(text)
    if kind == "pdf":
        raise InputError("a PDF is no text; give its path or its bytes to read_page")
    return Page(text=text, kind="plain", title="", source=text, offsets=Offsets.same(len(text)))


@dataclass(frozen=True)
class _Given:
    """What a source holds, and what is known about it."""

    data: bytes
    name: str | None = None
    content_type: str | None = None
    charset: str | None = None


def _given(source: object, called: str | None) -> _Given:
    if isinstance(source, bytes):
        return _Given(source, called)
    if isinstance(source, str) and source == "-":
        return _Given(_capped(sys.stdin.buffer.read(LARGEST + 1), "the standard input"))
    if isinstance(source, str) and is_address(source):
        from pocketbert.text.pages.fetch import fetch

        fetched = fetch(source)
        return _Given(fetched.data, fetched.address, fetched.content_type, fetched.charset)
    if isinstance(source, str | os.PathLike):
        name = os.fspath(source)
        return _Given(_from_file(name), name)
    raise InputError(
        f"a page cannot be read from a {type(source).__name__}; give a path, an address, '-' or bytes"
    )


def _from_file(name: str) -> bytes:
    if "://" in name:
        raise InputError(f"{name} is no file, and only http and https addresses are fetched")
    try:
        path = Path(name).expanduser()
        if path.is_dir():
            raise InputError(f"{name} is a folder; give one of the files in it")
        with path.open("rb") as file:  # not only regular files: a pipe is welcome too
            return _capped(file.read(LARGEST + 1), name)
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}") from error
    except (RuntimeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name[:200]!r} is no name of a file: {error}") from error


def _capped(data: bytes, name: str) -> bytes:
    if len(data) > LARGEST:
        raise InputError(f"{name} has more than {LARGEST // 2**20} MB; split it")
    return data


def _check(kind: str | None, part: str) -> None:
    if kind is not None and kind not in get_args(Kind):
        raise InputError(f"there is no kind {kind!r} of page; allowed are {', '.join(get_args(Kind))}")
    if part not in get_args(Part):
        raise InputError(f"there is no part {part!r} of a page; allowed are {', '.join(get_args(Part))}")
