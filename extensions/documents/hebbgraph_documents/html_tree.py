"""Parse HTML to a tree, nested as in a browser.

Python's own parser nests every element in the one before until an end tag comes. HTML makes many
end tags optional, so a list of two thousand ``<li>`` would be two thousand levels deep.

References
----------
.. [1] HTML Standard, sections 13.1.2.4 (optional tags) and 13.2.6.4 (tree construction),
   https://html.spec.whatwg.org/multipage/syntax.html#optional-tags
"""

from __future__ import annotations

import warnings
from typing import Any

from bs4 import BeautifulSoup, Tag

__all__ = ["html_tree"]

_MAX_DEPTH = 150
"""Deeper elements become siblings, as in browsers (at 512). Each level takes three stack frames."""

_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "center", "dd", "details", "dialog", "dir",
    "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3",
    "h4", "h5", "h6", "header", "hgroup", "hr", "li", "main", "menu", "nav", "ol", "p", "pre",
    "search", "section", "summary", "table", "ul",
))  # fmt: skip
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_CELLS = frozenset({"caption", "td", "th"})
_ROWS = _CELLS | {"colgroup", "tr"}
_GROUPS = _ROWS | {"tbody", "tfoot", "thead"}
_SCOPE = frozenset({"button", "caption", "html", "object", "table", "td", "template", "th"})
_TABLE = frozenset({"html", "table", "template"})
_NOT_IN_ITEM = _SCOPE | (_BLOCKS - {"address", "div", "p"})

#: Maps a start tag to the open elements that it ends, and to those that stop the search.
_ENDS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    **dict.fromkeys(_BLOCKS, (frozenset({"p"}), _SCOPE)),
    **dict.fromkeys(_HEADINGS, (_HEADINGS | {"p"}, _SCOPE | _BLOCKS)),
    "li": (frozenset({"li", "p"}), _NOT_IN_ITEM),
    **dict.fromkeys(("dd", "dt"), (frozenset({"dd", "dt", "p"}), _NOT_IN_ITEM)),
    **dict.fromkeys(("td", "th"), (_CELLS, _TABLE | {"tr"})),
    "tr": (_ROWS, _TABLE | {"tbody", "tfoot", "thead"}),
    **dict.fromkeys(("tbody", "tfoot", "thead"), (_GROUPS, _TABLE)),
    **dict.fromkeys(("rp", "rt"), (frozenset({"rp", "rt"}), frozenset({"ruby"}))),
    "option": (frozenset({"option"}), frozenset({"select"})),
    "optgroup": (frozenset({"optgroup", "option"}), frozenset({"select"})),
    "a": (frozenset({"a"}), _BLOCKS | _SCOPE),
}


class _Page(BeautifulSoup):
    """A page whose start tags end open elements as in a browser."""

    def handle_starttag(self, name: str, *args: Any, **kwargs: Any) -> Tag | None:
        depth = min(self._depth_for(name), _MAX_DEPTH)
        if depth < len(self.tagStack):
            self.endData()  # flush the text into the elements that end here
            while len(self.tagStack) > depth:
                self.popTag()
        return super().handle_starttag(name, *args, **kwargs)

    def _depth_for(self, name: str) -> int:
        """Return the number of elements, the page included, that stay open at this start tag."""
        depth = len(self.tagStack)
        ends, barriers = _ENDS.get(name, (frozenset(), frozenset()))
        if ends:
            for level in range(len(self.tagStack) - 1, 0, -1):
                if self.tagStack[level].name in ends:
                    depth = level
                elif self.tagStack[level].name in barriers:
                    break
        return depth


def html_tree(page: bytes | str, encoding: str | None = None) -> BeautifulSoup:
    """Parse a page, well-formed or not.

    Examples
    --------
    >>> str(html_tree("<ul><li>coal<li>ice</ul><p>One<p>Two"))
    '<ul><li>coal</li><li>ice</li></ul><p>One</p><p>Two</p>'
    """
    with warnings.catch_warnings():  # about XHTML, and text that looks like a file name
        warnings.simplefilter("ignore")
        return _Page(page, "html.parser", from_encoding=encoding)
