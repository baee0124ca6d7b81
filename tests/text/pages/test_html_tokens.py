"""Our tokenizer of HTML beside another implementation of the standard, and in linear time on anything."""

from __future__ import annotations

import time

import pytest
import turbohtml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pocketbert.text.pages.html_tokens import Tag, decode, references, tokens

steady = settings(derandomize=True, deadline=None, max_examples=300)

# No svg, math or noscript: what they mean is decided by the tree, which the other tokenizer works without.
FRAGMENTS = [
    "<", ">", "</", "</>", "a", "b ", "p", "<!--", "-->", "--!>", "<!-->", "-", "!", "<?", "</ x", '"', "'", "=", " ",
    "/", "&amp", "&", "#", "38;", "&#x", "&notit;", "&ampx", "&NotEqualTilde;", "script", "<script>", "</script>",
    "<style>", "</style", "<title>", "</title>", "<textarea>", "</TEXTAREA ", "<![CDATA[", "]]>", "<p>", "<P CLASS=x",
    "<br/>", "\n", "\r\n", "é", "<plaintext>", "<iframe>", "</iframe>", "x=y", "x='<b>'", "\t", "\f", "<xmp>", "</xmp>",
    "<!doctype html>",
]  # fmt: skip
markup = st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join)


@steady
@given(source=markup)
@example("<script><!-- <script> </script> --> </script>x")
@example("<script><!--> </script>x")
@example('<a b="c')
@example("<a b=c/>d")
@example("<a/b=c =d e>f</a g=h>")
def test_tokens_are_those_of_the_standard(source):
    assert list(ours(source)) == list(theirs(source))


def test_places_are_exact():
    source = "a<b class='x>y'>c&lt;</b ><!-- d --><script>e<f</script>g"
    found = [source[token.start : token.end] for token in tokens(source)]
    assert found == ["a", "<b class='x>y'>", "c&lt;", "</b >", "<script>", "e<f", "</script>", "g"]


def test_the_first_of_two_equal_attributes_counts():
    (tag,) = tokens('<p ID=one id="two" Hidden data-x = &amp; >')
    assert tag == Tag("p", {"id": "one", "hidden": "", "data-x": "&"}, 0, 42, is_end=False, closed=False)


def test_drawings_keep_their_own_rules():
    source = "<svg><title/><style>a{}</style><![CDATA[<b>]]></svg><title>c</title>"
    names = [
        token.name if isinstance(token, Tag) else source[token.start : token.end] for token in tokens(source)
    ]
    assert names == ["svg", "title", "style", "a{}", "style", "<b>", "svg", "title", "c", "title"]


def test_html_ends_a_drawing_that_nobody_closed():
    source = "<svg><g><p><script>1<2</script>"
    assert source[list(tokens(source))[4].start :].startswith("1<2</script>")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Tom &amp; Jerry", "Tom & Jerry"),
        ("&eacute;t&eacute", "été"),
        ("&#8364;&#x20AC;&#128;", "€€€"),
        ("&notit; &notin; &co;", "¬it; ∉ &co;"),
        ("&nbsp;&shy;", "\u00a0\u00ad"),
        ("& &; &#; &#x; &1", "& &; &#; &#x; &1"),
    ],
)
def test_references(written, meant):
    assert decode(written) == meant


def test_references_have_places():
    text = "a&lt;b&hellip;c"
    assert [(text[start:end], meaning) for start, end, meaning in references(text)] == [
        ("&lt;", "<"),
        ("&hellip;", "…"),
    ]


@pytest.mark.parametrize(
    "unit",
    [
        "<",
        "</",
        "<!--",
        "<!",
        "<?",
        "<a ",
        '<a x="',
        "<a x='",
        "<![CDATA[",
        "&",
        "&#",
        "&a",
        "<p>",
        "</p>",
        "<script>",
        "<title>",
    ],
)
def test_time_is_linear(unit):
    def seconds(length: int) -> float:
        source = (unit * length)[:length]
        started = time.process_time()
        for _ in tokens(source):
            pass
        decode(source)
        return time.process_time() - started

    seconds(1000)
    few, many = seconds(25_000), seconds(200_000)
    assert many < 8 * 4 * few + 0.2  # eight times the source; were it quadratic, 64 times the time


def ours(source):
    """Names of tags and texts, joined where nothing stands between them."""
    return joined(
        (token.name, token.is_end)
        if isinstance(token, Tag)
        else source[token.start : token.end]
        if token.raw
        else decode(source[token.start : token.end])
        for token in tokens(source)
    )


def theirs(source):
    kinds = turbohtml.TokenType
    return joined(
        token.data if token.type == kinds.TEXT else (token.tag, token.type == kinds.END_TAG)
        for token in turbohtml.tokenize(source)
        if token.type in (kinds.TEXT, kinds.START_TAG, kinds.END_TAG)
    )


def joined(parts):
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
            continue
        if text:
            yield text.replace("\r\n", "\n").replace("\r", "\n")
        text = ""
        yield part
    if text:
        yield text.replace("\r\n", "\n").replace("\r", "\n")
