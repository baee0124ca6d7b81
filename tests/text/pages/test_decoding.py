"""Bytes to text in any encoding, and the kind of a page by its content and its name."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pocketbert.errors import InputError
from pocketbert.text.pages.decoding import codec, decode
from pocketbert.text.pages.kinds import kind_of

LETTERS = {
    "cp1252": "Der Bürgermeister öffnete die Tür und grüßte die Gäste, die früh über die Brücke kamen.",
    "cp1250": "Wczoraj wieczorem byliśmy w kinie, a później poszliśmy na długi spacer wzdłuż rzeki.",
    "cp1251": "Вчера вечером мы ходили в кино, а потом долго гуляли вдоль реки и говорили о книгах.",
    "koi8-r": "Вчера вечером мы ходили в кино, а потом долго гуляли вдоль реки и говорили о книгах.",
    "cp1253": "Χθες το βράδυ πήγαμε στον κινηματογράφο και μετά περπατήσαμε δίπλα στο ποτάμι.",
    "cp1255": "אתמול בערב הלכנו לקולנוע ואחר כך טיילנו זמן רב לאורך הנהר ודיברנו על ספרים.",
    "cp932": "昨日の夜、私たちは映画館に行き、その後、川沿いを長い間散歩して本について話しました。",
    "euc_jp": "昨日の夜、私たちは映画館に行き、その後、川沿いを長い間散歩して本について話しました。",
    "iso2022_jp": "昨日の夜、私たちは映画館に行き、その後、川沿いを散歩しました。",
    "gb18030": "昨天晚上我们去了电影院，然后沿着河边散步了很长时间，谈论了很多关于书的事情。",
    "big5hkscs": "昨天晚上我們去了電影院，然後沿著河邊散步了很長時間，談論了很多關於書的事情。",
    "cp949": "어제 저녁에 우리는 영화관에 갔다가 강을 따라 오랫동안 산책하며 책에 대해 이야기했습니다.",
    "utf-16-le": "Nobody put a mark before these words, yet they can be read.",
    "utf-16-be": "Nobody put a mark before these words, yet they can be read.",
}


@pytest.mark.parametrize("encoding", LETTERS)
def test_what_nobody_declared_is_guessed(encoding):
    text, used = decode(LETTERS[encoding].encode(encoding))
    assert text == LETTERS[encoding]
    assert used != "utf-8"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_marks_are_obeyed_and_left_out(encoding):
    assert decode("<meta charset=koi8-r>café".encode(encoding))[0] == "<meta charset=koi8-r>café"


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ("<meta charset=iso-8859-1>", "cp1252"),
        ("<META  http-equiv='Content-Type' content='text/html; charset=windows-1251'>", "cp1251"),
        ('<?xml version="1.0" encoding="Shift_JIS"?>', "cp932"),
        ("<!-- x --><meta name=a><meta charset = 'EUC-KR' >", "cp949"),
    ],
)
def test_what_a_page_declares_is_believed(head, encoding):
    text = head + {"cp1252": "naïve “café”", "cp1251": "чай", "cp932": "お茶", "cp949": "차"}[encoding]
    assert decode(text.encode(encoding)) == (text, encoding)


def test_a_header_counts_more_than_the_page():
    data = "<meta charset=koi8-r>чай".encode("cp1251")
    assert decode(data, sent_as="windows-1251") == ("<meta charset=koi8-r>чай", "cp1251")


def test_a_false_declaration_is_seen_through():
    assert decode(b"<meta charset=ascii2>" + "чай".encode())[1] == "utf-8"
    assert decode(b"<meta charset=utf-16>" + "чай".encode())[1] == "utf-8"
    assert decode("чай чай чай".encode(), sent_as="euc-jp")[1] == "utf-8"


def test_torn_text_is_read_as_far_as_it_goes():
    assert decode(("чай " * 50).encode() + b"\xff")[0] == "чай " * 50 + "\ufffd"
    text, used = decode(b"<meta charset=utf-8>caf\xe9 and more")
    assert (text, used) == ("<meta charset=utf-8>caf\ufffd and more", "utf-8")


def test_what_the_user_says_is_obeyed():
    assert decode("чай".encode(), encoding="latin1")[0] != "чай"
    assert decode(codecs.BOM_UTF8 + b"tea", encoding="UTF8") == ("tea", "utf-8")
    with pytest.raises(InputError, match="there is no encoding 'klingon'"):
        decode(b"tea", encoding="klingon")


@pytest.mark.parametrize(
    "label", ["idna", "punycode", "unicode_escape", "rot13", "zip", "utf-7", "undefined", "", "\0", "é" * 99]
)
def test_codecs_that_are_not_for_text_are_none(label):
    assert codec(label) is None


@pytest.mark.parametrize(
    "data", [bytes(range(256)) * 8, b"\0" * 100, b"\x7fELF\x02\x01\x01\0" * 9, b"abc\x01\x02\x03" * 9]
)
def test_binary_data_is_refused(data):
    with pytest.raises(InputError, match="binary"):
        decode(data)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(data=st.binary(max_size=60))
def test_any_bytes_are_text_or_refused(data):
    try:
        text, used = decode(data)
    except InputError:
        return
    assert isinstance(text, str)
    assert codec(used) == used


@pytest.mark.parametrize(
    ("data", "name", "content_type", "kind"),
    [
        (b"%PDF-1.7", None, None, "pdf"),
        (b"\n\n%PDF-1.7", "x.txt", None, "pdf"),
        (b"<!DOCTYPE html><p>", None, None, "html"),
        (b"\xef\xbb\xbf <!-- a --> <!-- b --><?xml version='1'?><HTML lang=en>", None, None, "html"),
        ("<html>".encode("utf-16"), None, None, "html"),
        (b"<p>tea", "page.xhtml", None, "html"),
        (b"# Tea", "README.md", None, "markdown"),
        (b"<p align=center>", "README.MD", None, "markdown"),
        (b"# Tea", "https://example.org/a.md?b=c.html", None, "markdown"),
        (b"tea", "https://example.org/a.md", "text/html; charset=utf-8", "html"),
        (b"<html>", "https://example.org/a", "text/plain", "plain"),
        (b"<html>", "notes.txt", None, "plain"),
        (b"a < b", None, None, "plain"),
        (b"<preface>", None, None, "plain"),
        (b"<!-- never ends", None, None, "plain"),
        (b"", None, None, "plain"),
    ],
)
def test_kinds(data, name, content_type, kind):
    assert kind_of(data, name=name, content_type=content_type) == kind


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PK\x03\x04...", "office or e-book file"),
        (b"\x89PNG\r\n", "a picture"),
        (b"\x1f\x8b\x08", "unpack it first"),
        (b"{\\rtf1", "rich text"),
    ],
)
def test_other_files_are_called_by_their_name(data, reason):
    with pytest.raises(InputError, match=rf"letter\.bin is .*{reason}"):
        kind_of(data, name="letter.bin")


def test_a_false_pdf_is_refused():
    with pytest.raises(InputError, match="called a PDF but is none"):
        kind_of(b"<html>", name="a.pdf")
