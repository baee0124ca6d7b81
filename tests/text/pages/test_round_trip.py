"""Every stretch of a page's text leads back to its source: cut out and stripped of markup, it says the same.

Generated pages say what they say in small letters from a to y; capitals stand in what must not be read. So two texts
are the same when they have the same small letters in the same order.
"""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pocketbert.errors import InputError
from pocketbert.text.pages import page_from_text, read_page

steady = settings(derandomize=True, deadline=None, max_examples=120)

TAG = re.compile(r"<!--.*?-->|</?[a-zA-Z][^>]*>", re.DOTALL)
UNREAD = re.compile(r"<(script|style|template)\b.*?</\1>|<!--.*?-->", re.DOTALL)
ADDED = re.compile(r"-|\||\d+\.")  # marks of list items and dividers of cells are not in the source
UNSEEN = dict.fromkeys(map(ord, "\u00ad\u200b\ufeff\u2060"))
SAID = re.compile(r"[^a-yàéüß漢字]")


def said_by_html(source: str) -> str:
    return SAID.sub("", unescape(TAG.sub("", UNREAD.sub("", source))))


def said_by_text(text: str) -> str:
    return SAID.sub("", text)


words = st.sampled_from([
    "tea", "the cup ", " of\n", "water", " ", "\t", "\r\n", "caf&eacute;", "t&uuml;r", "stra&szlig", "ä", "漢字",
    "&nbsp;", "co&shy;op", "zero\u200bwidth", "&lt;", "&amp;", "&ampere", "&Z;", "a\ufeffb", "\0", "&#233;", "&#xE9",
    "e < f", "&", "👍",
])  # fmt: skip
inline = st.recursive(
    st.lists(words, min_size=1, max_size=4).map("".join),
    lambda inner: st.builds(
        "<{0} Z='Z>'>{1}</{0}>{2}".format,
        st.sampled_from(["b", "i", "a", "span", "sup", "code", "x-y"]),
        inner,
        inner,
    ),
    max_leaves=4,
)
unread = st.sampled_from(
    ["<!-- Z -->", "<script>Z<Z</script>", "<style>Z</style>", "<br>", "<wbr>", "<template>Z</template>"]
)
blocks = st.recursive(
    st.one_of(
        inline,
        unread,
        st.builds("<p>{}".format, inline),
        st.builds("<h2>{}</h2>".format, inline),
        st.builds("<pre>\n{}</pre>".format, inline),
        st.builds("<ul><li>{}<li>{}</ul>".format, inline, inline),
        st.builds("<table><tr><th>{}<td>{}<tr><td>{}</table>".format, inline, inline, inline),
    ),
    lambda inner: st.builds(
        "<{0}>{1}{2}</{0}>".format, st.sampled_from(["div", "section", "blockquote", "article"]), inner, inner
    ),
    max_leaves=6,
)
pages = st.lists(blocks, max_size=4).map("".join)
broken = st.lists(
    st.sampled_from([
        "<", ">", "</", "p", "b ", "<p>", "</p>", "<td>", "<table>", "<!--", "&lt", "x", "\n", "<pre>", "</pre>",
        "<li>", '"', "=", "<svg>", "\r", "&shy;", "<br>",
    ]),
    max_size=20,
).map("".join)  # fmt: skip


@steady
@given(source=pages, data=st.data())
def test_html(source, data):
    page = page_from_text(source, kind="html", part=data.draw(st.sampled_from(["all", "article"])))
    check_stretches(page, said_by_html, data)
    if page.text and data.draw(st.booleans()):
        whole = page_from_text(source, kind="html", part="all")
        assert said_by_text(whole.text) == said_by_html(source)


@steady
@given(source=broken)
def test_broken_html_has_places_too(source):
    check_places(page_from_text(source, kind="html", part="all"))


marked = st.recursive(
    st.sampled_from([
        "tea", "the cup", "caf&eacute;", "t&#252;r", r"\*", r"\_", "a_b", "2 * 3", "&", "&Z;", "`a  b`", "` c `",
        "``d ` e``", "![Z](Z)", "<b>f</b>", "g<br>h", "  \n", "\n", "\\\n", "<!-- Z -->", "漢字", "x\u200by", "[", "](",
    ]),
    lambda inner: st.one_of(
        st.builds("*{}*".format, inner),
        st.builds("**{}**".format, inner),
        st.builds("~~{}~~".format, inner),
        st.builds("[{}](Z)".format, inner),
        st.builds('[{}](<Z Z> "Z")'.format, inner),
        st.builds("[{}][Z]".format, inner),
        st.builds("{} {}".format, inner, inner),
        st.builds("{}{}".format, inner, inner),
    ),
    max_leaves=5,
)  # fmt: skip
cell = marked.map(lambda text: text.replace("\n", " ").replace("|", "")).map(str.strip)
leaf = st.one_of(
    marked,
    marked.map(lambda text: f"## {' '.join(text.split())} ##"),
    marked.map(lambda text: f"{text}\n==="),
    st.builds("| {} | {} |\n|---|:-:|\n| {} | a\\|b |\n{} | c".format, cell, cell, cell, cell),
    st.builds("```Z\n{}\n```".format, st.sampled_from(["a\n  b", "\tc", "*d*\n\n e", "```"])),
    st.just("    a\n\tb\n\n      c"),
    st.just("<div>\n  a <i>b</i>\n<script>Z</script>\n</div>"),
    st.just("---"),
    st.just("[Z]: Z 'Z'"),
)
documents = st.recursive(
    st.lists(leaf, min_size=1, max_size=3).map("\n\n".join),
    lambda inner: st.one_of(
        inner.map(lambda text: "\n".join(f"> {line}" for line in text.split("\n"))),
        inner.map(lambda text: "\n".join(f">{line}" for line in text.split("\n"))),
        inner.map(lambda text: "- " + text.replace("\n", "\n  ")),
        inner.map(lambda text: "1)\t" + text.replace("\n", "\n\t")),
        st.builds("{}\n\n{}".format, inner, inner),
    ),
    max_leaves=4,
)


@settings(steady, max_examples=200)
@given(source=documents, newline=st.sampled_from(["\n", "\r\n", "\r"]))
def test_markdown(source, newline):
    source = source.replace("\n", newline)
    page = page_from_text(source, kind="markdown")
    check_places(page)
    html = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(source)
    assert said_by_text(page.text) == said_by_text(page_from_text(html, kind="html", part="all").text)


@steady
@given(text=st.text(st.characters(exclude_categories=())), data=st.data())
def test_plain(text, data):
    page = page_from_text(text)
    assert page.text == text
    check_stretches(page, said_by_text, data)


def test_real_pages(unpacked):
    for folder in sorted(unpacked("pages").iterdir())[::3]:
        if (folder / "source.html").exists():
            page = read_page(folder / "source.html")
            check_order(page)
            for found in list(re.finditer(r"\S+", page.text))[::40]:
                place = page.locate(*found.span())
                source = page.source[place.source_start : place.source_end]
                there = unescape(TAG.sub("", UNREAD.sub("", source))).translate(UNSEEN)
                assert "".join(there.split()) == found[0] or ADDED.fullmatch(found[0])


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 1), (0, 99)])
def test_a_stretch_outside_of_the_page_is_refused(start, end):
    with pytest.raises(InputError, match="not in this page; its text has 3"):
        page_from_text("tea").locate(start, end)


def test_lines_and_columns_count_from_one():
    page = page_from_text("<p>one\r\n<p>two\n\n  <p>th&#114;ee", kind="html")
    place = page.locate(page.text.index("three"), len(page.text))
    assert (place.line, place.column, place.page) == (4, 6, None)
    assert page.source[place.source_start : place.source_end] == "th&#114;ee"


def test_an_empty_stretch_has_a_place():
    page = page_from_text("<p>one<p>two", kind="html")
    assert page.locate(5, 5).source_start == page.source.index("two")
    assert page.locate(8, 8).source_start == len(page.source)
    assert page_from_text("", kind="html").locate(0, 0).source_end == 0


def check_stretches(page, said, data):
    check_order(page)
    start = data.draw(st.integers(0, len(page.text)))
    end = data.draw(st.integers(start, len(page.text)))
    place = page.locate(start, end)
    assert said(page.source[place.source_start : place.source_end]) == said_by_text(page.text[start:end])


def check_places(page):
    """For sources whose stretches cannot be read on their own: every letter leads to itself."""
    check_order(page)
    for index, letter in enumerate(page.text):
        place = page.locate(index, index + 1)
        written = page.source[place.source_start : place.source_end]
        if letter.isalpha():
            assert letter in (written, unescape(written)), (letter, written)


def check_order(page):
    """Places only ever grow, and never leave the source."""
    offsets = page.offsets
    edges = [edge for pair in zip(offsets.source_starts, offsets.source_ends, strict=True) for edge in pair]
    assert edges == sorted(edges)
    assert not edges or (edges[0] >= 0 and edges[-1] <= len(page.source))
    assert page.text == page.text.strip("\n") or page.kind == "plain"
