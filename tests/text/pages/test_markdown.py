"""Markdown as text: marks gone, words and code kept, every word with its place."""

from __future__ import annotations

import time

import pytest

from pocketbert.text.pages import page_from_text


def shown(source: str) -> str:
    return page_from_text(source, kind="markdown").text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("# Tea #\n\nBoil *the* **water**.", "Tea\n\nBoil the water."),
        ("Tea\n===\nand\ncake  \nfirst\\\nsecond", "Tea\n\nand cake\nfirst\nsecond"),
        (
            'See [the docs](https://example.org/x "y") or <https://example.org>.',
            "See the docs or https://example.org.",
        ),
        ("[a][r] [r] ![alt](i.png)\n\n[r]: https://example.org", "a r"),
        ("a_b_c 2 * 3 \\* &amp; &copy; `x  y`", "a_b_c 2 * 3 * & © x y"),
        ("~~gone~~ <b>bold</b> a<br>b <!-- no --> c", "gone bold a\nb c"),
        ("a <script>no</script> b <span hidden>c</span>", "a b c"),
        ("> one\n> two\n>\n> three", "one two\n\nthree"),
        ("---\n\n***", ""),
        ("", ""),
    ],
)
def test_text(source, text):
    assert shown(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("- one\n- two\n  - inner\n- three", "- one\n- two\n  - inner\n- three"),
        ("3. c\n4. d\n\ntext", "3. c\n4. d\n\ntext"),
        ("* a\n\n  b\n* c", "- a\n\nb\n\n- c"),
        ("- [ ] open\n- [x] done", "- [ ] open\n- [x] done"),
    ],
)
def test_lists(source, text):
    assert shown(source) == text


def test_tables():
    source = "| Name | Born |\n|---|--:|\n| *Ada* | 1815 |\n| a \\| b |\n\nafter"
    assert shown(source) == "Name | Born\nAda | 1815\na | b\n\nafter"


def test_code_keeps_its_white_space():
    source = "```python\ndef f():\n    return  1\n\n```\n\n    indented\n      more\n"
    assert shown(source) == "def f():\n    return  1\n\nindented\n  more"


def test_html_blocks_are_read_as_html():
    source = (
        "<div align=center>\n<p>One &eacute;</p>\n<script>no()</script>\n</div>\n\n*two*\n\n<p hidden>no</p>"
    )
    assert shown(source) == "One é\n\ntwo"


@pytest.mark.parametrize("fence", ["---", "+++"])
def test_front_matter_is_left_out_and_gives_the_title(fence):
    sign = ":" if fence == "---" else " ="
    page = page_from_text(
        f'{fence}\ntitle{sign} "Tea time"\ndate: 2026\n{fence}\n# Other\n\ntext', kind="markdown"
    )
    assert (page.title, page.text) == ("Tea time", "Other\n\ntext")
    assert page.locate(0, 5).line == 5


def test_the_first_heading_is_the_title():
    assert page_from_text("## Small\n\n# The *big* `one`\n\n# Next", kind="markdown").title == "The big one"


@pytest.mark.parametrize(
    ("source", "word", "written", "line", "column"),
    [
        ("# # #", "#", "#", 1, 3),
        ("# a # b ##", "a # b", "a # b", 1, 3),
        ("> - x\n>   word", "word", "word", 2, 5),
        ("a|b\n-|-\nword|word \\| c", "word | c", "word \\| c", 3, 6),
        ("[](word) word", "word", "word", 1, 10),
        ("wo**rd** x", "word", "wo**rd", 1, 1),
        ("\t\tword\n\n>\t\tmore", "more", "more", 3, 4),
        ("- ```\n  word\n  ```", "word", "word", 2, 3),
        ("`word`", "word", "word", 1, 2),
        ("> <p>\n> caf&eacute;", "café", "caf&eacute;", 2, 3),
    ],
)
def test_places(source, word, written, line, column):
    page = page_from_text(source, kind="markdown")
    start = page.text.rindex(word)
    place = page.locate(start, start + len(word))
    assert page.source[place.source_start : place.source_end] == written
    assert (place.line, place.column) == (line, column)


def test_nothing_is_lost_however_deep_it_is_nested():
    assert "end" in shown("> " * 30 + "end")
    assert "end" in shown("".join("  " * depth + "- item\n" for depth in range(40)) + "  " * 40 + "- end")
    assert "end" in shown("> " * 5000 + "end")


@pytest.mark.parametrize(
    "unit",
    [
        "*a ",
        "[",
        "![",
        "`",
        "> ",
        "- a\n",
        "<a ",
        "&amp",
        "|a|b|\n|-|-|\n",
        "a\n",
        "\\",
        "_",
        "~",
        "<!--",
        "``` \n",
        "a  \n",
    ],
)
def test_time_is_bounded(unit):
    source = (unit * 6000)[:6000]
    started = time.process_time()
    assert page_from_text(source, kind="markdown").text is not None
    assert time.process_time() - started < 2
