"""PDFs: lines put together to sentences again, with page and line of every word; files that cannot be read say why."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from fpdf import FPDF
from fpdf.enums import AccessPermission

from pocketbert.errors import InputError
from pocketbert.text.pages import read_page
from pocketbert.text.pages.pdf import _write_line
from pocketbert.text.pages.writing import Writer

SENTENCES = [
    "The ferry left the harbour at noon, two hours late, and nobody on the pier seemed to mind.",
    "By evening the wind had turned, the captain said, and the old engine had begun to cough again.",
    "They reached the island in the dark, tied up at the second pier, and walked to the only inn.",
]


def drawn(*pages: list[str], size: int = 11) -> bytes:
    """A PDF with the given operators on each page, written by hand so that every line is where a test wants it."""
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman >>",
    ]
    kids = []
    for operators in pages:
        content = f"BT /F1 {size} Tf {' '.join(operators)} ET"
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
        shape = "/Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"
        objects.append(f"<< /Type /Page {shape} /Contents {len(objects)} 0 R >>")
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    data, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    count = len(objects) + 1
    table = f"xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n<< /Size {count} /Root 1 0 R >>\n"
    return f"{data}{table}startxref\n{len(data)}\n%%EOF".encode("latin-1")


def lines(*texts: str, x: int = 72, y: int = 700, step: int = 13) -> list[str]:
    return [f"1 0 0 1 {x} {y - step * row} Tm ({text}) Tj" for row, text in enumerate(texts)]


def flowing(pages: int = 1) -> FPDF:
    document = FPDF(format=(150, 210))
    document.set_title("The ferry")
    document.set_font("helvetica", size=12)
    for _ in range(pages):
        document.add_page()
        for sentence in SENTENCES:
            document.multi_cell(0, 6, f"{sentence} {sentence}")
            document.ln(12)
    return document


def test_paragraphs_flow_again():
    page = read_page(bytes(flowing().output()))
    assert page.text == "\n\n".join(f"{sentence} {sentence}" for sentence in SENTENCES)
    assert (page.kind, page.title, page.notes) == ("pdf", "The ferry", ())


def test_every_word_has_its_page_and_line():
    page = read_page(bytes(flowing(pages=3).output()))
    for number, found in enumerate(re.finditer("captain", page.text)):
        place = page.locate(*found.span())
        assert place.page == number // 2 + 1
        line = page.source.split("\f")[place.page - 1].split("\n")[place.line - 1]
        assert line[place.column - 1 :].startswith("captain")
        assert page.source[place.source_start : place.source_end] == "captain"


@pytest.mark.parametrize(
    ("above", "below", "text"),
    [
        ("The word is hyphen-", "ated at the end of the line.", "is hyphenated at"),
        ("We walked home from a well-", "known inn on the island.", "a well-known inn"),
        ("A moonferry, and the moon-", "ferry again in the dark.", "the moonferry again"),
        ("A grull-fed cat, and a grull-", "fed dog at all the tables.", "a grull-fed dog"),
        ("It lasted from the year 1914-", "1918 in all of the country.", "year 1914-1918 in"),
        ("They speak a sort of Anglo-", "Saxon on all of the islands.", "of Anglo-Saxon on"),
        ("He paused for a long while -", "then he spoke to all of us.", "while - then he"),
    ],
)
def test_words_that_a_line_has_cut(above, below, text):
    assert text in read_page(drawn(lines(above, below))).text


def test_the_source_of_a_cut_word_has_both_halves():
    page = read_page(drawn(lines("The word is hyphen-", "ated at the end of the line.")))
    start = page.text.index("hyphenated")
    place = page.locate(start, start + len("hyphenated"))
    assert page.source[place.source_start : place.source_end] == "hyphen-\nated"
    assert (place.line, place.column) == (1, 13)


def test_kerned_letters_are_words():
    page = read_page(drawn(["1 0 0 1 72 700 Tm [(W)83(e)-250(sho)27(w)-250(a)-250(k)28(erned)-250(line)]TJ"]))
    assert page.text == "We show a kerned line"


def test_a_line_that_ends_early_ends_on_purpose():
    rows = lines("The timetable of the ferry for the whole of the summer:", "noon", "evening", "night")
    assert read_page(drawn(rows)).text.endswith(":\nnoon\nevening\nnight")


def test_a_gap_is_a_paragraph():
    rows = [*lines("The ferry left the harbour at noon, two hours", "late, and nobody on the pier seemed to mind it."),
            *lines("By evening the wind had turned to the north.", y=660)]  # fmt: skip
    text = read_page(drawn(rows)).text
    assert text == (
        "The ferry left the harbour at noon, two hours late, and nobody on the pier seemed to mind it.\n\n"
        "By evening the wind had turned to the north."
    )


def test_a_larger_line_is_a_heading():
    rows = [
        "/F1 18 Tf",
        *lines("Of ferries"),
        "/F1 11 Tf",
        *lines("The ferry left the harbour at noon.", y=684),
    ]
    assert read_page(drawn(rows)).text == "Of ferries\n\nThe ferry left the harbour at noon."


def test_an_indent_begins_a_paragraph():
    rows = [
        *lines("nobody on the pier seemed to mind at all."),
        *lines("By evening the wind had turned to", x=90, y=687),
    ]
    assert (
        read_page(drawn(rows)).text
        == "nobody on the pier seemed to mind at all.\nBy evening the wind had turned to"
    )


def test_columns_and_pages_go_on():
    left = lines("a sentence that begins at", "the foot of a column and", y=200)
    right = lines("goes on at the head of", "the next one, where the", x=320, y=700)
    following = lines("page ends, but the words", "do not.")
    text = read_page(drawn([*left, *right], following)).text
    assert text == (
        "a sentence that begins at the foot of a column and goes on at the head of the next one, "
        "where the page ends, but the words do not."
    )


def test_a_column_may_end_with_its_sentence():
    rows = [*lines("the foot of a column.", y=200), *lines("The head of the next", x=320, y=700)]
    assert read_page(drawn(rows)).text == "the foot of a column.\n\nThe head of the next"


def test_ligatures_are_letters_with_one_place():
    writer = Writer()
    _write_line("the ﬁrst oﬃce", 0, writer)
    text, offsets = writer.finish()
    assert text == "the first office"
    assert offsets.in_source(4, 9) == (4, 8)


def test_pages_without_text_are_told():
    document = flowing()
    document.add_page()
    document.rect(20, 20, 60, 60, style="F")
    document.add_page()
    document.cell(text="The end.")
    page = read_page(bytes(document.output()))
    assert page.notes == ("no text on page 2: a picture, perhaps scanned, or an empty page",)
    place = page.locate(len(page.text) - 4, len(page.text))
    assert (place.page, page.source[place.source_start : place.source_end]) == (3, "end.")


def test_a_scan_is_refused_with_what_to_do():
    document = FPDF()
    document.add_page()
    document.rect(20, 20, 60, 60, style="F")
    with pytest.raises(InputError, match=r"holds no text on 1 page.*scanned.*ocrmypdf"):
        read_page(bytes(document.output()))


def test_an_encrypted_file_is_refused_with_what_to_do():
    document = flowing()
    document.set_encryption(owner_password="owner", user_password="user")
    with pytest.raises(InputError, match=r"encrypted; take the password off"):
        read_page(bytes(document.output()))


def test_a_file_that_may_be_read_but_not_printed_is_read():
    document = flowing()
    document.set_encryption(owner_password="owner", permissions=AccessPermission.none())
    assert read_page(bytes(document.output())).text.startswith("The ferry left")


@pytest.mark.parametrize("data", [b"%PDF-", b"%PDF-1.7\n" + b"\0\xff" * 500, drawn(lines("tea"))[:60]])
def test_a_torn_file_is_refused(tmp_path, data):
    path = tmp_path / "torn.pdf"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"torn\.pdf is not a PDF that can be read"):
        read_page(path)


def test_flipped_bytes_end_in_text_or_an_error():
    data = drawn(lines(*SENTENCES), lines("more"))
    for place in range(9, len(data), 7):
        try:
            page = read_page(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :], kind="pdf")
        except InputError:
            continue
        assert page.offsets.text_length == len(page.text)


def test_threads_take_turns():
    data = bytes(flowing(pages=4).output())
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda _: read_page(data).text, range(8)))
    assert len(set(texts)) == 1
