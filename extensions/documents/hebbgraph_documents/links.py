"""The anchors and links of a document.

A mark is an anchor or a link on a line of the text; ``split`` gives it to the chunk with that
line. Links are resolved against the document's path, so they equal the address they lead to.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING, NamedTuple, TypeGuard
from urllib.parse import unquote, urljoin

from hebbgraph.limits import MAX_ADDRESS, MAX_ADDRESSES, MAX_REFERENCES

from hebbgraph_documents.outline import Heading, ParsedMarkdown, inline_parser

if TYPE_CHECKING:
    from markdown_it.token import Token

__all__ = [
    "MAX_MARKS",
    "Mark",
    "addresses_at",
    "heading_marks",
    "is_place",
    "markdown_marks",
    "references_of",
    "resolved",
    "usable",
]

MAX_MARKS = 50_000
"""Only the first marks of a document are read."""

_LONGEST_PARAGRAPH = 20_000  # the parser takes quadratic time for a paragraph of brackets
_MAY_LINK = re.compile(r"\]\(|\]\[|\]:|\[\[|<[a-z]", re.IGNORECASE)
_OPENS = re.compile(r"[\[<]")
_WIKI = re.compile(r"\[\[[^\[\]\n]{1,300}\]\]")
_ID = re.compile(
    r"""<[a-z][^<>]{0,500}?\s(?:id|name)\s*=\s*["']?([^"'\s<>]{1,200})""", re.IGNORECASE
)
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:")
_NO_PLACE = ("mailto:", "javascript:", "data:", "tel:")
_SUFFIX = re.compile(r"\.(?:md|markdown|html?|rst|txt|pdf|docx)$", re.IGNORECASE)
_FOLDER_PAGE = re.compile(r"(?:^|/)(?:index|readme)$", re.IGNORECASE)


class Mark(NamedTuple):
    """An anchor by its name, or a link by its target, on a line of a text (from 0)."""

    line: int
    target: str
    is_anchor: bool


def is_place(text: object) -> TypeGuard[str]:
    """Return whether a document's id is a path or a URL, and so an address.

    >>> [is_place(id) for id in ("docs/a", "a.md", "https://e.org", "4f1c-99", "My notes", None)]
    [True, True, True, False, False, False]
    """
    return isinstance(text, str) and ("/" in text or _SUFFIX.search(text) is not None)


def usable(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """Return the first marks of a document, without those too long for a chunk."""
    short = (mark for mark in marks if 0 < len(mark.target) <= MAX_ADDRESS)
    return tuple(islice(short, MAX_MARKS))


def heading_marks(headings: Sequence[Heading]) -> list[Mark]:
    """Return the anchors that GitHub, mdBook and others make for headings.

    Examples
    --------
    >>> headings = [Heading(1, "Set up, once!", 0, 1), Heading(2, "Set up once", 4, 5)]
    >>> [mark.target for mark in heading_marks(headings)]
    ['set-up-once', 'set-up-once-1']
    """
    seen: Counter[str] = Counter()
    marks = []
    for heading in headings:
        slug = re.sub(r"[^\w\- ]", "", heading.text.casefold()).strip().replace(" ", "-")
        if slug:
            number = f"-{seen[slug]}" if seen[slug] else ""
            marks.append(Mark(heading.start, slug + number, True))
            seen[slug] += 1
    return marks


def markdown_marks(markdown: ParsedMarkdown) -> tuple[Mark, ...]:
    r"""Find the links of a Markdown text, wiki links (``[[Name]]``) included, and its HTML anchors.

    Examples
    --------
    >>> from hebbgraph_documents.outline import parse_markdown
    >>> text = "See [this](a.md#x).\n\n<a id=\"here\"></a> and [[Ice trade]]\n[ref].\n\n[ref]: b.md"
    >>> [tuple(mark) for mark in markdown_marks(parse_markdown(text))]
    [(0, 'a.md#x', False), (2, 'here', True), (2, '[[Ice trade]]', False), (3, 'b.md', False)]
    """
    marks: list[Mark] = []
    # A lone bracket may be a reference, if the document defines any.
    sign = _OPENS if "references" in markdown.definitions else _MAY_LINK
    for block in markdown.blocks:
        line = block.map[0] if block.map else 0
        if block.type == "html_block":
            marks += [Mark(line, anchor, True) for anchor in _ID.findall(block.content)]
        if (
            block.type == "inline"
            and len(block.content) <= _LONGEST_PARAGRAPH
            and sign.search(block.content)
        ):
            (inline,) = inline_parser().parseInline(block.content, markdown.definitions)
            marks += _in_line(inline.children or (), line)
        if len(marks) > MAX_MARKS:
            break
    return usable(marks)


def _in_line(tokens: Iterable[Token], line: int) -> list[Mark]:
    marks = []
    for token in tokens:
        if token.type in {"softbreak", "hardbreak"}:
            line += 1
        elif token.type == "link_open":
            marks.append(Mark(line, str(token.attrGet("href") or ""), False))
        elif token.type == "html_inline":
            marks += [Mark(line, anchor, True) for anchor in _ID.findall(token.content)]
        elif token.type == "text":
            marks += [Mark(line, wiki, False) for wiki in _WIKI.findall(token.content)]
    return marks


def addresses_at(document_id: str, anchors: Iterable[str]) -> tuple[str, ...]:
    """Return the addresses of a chunk: the document's path, and the chunk's anchors.

    One address has no suffix, since links may name a page without it or with another one.
    ``index`` and ``README`` are also the page of their folder.

    Examples
    --------
    >>> addresses_at("docs/setup.md", ["linux"])
    ('docs/setup.md', 'docs/setup', 'docs/setup#linux')
    >>> addresses_at("docs/README.md", [])
    ('docs/README.md', 'docs/README', 'docs')
    """
    page = _page(document_id)
    paths = [_quoted(document_id), page]
    if folder := _FOLDER_PAGE.search(page):
        paths.append(page[: folder.start()] or ".")
    anchored = (_global_address(anchor) or f"{page}#{anchor}" for anchor in anchors)
    return _first_short((*paths, *anchored), MAX_ADDRESSES)


def references_of(document_id: str, targets: Iterable[str]) -> tuple[str, ...]:
    """Return the addresses that links of a document lead to, each once."""
    return _first_short((resolved(target, document_id) for target in targets), MAX_REFERENCES)


def _first_short(addresses: Iterable[str], most: int) -> tuple[str, ...]:
    """Return the first valid addresses, each once."""
    valid = (address for address in dict.fromkeys(addresses) if 0 < len(address) <= MAX_ADDRESS)
    return tuple(islice(valid, most))


def resolved(target: str, document_id: str) -> str:
    """Return the address that a link of a document leads to, or an empty string.

    Examples
    --------
    >>> resolved("../api.html#open", "docs/guide/setup.md"), resolved("#linux", "docs/setup.md")
    ('docs/api#open', 'docs/setup#linux')
    >>> resolved("/b", "https://example.org/a/"), resolved("mailto:jo@example.org", "a.md")
    ('https://example.org/b', '')
    """
    target = target.strip()
    if target.casefold().startswith(_NO_PLACE):
        return ""
    if target.startswith("[[") or _SCHEME.match(target):
        return _global_address(target) or target
    if target.startswith("//"):
        return f"https:{target}"
    if "://" in document_id:
        return urljoin(document_id, target)
    path, mark, fragment = target.partition("#")
    path = unquote(path.partition("?")[0])
    if not path:
        page = _page(document_id)
    elif path.startswith("/"):
        page = _page(path if document_id.startswith("/") else path.lstrip("/"))
    else:
        page = _page(normpath(join(dirname(document_id), path)))
    return f"{page}{mark}{fragment}" if fragment else page


def _global_address(name: str) -> str:
    """Return the address of a label or symbol, the same in all documents; empty for others."""
    if name.startswith("symbol:"):
        return name.removeprefix("symbol:")
    return name if name.startswith("label:") else ""


def _page(path: str) -> str:
    return _quoted(path if "://" in path else _SUFFIX.sub("", path))


def _quoted(path: str) -> str:
    """Return a path, quoted as in links."""
    return path if "://" in path else path.replace("%", "%25").replace("#", "%23")
