"""The text that the extension takes from a page: what a person sees, and each word can be shown where it stands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pocketbert.runtime.manifest import write_manifest
from pocketbert.text.pages.html import read_html
from strange_texts import utf16
from toy_reader import save_reader
from web_extension import Browser, assembled, browser_with

SHADOW = """<div id=host><b slot=name>Ada</b> loose</div><p>after</p><script>
  const root = document.querySelector("#host").attachShadow({ mode: "MODE" });
  root.innerHTML = "<style>p { color: red }</style><p>Hello <slot name=name>nobody</slot>!</p>"
    + "<slot name=other>Nothing else</slot>";
</script>"""
PAGES = {
    "a closed details element": (
        "<details><summary>Where?</summary><p>In Rome.</p></details>",
        "Where?\n\nIn Rome.",
    ),
    "an open shadow tree": (SHADOW.replace("MODE", "open"), "Hello Ada!\n\nNothing else\n\nafter"),
    "a closed shadow tree": (SHADOW.replace("MODE", "closed"), "Hello Ada!\n\nNothing else\n\nafter"),
    "visible children of something hidden": (
        "<p style='visibility:hidden'>no <b style='visibility:visible'>yes</b> no</p>",
        "yes",
    ),
    "letters in another case": ("<p style='text-transform:uppercase'>straße</p>", "straße"),
    "characters that nobody sees": (
        "<p>Donau&shy;dampf&shy;schiff, zero\u200bwidth, \ufeffmark</p>",
        "Donaudampfschiff, zerowidth, mark",
    ),
    "a table": (
        "<table><caption>Towns</caption><tr><th>Town<th>People<tr><td>Lund<br>(south)<td><p>11,000</p><tr><td><td>5</table>",
        "Towns\n\nTown | People\nLund (south) | 11,000\n| 5",
    ),
    "a table for the layout": (
        (
            "<table role=presentation><tr><td>left<td>right</table>"
            "<table><tr><td><table><tr><td>in<td>side</table><td>out</table>"
        ),
        "left\n\nright\n\nin | side\n\nout",
    ),
    "a table made of other elements": (
        (
            "<div style='display:table'><div style='display:table-row'><span style='display:table-cell'>a</span>"
            "<span style='display:table-cell'>b</span></div></div>"
        ),
        "a | b",
    ),
    "broken lines": ("<p>one<br>two<br><br>three<br hidden>!</p>", "one\ntwo\n\nthree!"),
    "frames of the same site": (
        "<p>before</p><iframe srcdoc='<p>inside <b>it</b></p>'></iframe><p>after</p>",
        "before\n\ninside it\n\nafter",
    ),
    "what is not displayed": (
        (
            "<p hidden>no</p><p style='display:none'>no</p><div style='content-visibility:hidden'>no</div>"
            "<dialog>no</dialog><div hidden=until-found>found</div><p style='opacity:0'>fades in</p>"
        ),
        "found\n\nfades in",
    ),
    "decoration": (
        "<p>menu<i aria-hidden=true>expand_more</i></p><div aria-hidden=true><p>behind a dialog</p></div>",
        "menu\n\nbehind a dialog",
    ),
    "what is typed": (
        (
            "<input value=no><textarea>no</textarea><select><option>no</select><p contenteditable>mine</p>"
            "<button>no</button><h2><button>Unfold</button></h2>"
        ),
        "mine\n\nUnfold",
    ),
    "what is no text": (
        (
            "<script>no</script><style>p{}</style><noscript>no</noscript><template>no</template><!-- no -->"
            "<svg><title>no</title><text>no</text></svg>"
            "<math><semantics><mi>x</mi><annotation>no</annotation></semantics></math> yes"
        ),
        "x yes",
    ),
    "white space": (
        "<p>  a \n\t b&nbsp;c <b> d </b> e</p><pre>\n  x  y\n\tz</pre><p style='white-space:pre-line'>p  q\nr</p>",
        "a b\u00a0c d e\n\n  x  y\n\tz\n\np  q\nr",
    ),
    "parts of words": (
        (
            "<p><span style='float:left'>T</span>he <span style='display:inline-block'>f</span>"
            "<span style='display:inline-block'>ox</span> <ruby>漢<rp>(</rp><rt>kan</rt></ruby> H<sub>2</sub>O</p>"
        ),
        "The fox 漢kan H2O",
    ),
    "what is there to be heard": (
        "<p>seen<span style='position:absolute;width:1px;height:1px;overflow:hidden'>heard</span></p>",
        "seen",
    ),
    "blocks and boxes": (
        (
            "<div style='display:flex'><span>one</span><span>two</span></div><div style='display:contents'>three</div>"
            "<ul><li>four<li>five</ul>"
        ),
        "one\n\ntwo\n\nthree\n\nfour\n\nfive",
    ),
    "half of a character": (
        "<p id=p></p><script>p.append('😀 a\\ud800b', 'c\\udc00', '\\ud83d', '\\ude00')</script>",
        "😀 a\ufffdbc\ufffd😀",
    ),
    "a deep tree": (
        (
            "<script>let element = document.body; for (let level = 0; level < 3000; level++)"
            "element = element.appendChild(document.createElement('i')); element.append('deep')</script>"
        ),
        "deep",
    ),
    "plain words without elements": ("Just words.", "Just words."),
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    model = save_reader(tmp_path_factory.mktemp("toy"))
    write_manifest(model)
    with browser_with(assembled(tmp_path_factory.mktemp("extension") / "unpacked", model)) as browser:
        browser.open("<p>The first click is for all pages of a site.</p>")
        yield browser


@pytest.mark.parametrize("name", PAGES)
def test_the_text_is_what_is_seen_and_every_word_can_be_shown(browser: Browser, name: str) -> None:
    html, expected = PAGES[name]
    browser.serve("/unit", f"<!doctype html><title>unit</title><body>{html}")
    browser.visit("/unit")
    assert browser.extract()["text"] == expected
    assert_shown(browser, expected, over="srcdoc" not in html)


def test_showing_opens_what_is_folded(browser: Browser) -> None:
    browser.serve(
        "/unit",
        "<details><summary>a</summary><details><p>b</p></details></details><p hidden=until-found>c</p>",
    )
    browser.visit("/unit")
    text = browser.extract()["text"]
    folded = (
        "[document.querySelectorAll('details[open]').length, document.querySelector('p[hidden]') !== null]"
    )
    assert browser.do("page", expression=folded) == [0, True]
    for letter, state in (("b", [2, True]), ("c", [2, False])):
        place = text.index(letter)
        assert browser.shown([(place, place + 1)]) == [letter]
        assert browser.do("page", expression=folded) == state
        assert browser.do("isInView")


def test_words_are_scrolled_to_inside_boxes_and_frames(browser: Browser) -> None:
    inner = "<p style=height:3000px>top</p><p id=low>low</p>"
    browser.serve(
        "/unit",
        "<p style=height:4000px>first</p><div style='height:200px;overflow:auto'><p style=height:900px>x</p>"
        "<p>boxed</p><p style=height:900px>y</p></div>"
        f"<iframe srcdoc='{inner}'></iframe><p style=height:2000px>last</p>",
    )
    browser.visit("/unit")
    text = browser.extract()["text"]
    place = text.index("boxed")
    browser.shown([(place, place + 5)])
    assert browser.do("isInView")
    box = """(() => {
      const { top, bottom } = document.querySelector("div").getBoundingClientRect();
      return [top, bottom, innerHeight];
    })()"""
    top, bottom, height = browser.do("page", expression=box)
    assert 0 <= (top + bottom) / 2 <= height
    place = text.index("low")
    assert browser.shown([(place, place + 3)]) == ["low"]
    seen = """(() => {
      const frame = document.querySelector("iframe");
      const word = frame.contentDocument.querySelector("#low").getBoundingClientRect();
      const { top } = frame.getBoundingClientRect();
      const isInFrame = word.top >= 0 && word.bottom <= frame.clientHeight;
      return [isInFrame, top + word.top >= 0 && top + word.bottom <= innerHeight];
    })()"""
    assert browser.do("page", expression=seen) == [True, True]


def test_frames_of_other_sites_are_counted_not_read(browser: Browser) -> None:
    browser.serve("/other", "<p>another site's</p>")
    port = browser.do("page", expression="location.port")
    address = f"http://localhost:{port}/other"
    browser.serve(
        "/unit",
        f"<p>mine</p><iframe src={address}></iframe><iframe src={address} width=1 height=1></iframe>"
        "<iframe sandbox srcdoc=no></iframe>",
    )
    browser.visit("/unit")
    report = browser.extract()
    assert (report["text"], report["closedFrames"]) == ("mine", 2)


def test_words_that_are_gone_are_not_shown(browser: Browser) -> None:
    browser.serve("/unit", "<p id=a>one two</p><p id=b>three</p><p id=c>four</p>")
    browser.visit("/unit")
    text = browser.extract()["text"]
    words = [found.span() for found in re.finditer(r"\w+", text)]
    browser.do("page", expression="a.firstChild.data = 'one too'; b.remove(); c.before('new ')")
    assert browser.shown(words) == ["one", None, None, "four"]


def test_a_long_page_is_read_quickly_and_lets_the_page_breathe(browser: Browser) -> None:
    paragraph = "<p>Some <a href=#>linked</a> words of a <b>long</b>, long page, which goes on and on in this way.</p>"
    watch = """<script>
      let longest = 0, last = performance.now();
      setInterval(() => { const now = performance.now(); longest = Math.max(longest, now - last); last = now }, 1);
    </script>"""
    browser.serve("/unit", paragraph * 3600)
    browser.visit("/unit")
    report = browser.extract()
    assert len(report["text"]) > 263_000
    short = report["milliseconds"]
    places = [found.span() for found in re.finditer("long, long", report["text"])]
    some = places[:: len(places) // 10]
    assert browser.shown(some) == ["long, long"] * len(some)
    browser.serve("/unit", paragraph * 15_000 + watch)
    browser.visit("/unit")
    browser.do("page", expression="longest = 0")
    report = browser.extract()
    longest = browser.do("page", expression="longest")
    assert longest < report["milliseconds"] / 2
    assert (
        report["milliseconds"] < 3 * (15_000 / 3600) * short + 200
    )  # were it quadratic, seventeen times as long


def test_a_large_table_is_read_quickly(browser: Browser) -> None:
    times = []
    for rows in (500, 4000):
        browser.serve("/unit", "<table>" + ("<tr>" + "<td>one" * 10) * rows)
        browser.visit("/unit")
        report = browser.extract()
        assert report["text"].count("one") == 10 * rows
        times.append(report["milliseconds"])
    few, many = times
    assert many < 8 * 3 * few + 200  # eight times the rows; were it quadratic, 64 times the time


def test_real_pages(browser: Browser, unpacked: Callable[[str], Path]) -> None:
    pages = sorted(unpacked("pages").glob("*/source.html"))[::12]
    assert len(pages) >= 6
    for page in pages:
        source = page.read_text(encoding="utf-8", errors="replace")
        # Its scripts and pictures are elsewhere; the policy keeps the browser from asking for them, but for links.
        browser.serve(
            "/unit",
            re.sub("<(link|base|meta http-equiv)[^>]*>", "", source, flags=re.IGNORECASE),
            content_security_policy="default-src 'none'; style-src 'unsafe-inline'",
        )
        browser.visit("/unit")
        text = browser.extract()["text"]
        assert text, page
        # Python reads the source, and cannot know what a style sheet hides: nearly the same words.
        ours, theirs = (
            Counter(re.findall(r"\w+", words)) for words in (text, read_html(source, part="all").text)
        )
        assert (ours & theirs).total() > 0.85 * max(ours.total(), theirs.total()), page
        assert_shown(browser, text, every=max(1, len(text) // 600))


def assert_shown(browser: Browser, text: str, *, every: int = 1, over: bool = True) -> None:
    """Words, and stretches over a few of them, are coloured as they stand in the text."""
    words = [found.span() for found in re.finditer(r"\S+", text) if found[0] != "|"]
    stretches = words[::every]
    if over:
        stretches += [(start, end) for (start, _), (_, end) in zip(words, words[3:], strict=False)][::every]
    assert stretches
    places = [(utf16(text, start), utf16(text, end)) for start, end in stretches]
    for (start, end), shown in zip(stretches, browser.shown(places), strict=True):
        assert shown is not None, text[start:end]
        assert squeezed(shown) == squeezed(text[start:end])


def squeezed(text: str) -> str:
    """Without what was dropped, and what may stand between two elements where there is nothing in the page."""
    return re.sub("[\\s|\ufffd\0\u00ad\u200b\u2060\ufeff]", "", text)
