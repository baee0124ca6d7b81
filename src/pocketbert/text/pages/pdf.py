"""PDF to a page: the text of all pages, with paragraphs put together again, and page and line of every stretch."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from typing import TYPE_CHECKING
from unicodedata import normalize

from pocketbert.errors import InputError
from pocketbert.text.pages.hyphens import Hyphens
from pocketbert.text.pages.page import Page
from pocketbert.text.pages.pdf_lines import Break, Line, breaks, flows
from pocketbert.text.pages.writing import Writer

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfTextPage

CUT = "\x02"  # what PDFium puts for a hyphen at the end of a line and for that end
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
LIGATURE = re.compile("[\ufb00-\ufb06]")  # ﬁ and the like, which no vocabulary knows
_alone = threading.Lock()  # PDFium may be used by one thread at a time


def read_pdf(data: bytes, *, name: str = "the PDF") -> Page:
    """The text of a PDF; an error if it is encrypted or torn, or if no page holds text."""
    from pypdfium2 import PdfDocument, PdfiumError

    with _alone:
        try:
            document = PdfDocument(data)
        except PdfiumError as error:
            if "password" in str(error).lower():
                raise InputError(
                    f"{name} is encrypted; take the password off first (qpdf --decrypt)"
                ) from error
            raise InputError(f"{name} is not a PDF that can be read; it may be torn: {error}") from error
        try:
            title = str(document.get_metadata_dict().get("Title", "")).strip()
            pages = [_lines(document, index) for index in range(len(document))]
        finally:
            document.close()
    empty = [number for number, lines in enumerate(pages, 1) if not lines]
    if len(empty) == len(pages):
        raise InputError(
            f"{name} holds no text on {len(pages)} pages: they are pictures, perhaps scanned; "
            "make them text first (ocrmypdf)"
        )
    return _page(pages, title, empty)


def _page(pages: list[list[Line]], title: str, empty: list[int]) -> Page:
    lines: list[Line] = []
    starts: list[int] = []  # of the lines in the source
    between: list[Break] = []
    place = 0
    for page in pages:
        if lines and page:
            between.append("flow" if flows(lines[-1].text, page[0].text) else "paragraph")
        between += breaks(page)
        for line in page:
            starts.append(place)
            place += len(line.text) + 1
        place += not page
        lines += page
    writer = Writer()
    _write(lines, starts, between, writer)
    text, offsets = writer.finish()
    source = "".join("\n".join(line.text for line in page) + "\f" for page in pages)
    numbers = ", ".join(map(str, empty))
    notes = (f"no text on page {numbers}: a picture, perhaps scanned, or an empty page",) if empty else ()
    return Page(text=text, kind="pdf", title=title, source=source, offsets=offsets, notes=notes)


def _write(lines: list[Line], starts: list[int], between: list[Break], writer: Writer) -> None:
    hyphens = Hyphens(line.text for line in lines)
    for index, line in enumerate(lines):
        text = line.text
        following = between[index] if index < len(between) else "paragraph"
        below = lines[index + 1].text if index + 1 < len(lines) else ""
        is_cut = following == "flow" and hyphens.is_cut(text, below)
        if is_cut and hyphens.drops(text, below):
            text = text[:-1]
        _write_line(text, starts[index], writer)
        if not is_cut:
            {"flow": writer.blank, "line": writer.line, "paragraph": writer.paragraph}[following]()


def _write_line(text: str, start: int, writer: Writer) -> None:
    place = 0
    for found in LIGATURE.finditer(text):
        writer.words(text[place : found.start()], start + place)
        writer.unit(normalize("NFKC", found[0]), start + found.start(), start + found.end())
        place = found.end()
    writer.words(text[place:], start + place)


def _lines(document: PdfDocument, index: int) -> list[Line]:
    """The lines of a page in the order in which they are drawn; none if it cannot be read."""
    from pypdfium2 import PdfiumError
    from pypdfium2.raw import FPDFText_GetUnicode

    lines = []
    first = 0
    try:
        page = document[index]
        text_page = page.get_textpage()
        codes = [FPDFText_GetUnicode(text_page, place) for place in range(text_page.count_chars())]
        characters = "".join(chr(code) if code < 0x110000 else "\ufffd" for code in codes)
        for end in re.finditer(f"[\n\r{CUT}]|\\Z", characters):
            line = _line(text_page, characters[first : end.start()], first)
            if line is not None:
                lines.append(replace(line, text=f"{line.text}-", is_cut=True) if end[0] == CUT else line)
            first = end.end()
        text_page.close()
        page.close()
    except PdfiumError:
        return []
    return lines


def _line(text_page: PdfTextPage, characters: str, first: int) -> Line | None:
    """A line from its characters, of which the first has the given number on its page."""
    text = characters.strip()
    if not text:
        return None
    start = first + characters.index(text)
    left, bottom, _, top = text_page.get_charbox(start, loose=True)
    _, other_bottom, right, other_top = text_page.get_charbox(start + len(text) - 1, loose=True)
    # The halves of a character beyond the first 65,536 come one by one; a glyph without a meaning as a control.
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return Line(CONTROL.sub("\ufffd", text), left, min(bottom, other_bottom), right, max(top, other_top))
