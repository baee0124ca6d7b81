"""The tags of HTML by what they mean for a text."""

from __future__ import annotations


def _tags(names: str) -> frozenset[str]:
    return frozenset(names.split())


HEADINGS = _tags("h1 h2 h3 h4 h5 h6")
CELLS = _tags("td th")
ROW_GROUPS = _tags("tbody thead tfoot")
TABLE_PARTS = CELLS | ROW_GROUPS | _tags("tr caption colgroup table")
LISTS = _tags("ul ol menu dir")
CODE = _tags("pre listing xmp")
FOREIGN = _tags("svg math")

# How they are written.
VOID = _tags("area base br col embed hr img input link meta param source track wbr")
RAW = _tags("script style xmp iframe noembed noframes title textarea")
DECODED = _tags("title textarea")  # raw, but with character references

# What they end. HTML that breaks out ends an SVG or MathML which nobody closed.
CLOSES_PARAGRAPH = HEADINGS | _tags(
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form header "
    "hgroup hr listing main menu nav ol p pre search section summary table ul xmp"
)
BREAKS_OUT = HEADINGS | _tags(
    "b big blockquote body br center code dd div dl dt em embed head hr i img li listing menu meta nobr ol p pre ruby "
    "s small span strong strike sub sup table tt u ul var"
)

# How they stand on a page.
INLINE = _tags(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp small span strike "
    "strong sub sup time tt u var"
)
WITHIN_LINE = INLINE | _tags("img picture rb rt ruby slot wbr")
BLOCKS = HEADINGS | _tags(
    "address article aside blockquote center dd details dir div dl dt fieldset figcaption figure footer form header hr "
    "li main menu nav ol p pre section table tbody td tfoot th thead tr ul"
)
LINES = BLOCKS | _tags("body caption head html legend optgroup rtc summary")
PARAGRAPHS = HEADINGS | _tags(
    "address article aside blockquote caption details dl fieldset figcaption figure footer form header hgroup hr main "
    "menu nav ol p pre section summary table ul"
)
NOT_TEXT = _tags(
    "annotation annotation-xml audio canvas datalist embed iframe input link meta meter noembed noframes noscript "
    "object option output progress rp script select style svg template textarea title track video"
)
