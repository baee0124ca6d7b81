"""HTML as the text that a person reads, whatever the markup is like."""

from __future__ import annotations

import pytest

from pocketbert.text.pages import page_from_text

FILLER = "The keeper of the lighthouse counts the ships, writes their names down, and lights the lamp. "


def shown(source: str) -> str:
    return page_from_text(source, kind="html", part="all").text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<h1>Tea</h1><p>Boil\n  water.</p><p>Wait.", "Tea\n\nBoil water.\n\nWait."),
        ("<div>a<div>b</div>c</div>", "a\nb\nc"),
        ("one<br>two<br><br>three<hr>four", "one\ntwo\n\nthree\n\nfour"),
        ("H<sub>2</sub>O is <b>wa</b>ter<i> !</i>", "H2O is water !"),
        ("<dl><dt>Tea<dd>A drink.<dt>Cup<dd>A vessel.</dl>", "Tea\nA drink.\nCup\nA vessel."),
        ("<my-word>one</my-word><my-word>two</my-word>", "one two"),
        ("漢<ruby>字<rp>(</rp><rt>ji</rt><rp>)</rp></ruby>", "漢字ji"),
        ("<math><mi>x</mi><mo>=</mo><mfrac><mn>1</mn><mn>2</mn></mfrac></math>", "x = 1 2"),
        (
            "<details><summary>More</summary>Closed, yet on the page.</details>",
            "More\n\nClosed, yet on the page.",
        ),
        ("<h3><button>Which one?</button></h3><p>This.</p><button>Buy</button>", "Which one?\n\nThis."),
    ],
)
def test_blocks_and_lines(source, text):
    assert shown(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<ul><li>one<li>two<ul><li>inner</ul><li><p>three</ul>", "- one\n- two\n  - inner\n- three"),
        ("<ol start=3><li>c<li value=9>i<li>j</ol>", "3. c\n9. i\n10. j"),
        ("<ol start=x><li value=-1>a</ol><li>loose", "1. a\n\n- loose"),
        ("<ul><li><li> <li>full</ul>", "- full"),
    ],
)
def test_lists(source, text):
    assert shown(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<table><caption>People</caption><tr><th>Name<th>Born<tr><td><p>Ada</p><td>1815</table>",
         "People\n\nName | Born\nAda | 1815"),
        ("In all<table><tr><td><th>2019<th>2020<tr><th>Ships<td>5<td></table>", "In all\n\n| 2019 | 2020\nShips | 5"),
        ("<table><tr><td>a<ul><li>x<li>y</ul><td>b<br>c</table>", "a x y | b c"),
        ("<table role=presentation><tr><td>left<td>right</table>", "left\nright"),
        ("<table><tr><td>menu<td><table><tr><td>a<td>b</table></table>", "menu\n\na | b"),
        (f"<table><tr><td>menu<td>{FILLER * 5}<p>More.</table>", f"menu\n{FILLER * 5}".strip() + "\n\nMore."),
    ],
)  # fmt: skip
def test_tables(source, text):
    assert shown(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<pre>\ndef f():\n\treturn  1\n\n</pre>x  y", "def f():\n\treturn  1\n\nx y"),
        ("<pre>a\r\n  b &lt; c\r\n</pre>", "a\n  b < c"),
        ("<p>5&nbsp;min &nbsp; long&nbsp;</p><p>&nbsp;</p><p>end", "5\u00a0min long\n\nend"),
        ("co&shy;op\u200berate \ufeffnow", "cooperate now"),
        ("caf&eacute &amp;amp; &#8220;tea&#8221; &unknown;", "café &amp; “tea” &unknown;"),
        ("a\0b&#0;", "ab\ufffd"),
    ],
)
def test_white_space_and_characters(source, text):
    assert shown(source) == text


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>no()</script>",
        "<style>p{color:red}</style>",
        "<template><p>no</template>",
        "<noscript>no</noscript>",
        "<p hidden>no</p>",
        "<p aria-hidden=true>no</p>",
        "<p style='color: red; DISPLAY : none'>no</p>",
        "<p style='visibility:hidden'>no</p>",
        "<dialog>no</dialog>",
        "<!-- no -->",
        "<svg><title>no</title><text>no</text></svg>",
        "<select><option>no</select><textarea>no</textarea><button>no</button>",
        "<iframe>no</iframe><object>no</object><video>no</video>",
        "<div class='Cookie-Banner'>no <p>no</div>",
        "<div id=onetrust-consent-sdk>no</div>",
        "<title>no</title>",
    ],
)
def test_what_nobody_sees_is_left_out(hidden):
    assert shown(f"<p>before</p>{hidden}<p>after</p>") == "before\n\nafter"


@pytest.mark.parametrize(
    "visible",
    [
        "<p style='display:block'>yes</p>",
        "<p aria-hidden=false>yes</p>",
        "<p hidden=until-found>yes</p>",
        "<dialog open>yes</dialog>",
        "<div class=cookies-and-cakes>yes</div>",
    ],
)
def test_what_is_seen_stays(visible):
    assert "yes" in shown(visible)


def test_a_page_about_cookie_banners_is_kept():
    assert shown(f"<div id=cookie-policy>{FILLER * 60}</div>").startswith("The keeper")


def test_a_page_that_needs_scripts_shows_its_noscript():
    page = page_from_text("<body><script>draw()</script><noscript>Turn scripts on.</noscript>", kind="html")
    assert page.text == "Turn scripts on."


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>one<p>two</div>three</p>", "one\n\ntwothree"),
        ("<b><p>bold</b> still</p>plain", "bold still\n\nplain"),
        ("<table><tr><td>1<td>2<tr><td>3</table>4", "1 | 2\n3\n\n4"),
        ("<a href=x>one<a href=y>two</a>", "onetwo"),
        ("<body><p>one</body></html>two<body class=again>three", "onetwothree"),
        ("<svg><g><p>text", "text"),
        ("</p></br></table>x</", "x</"),
        ("<h1>one<h2>two", "one\n\ntwo"),
        ("<p>kept <a href='never closed", "kept"),
        ("", ""),
        ("<", "<"),
    ],
)
def test_broken_markup(source, text):
    assert shown(source) == text


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("<head><title> Tea &amp;\n cake </title></head><h1>Other</h1>", "Tea & cake"),
        ("<svg><title>icon</title></svg><h1>The <i>page</i></h1>", "The page"),
        ("<p>nothing", ""),
    ],
)
def test_title(source, title):
    assert page_from_text(source, kind="html").title == title


@pytest.mark.parametrize(
    "unit",
    [
        "<div>", "<p>", "<b>", "<a>", "<ul><li>", "<table><tr><td>", "<blockquote>x", "</div>", "<p>x", "<td>x",
        "<div class='cookie-banner'>", "<button><div></p>", "<svg>", "<select><option>", "<pre>", "<h1>x", "<li>",
    ],
)  # fmt: skip
def test_depth_and_length_come_to_an_end(unit):
    """A parser that looks back over all open elements at each tag would take hours here."""
    page = page_from_text(unit * 20_000 + f"<p>{FILLER}", kind="html")
    assert len(page.text) <= 20_000 * (len(unit) + 2) + len(FILLER)


def test_a_hundred_thousand_open_tags():
    page = page_from_text("<div>" * 100_000 + f"<p>{FILLER}", kind="html")
    assert page.text == FILLER.strip()


def test_a_page_of_too_many_tags_is_read_from_end_to_end(monkeypatch):
    monkeypatch.setattr("pocketbert.text.pages.html.MOST_TAGS", 5)
    source = "<title>no</title><p>a &amp; <b>b</b><p hidden>c<script>no</script><select><option>d"
    page = page_from_text(source, kind="html")
    assert (page.text, page.title) == ("a & b\nc\nd", "")
    assert page.notes == ("so many tags that the page was read from end to end, menus and hidden parts too",)
    place = page.locate(2, 5)
    assert page.source[place.source_start : place.source_end] == "&amp; <b>b"
