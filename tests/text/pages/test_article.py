"""The article of a web page, and nothing around it: on pages made up here, and on real ones."""

from __future__ import annotations

import importlib
import statistics
from pathlib import Path

import pytest

from pocketbert.text.pages import page_from_text, read_page

STORY = [
    "The ferry left the harbour at noon, two hours late, and nobody on the pier seemed to mind.",
    "By evening the wind had turned, the captain said, and the old engine had begun to cough again.",
    "They reached the island in the dark, tied up at the second pier, and walked to the only inn.",
    "In the morning the harbour master, a woman of eighty, asked them for their papers and for news.",
    "Nothing had come from the mainland for nine days, she told them, except one crate of lemons.",
    "The crate stood open in her office, half empty, and the whole room smelled of summer.",
]
PARAGRAPHS = "".join(f"<p>{sentence}</p>" for sentence in STORY)
MENU = (
    "<ul>"
    + "".join(f"<li><a href='/{word}'>{word}</a></li>" for word in ("Home", "News", "Shop", "Contact"))
    + "</ul>"
)
AROUND = [
    f"<nav>{MENU}</nav>",
    f"<div class='site-header'>{MENU}</div>",
    "<div id='sidebar'><h3>Popular</h3><p>Ten hats that will change your life, says our expert, read now.</p></div>",
    "<div class='share-buttons'><a href='#t'>Tweet</a> <a href='#f'>Share</a></div>",
    "<footer><p>All rights reserved, 2026, by the Harbour Gazette, its owners and their heirs.</p></footer>",
    "<div class='comments'><p>First! What a story, I could not stop reading, thank you so much for it.</p></div>",
    "<div role='dialog'><p>Subscribe to our letter, it is free, and you can leave at any time you like.</p></div>",
    "<form action='/search'><input name='q'><label>Search the archive</label></form>",
    "<aside><p>Also by this author: a book about piers, a book about lemons, and a book about inns.</p></aside>",
]


@pytest.mark.parametrize("clutter", AROUND)
@pytest.mark.parametrize(
    "frame", ["<article>{}</article>", "<div class='post'>{}</div>", "<main><div>{}</div></main>", "{}"]
)
def test_the_story_alone(frame, clutter):
    text = page_from_text(f"<body>{clutter}{frame.format(PARAGRAPHS)}{clutter}", kind="html").text
    assert text == "\n\n".join(STORY)


@pytest.mark.parametrize("clutter", AROUND)
def test_clutter_inside_of_the_article_is_cut_out(clutter):
    source = f"<body><article>{PARAGRAPHS}{clutter}{PARAGRAPHS}</article>"
    assert page_from_text(source, kind="html").text == "\n\n".join(STORY + STORY)


def test_everything_if_asked():
    page = page_from_text(f"<body>{''.join(AROUND)}{PARAGRAPHS}", kind="html", part="all")
    for word in ("Contact", "hats", "Tweet", "rights", "First!", "Subscribe", "archive", "lemons"):
        assert word in page.text


def test_lists_tables_and_headings_of_an_article_stay():
    table = "<h2>Timetable</h2><table><tr><th>Pier<th>Hour<tr><td>2<td>noon</table>"
    extra = f"{table}<ul><li>Bring papers<li>Bring news</ul>"
    text = page_from_text(f"<body><nav>{MENU}</nav><article>{PARAGRAPHS}{extra}</article>", kind="html").text
    assert text.endswith("Timetable\n\nPier | Hour\n2 | noon\n\n- Bring papers\n- Bring news")


def test_a_table_of_facts_stays_though_it_is_full_of_links():
    rows = "".join(
        f"<tr><th>{name}<td><a href=x>{value}</a>" for name, value in (("Port", "Lerwick"), ("Built", "1931"))
    )
    page = page_from_text(
        f"<body><article><table class=infobox>{rows}</table>{PARAGRAPHS}</article>", kind="html"
    )
    assert page.text.startswith("Port | Lerwick\nBuilt | 1931\n\nThe ferry")
    links = "<table><tr><td><a href=x>Lerwick</a><td><a href=y>Bressay</a></table>"
    assert "Lerwick" not in page_from_text(f"<body><article>{links}{PARAGRAPHS}</article>", kind="html").text


def test_a_short_page_is_no_reason_to_read_its_menu():
    text = page_from_text(
        f"<body><nav>{MENU}</nav><div class=sidebar>{MENU}</div><p>{STORY[0]}</p>", kind="html"
    ).text
    assert text == STORY[0]


def test_a_page_of_many_equal_parts_is_read_as_a_whole():
    posts = "".join(
        f"<div class='row'><div class='cell'><p>{sentence} {sentence}</p></div></div>" for sentence in STORY
    )
    text = page_from_text(f"<body><div>{posts}</div>", kind="html").text
    assert all(sentence in text for sentence in STORY)


def test_the_best_of_many_parts_is_not_the_page():
    parts = [
        f"<div><b>{number}</b><div><p>{sentence * 3}</p></div></div>"
        for number, sentence in enumerate(STORY * 2)
    ]
    source = f"<body><div><b>Best</b><div class='content'>{PARAGRAPHS}</div></div>{''.join(parts)}"
    text = page_from_text(source, kind="html").text
    assert all(sentence * 3 in text for sentence in STORY)


def test_halves_of_a_story_are_joined():
    halves = [f"<div class='{name}'>{PARAGRAPHS}</div>" for name in ("upper", "lower")]
    text = page_from_text(f"<body><nav>{MENU}</nav>{halves[0]}<hr>{halves[1]}", kind="html").text
    assert text == "\n\n".join(STORY + STORY)


def test_an_article_that_is_named_like_clutter_is_found_at_the_second_look():
    text = page_from_text(f"<body><div class='comment-list'>{PARAGRAPHS}</div>", kind="html").text
    assert text == "\n\n".join(STORY)


def test_real_pages(unpacked, monkeypatch):
    """Above what the known extractors reach on the pages that ours was not developed on (benchmarks/pages.py)."""
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "benchmarks")
    benchmark = importlib.import_module("pages")
    folders = sorted(path.parent for path in unpacked("pages").glob("*/source.html"))[1::2]
    scores = [
        benchmark.score(read_page(folder / "source.html").text, benchmark.article(folder))[2]
        for folder in folders
    ]
    assert len(scores) == 50
    assert statistics.mean(scores) > 0.97
