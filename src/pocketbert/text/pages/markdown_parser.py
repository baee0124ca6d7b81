"""The Markdown parser, markdown-it, with its rules wrapped so that every token inside a line keeps its place."""

from __future__ import annotations

import re
from collections.abc import Callable

from markdown_it import MarkdownIt
from markdown_it import rules_inline as rules
from markdown_it.rules_inline import StateInline

Rule = Callable[[StateInline, bool], bool]

PLAIN = re.compile(r"[^\n!#$%&*+\-:<=>@\[\\\]^_`{}~]+")  # what no rule reacts to
DEEPEST = 60  # blocks in blocks; what is deeper the parser would leave out
WRAPPED: dict[str, Rule] = {
    "newline": rules.newline,
    "escape": rules.escape,
    "backticks": rules.backtick,
    "strikethrough": rules.strikethrough.tokenize,
    "emphasis": rules.emphasis.tokenize,
    "link": rules.link,
    "image": rules.image,
    "autolink": rules.autolink,
    "html_inline": rules.html_inline,
    "entity": rules.entity,
}


def parser() -> MarkdownIt:
    """CommonMark with tables and strikethrough; `token.meta["place"]` is the range of a token in its line of text."""
    markdown = MarkdownIt("commonmark", {"maxNesting": DEEPEST})
    markdown.enable(["table", "strikethrough"])
    markdown.disable(["text_join", "fragments_join"])  # joined texts have no one place
    for name, rule in WRAPPED.items():
        markdown.inline.ruler.at(name, _keeping_places(rule))
    markdown.inline.ruler.at("text", _keeping_places(_plain))
    markdown.inline.ruler.push("character", _keeping_places(_character))
    return markdown


def _keeping_places(rule: Rule) -> Rule:
    def kept(state: StateInline, silent: bool) -> bool:
        start, count = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        if not silent:
            if state.pending:
                state.pushPending()
            _keep(state, start, count)
        return True

    return kept


def _keep(state: StateInline, start: int, count: int) -> None:
    tokens = [token for token in state.tokens[count:] if "place" not in token.meta]
    as_written = "".join(token.content for token in tokens) == state.src[start : state.pos]
    for token in tokens:
        end = start + len(token.content) if as_written else state.pos
        token.meta = {**token.meta, "place": (start, end)}
        start = end if as_written else start


def _plain(state: StateInline, silent: bool) -> bool:
    found = PLAIN.match(state.src, state.pos, state.posMax)
    return found is not None and _take(state, found.end(), silent)


def _character(state: StateInline, silent: bool) -> bool:
    """The last rule: a character that means something elsewhere, but not here."""
    return _take(state, state.pos + 1, silent)


def _take(state: StateInline, end: int, silent: bool) -> bool:
    if not silent:
        state.push("text", "", 0).content = state.src[state.pos : end]
    state.pos = end
    return True
