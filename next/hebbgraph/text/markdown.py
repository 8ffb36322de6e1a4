r"""Markdown as splitting needs it: blocks with their offsets, sections, and links.

markdown-it parses. Plain text is Markdown with fewer marks.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from operator import attrgetter
from posixpath import dirname, join, normpath
from typing import Any, Literal, NamedTuple
from urllib.parse import urljoin

import regex
from markdown_it import MarkdownIt
from markdown_it.token import Token

__all__ = ["Block", "Page", "Section", "resolved_link"]

_PARSER = MarkdownIt("commonmark").enable("table").disable(["code", "html_block"])
_PARSER.disable("inline")  # of whole texts; headings and pieces with links are parsed alone
_PARSER.normalizeLink = str  # type: ignore[assignment]  # else umlauts become escapes

_MOST_HEADING = 200  # characters; a longer line is no heading
_LINE_END = re.compile(r"\r\n?|\n")
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n[\w-]+:[^\n]*\n(?:[^\n]*\n){0,200}?---[ \t]*\r?$", re.M)
_KINDS: dict[str, Literal["heading", "text", "fence", "table"]] = {
    "heading_open": "heading",
    "paragraph_open": "text",
    "hr": "text",
    "fence": "fence",
    "table_open": "table",
}
_NOT_IN_SLUG = regex.compile(r"[^\p{L}\p{M}\p{N}\p{Pc}\- ]")
_DEFINITION = re.compile(r"(?m)^ {0,3}\[[^\[\]\n]++\]:.*$")
_WIKI = re.compile(r"\[\[[^\[\]\n]{1,300}\]\]")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:")
_NO_PLACE = ("mailto:", "javascript:", "data:", "tel:", "file:")


class Block(NamedTuple):
    """A block of a text, ``text[start:end]``; a list has one for each item.

    ``level`` and ``title`` are a heading's; ``head`` is the offset at which the two header lines
    of a table end.
    """

    kind: Literal["heading", "text", "item", "fence", "table"]
    start: int
    end: int
    level: int = 0
    title: str = ""
    head: int = 0


class Section(NamedTuple):
    """A heading, the last of ``path``, and the blocks up to the next one, if there is one."""

    start: int
    end: int
    blocks: list[Block]
    path: tuple[str, ...]
    anchor: str


class Page:
    r"""A parsed text: its sections, in order, of which the first may have no heading.

    ``title`` is the first heading if no other has its level, else an empty string.

    >>> page = Page("Hi.\n# The *ice*\n## Trade\n- a\n- b\n# Salt")
    >>> [(section.path, section.anchor) for section in page.sections]
    [((), ''), (('The ice',), 'the-ice'), (('The ice', 'Trade'), 'trade'), (('Salt',), 'salt')]
    >>> [block.kind for block in page.sections[2].blocks], page.title
    (['heading', 'item', 'item'], '')
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._definitions: dict[str, Any] = {}
        self._blocks = blocks = list(self._read_blocks())
        starts = [at for at, block in enumerate(blocks) if block.kind == "heading"]
        anchors = ["", *_heading_anchors(blocks[at].title for at in starts)]
        path: list[Block] = []
        self.sections: list[Section] = []
        for first, last, anchor in zip([0, *starts], [*starts, len(blocks)], anchors, strict=True):
            if first < last:
                if (heading := blocks[first]).kind == "heading":
                    path = [*(above for above in path if above.level < heading.level), heading]
                titles = tuple(above.title for above in path)
                inside = blocks[first:last]
                section = Section(inside[0].start, inside[-1].end, inside, titles, anchor)
                self.sections.append(section)
        headings = [blocks[at] for at in starts]
        is_sole = not any(later.level <= headings[0].level for later in headings[1:])
        self.title = headings[0].title if headings and is_sole else ""

    def _read_blocks(self) -> Iterator[Block]:
        """Yield the blocks; each goes on to the next one, so that nothing is between them."""
        text = self._text
        front = _FRONT_MATTER.match(text)
        blank = "\n" * len(_LINE_END.findall(front[0])) if front else ""
        parsed = blank + text[front.end() :] if front else text
        leaves = list(self._leaves(_PARSER.parse(parsed, self._definitions)))
        offsets = [0, *(end.end() for end in _LINE_END.finditer(text)), len(text)]
        if text[: offsets[leaves[0].start] if leaves else None].strip():
            leaves.insert(0, Block("text", 0, 0))
        ends = [offsets[leaf.start] for leaf in leaves[1:]] + [len(text)]
        for leaf, end in zip(leaves, ends, strict=False):
            start = offsets[leaf.start]
            head = offsets[leaf.start + 2] if leaf.kind == "table" else start
            yield leaf._replace(
                start=start,
                end=start + len(text[start:end].rstrip()),
                head=start + len(text[start:head].rstrip()),
            )

    def _leaves(self, tokens: list[Token]) -> Iterator[Block]:
        """Yield the blocks that hold no others, with numbers of lines."""
        lists = 0
        for at, token in enumerate(tokens):
            lists += token.nesting if token.type.startswith("list_item") else 0
            if token.type not in _KINDS or token.map is None:
                continue
            kind, level, title = _KINDS[token.type], 0, ""
            if kind == "heading":
                level, title = int(token.tag[1]), self._plain(tokens[at + 1].content)
                is_long = "\n" in tokens[at + 1].content or len(title) > _MOST_HEADING
                if token.level or is_long or not title:
                    kind, level, title = "text", 0, ""
            is_item = lists and kind == "text"
            first, last = token.map
            yield Block("item" if is_item else kind, first, last, level, title)

    def _inline(self, text: str) -> list[Token]:
        tokens: list[Token] = []
        _PARSER.inline.parse(text, _PARSER, self._definitions, tokens)
        return tokens

    def _plain(self, heading: str) -> str:
        """Return the text of a heading without its markup."""
        tokens = self._inline(heading)
        return " ".join("".join(t.content for t in tokens if t.type != "html_inline").split())

    def links(self, start: int, end: int) -> Iterator[str]:
        r"""Yield the targets of links between two offsets, outside of code.

        Images are no links; a wiki name is one.

        >>> text = "See [this](a.md#x), [[Ice trade]], `[no](b.md)` and [that].\n\n[That]: c.md"
        >>> page = Page(text)
        >>> list(page.links(0, len(text)))
        ['a.md#x', '[[Ice trade]]', 'c.md']
        """
        by_start = attrgetter("start")
        first = max(bisect_right(self._blocks, start, key=by_start) - 1, 0)
        for block in self._blocks[first : bisect_left(self._blocks, end, key=by_start)]:
            part = self._text[max(start, block.start) : min(end, block.end)]
            part = _DEFINITION.sub("", part)
            if block.kind == "fence" or not ("[" in part or "<" in part):
                continue
            for token in self._inline(part):
                if token.type == "text":
                    yield from _WIKI.findall(token.content)
                elif token.type == "link_open":
                    yield str(token.attrs["href"])


def _heading_anchors(titles: Iterable[str]) -> list[str]:
    """Return the anchors that GitHub makes for the headings of a document.

    >>> _heading_anchors(["Set up, once!", "Set up once", "Ça va? Über_alles"])
    ['set-up-once', 'set-up-once-1', 'ça-va-über_alles']
    """
    used: dict[str, int] = {}
    anchors = []
    for title in titles:
        anchor = slug = _NOT_IN_SLUG.sub("", title.lower()).replace(" ", "-")
        while anchor in used:
            used[slug] += 1
            anchor = f"{slug}-{used[slug]}"
        used[anchor] = 0
        anchors.append(anchor)
    return anchors


def resolved_link(target: str, address: str | None) -> str:
    """Return the address that a link of a document leads to; empty if it leads to none.

    >>> resolved_link("../api.md#open", "docs/guide/setup.md"), resolved_link("#up", "setup.md")
    ('docs/api.md#open', 'setup.md#up')
    >>> resolved_link("b", "https://example.org/a/"), resolved_link("mailto:jo@a.org", "a.md")
    ('https://example.org/a/b', '')
    """
    page = (address or "").partition("#")[0]
    if target.lower().startswith(_NO_PLACE) or (target.startswith("#") and not page):
        return ""
    if target.startswith("[[") or _SCHEME.match(target):
        return target
    if "://" in page:
        try:
            return urljoin(page, target)
        except ValueError:  # such as an unclosed bracket in the host
            return ""
    path, mark, fragment = target.partition("#")
    if not path:
        return page + target
    if path.startswith("/") and not page.startswith("/"):
        path = path.lstrip("/")  # from the root of the collection
    else:
        path = join(dirname(page), path)
    return normpath(path) + mark + fragment
