"""Trees of broken HTML: what is open, what closes it, and what a stray end tag must not close."""

from __future__ import annotations

import pytest

from pocketbert.text.pages.html_tree import Element, Words, parse


@pytest.mark.parametrize(
    ("source", "tree"),
    [
        ("<p>a<p>b<div>c</p>d", "p(a) p(b) div(c d)"),
        ("<p>a<ul><li>b</ul>c", "p(a) ul(li(b)) c"),
        ("<p><button><p>a</button>b", "p(button(p(a)) b)"),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>e", "ul(li(a) li(b ul(li(c))) li(d)) e"),
        ("<dl><dt>a<dd>b<dt>c</dl>", "dl(dt(a) dd(b) dt(c))"),
        ("<select><option>a<option>b<optgroup><option>c", "select(option(a) option(b) optgroup(option(c)))"),
        ("<table><tr><td>a<td>b<tr><th>c</table>d", "table(tr(td(a) td(b)) tr(th(c))) d"),
        ("<table><tbody><tr><td>a<tbody><tr><td>b", "table(tbody(tr(td(a))) tbody(tr(td(b))))"),
        ("<table><tr><td><table><tr><td>a</table>b<td>c", "table(tr(td(table(tr(td(a))) b) td(c)))"),
        ("<div><table><tr><td></div>a</table>b", "div(table(tr(td(a))) b)"),
        ("<b><p>a</b>b</p>c", "b(p(a b) c)"),
        ("<i>a<b>c</i>d", "i(a b(c)) d"),
        ("<a>a<a>b</a>c", "a(a) a(b) c"),
        ("<h1>a<h2>b</h2>", "h1(a) h2(b)"),
        ("<h1><div><h2>a", "h1(div(h2(a)))"),
        ("<ruby>a<rp>b<rt>c", "ruby(a rp(b) rt(c))"),
        ("<svg><g><p>a", "svg(g()) p(a)"),
        ("<svg><foreignObject><p>a</p></foreignObject></svg>b", "svg(foreignobject(p(a))) b"),
        ("<svg><path/><g/></svg>a", "svg(path() g()) a"),
        ("<button><svg></button>a", "button(svg()) a"),
        ("<html><head><title>a</title><body>b</body>c<body>d", "html(head(title(a)) body(b c d))"),
        ("<img>a</img><br/>b</br>", "img() a br() b br()"),
        ("</div></p>a", "a"),
        ("<div/>a", "div(a)"),
    ],
)
def test_trees(source, tree):
    assert drawn(parse(source)) == tree


def drawn(element: Element) -> str:
    return " ".join(
        child.text if isinstance(child, Words) else f"{child.tag}({drawn(child)})"
        for child in element.children
    )
