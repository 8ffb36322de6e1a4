r"""Markdown as far as splitting needs it: blocks, the anchors of headings, and links.

Everything takes linear time. Plain text is Markdown with fewer marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from posixpath import dirname, join, normpath
from typing import Literal, NamedTuple
from urllib.parse import urljoin

import regex

from hebbgraph.records.base import MAX_ADDRESS

__all__ = [
    "Block",
    "Section",
    "find_links",
    "read_blocks",
    "read_sections",
    "resolved_link",
    "sole_title",
]

_MOST_HEADING = 200  # characters; a longer line is no heading

_LINE = re.compile(r"^[^\S\n]*+\S[^\n]*+", re.MULTILINE)
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S[^\n]*)")
_UNDERLINE = re.compile(r" {0,3}(?:={2,}|-{2,})\s*")
_FENCE = re.compile(r"[\s>]*+(?:[-*+]\s++|\d{1,9}[.)]\s++)?+(`{3,}+(?=[^`]*$)|~{3,}+)")
_ITEM = re.compile(r"\s*+(?:[-*+•]|\d{1,9}[.)])\s")
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n[\w-]+:[^\n]*\n(?:[^\n]*\n){0,200}?---[ \t]*\r?$", re.M)
_DELIMITERS = frozenset("|-: \t\r")

_HEADING_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_MARKUP = re.compile(r"(?<!\w)(_{1,3})(?=\S)(.*?)(?<=\S)\1(?!\w)|</?[a-zA-Z][^<>]*>|\*+")
_NOT_IN_SLUG = regex.compile(r"[^\p{L}\p{M}\p{N}\p{Pc}\- ]")

_TARGET = r"(?:<([^<>\n]*+)>|((?:[^\s()<>]|\([^\s()<>]*+\))*+))"
_TITLE = r"""(?:\s++(?:"[^"\n]*+"|'[^'\n]*+'))?+\s*+"""
_LINK = re.compile(
    r"(?=[`!\[\]<])(?:`++[^`\n]++`++"  # code
    r"|!\[[^\[\]\n]*+\](?:\([^()\n]*+\)|\[[^\[\]\n]*+\])?+"  # an image
    r"|\[\[(?P<wiki>[^\[\]\n]{1,300})\]\]"
    rf"|\]\(\s*+{_TARGET}{_TITLE}\)"
    r"|<(?P<url>[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]++)>"
    r"|(?P<label>\[(?P<text>[^\[\]]{1,300})\](?:\[(?P<named>[^\[\]]{1,300})\]|\[\])?+)(?![(:]))"
)
_DEFINITION = re.compile(
    r"^ {0,3}\[([^\[\]^][^\[\]]{0,299})\]:[ \t]*+<?([^\s<>]++)>?", re.MULTILINE
)
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:")
_NO_PLACE = ("mailto:", "javascript:", "data:", "tel:", "file:")


class Block(NamedTuple):
    """A block of a text, ``text[start:end]``.

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


def read_blocks(text: str) -> list[Block]:
    r"""Return the blocks of a text, in order; only blank lines lie between them.

    A list has one block for each item. Front matter counts as a fence.

    >>> text = "# The *brain*\n\nIt learns.\n- fast\n- well\n\n```\n# no heading\n\n```\n"
    >>> [(block.kind, block.title or text[block.start : block.end]) for block in read_blocks(text)]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('heading', 'The brain'), ('text', 'It learns.'), ('item', '- fast'), ('item', '- well'),
     ('fence', '```\n# no heading\n\n```')]
    """
    reader = _Reader(text)
    for line in _LINE.finditer(text):
        reader.read(line)
    reader.close()
    return reader.blocks


class _Reader:
    """Adds line by line to the block under way; ``blocks`` are those that have ended."""

    def __init__(self, text: str) -> None:
        self.blocks: list[Block] = []
        self._text = text
        self._open: Block | None = None
        self._last = self._before_last = 0  # start of the last line, end of the one before
        front_matter = _FRONT_MATTER.match(text)
        self._fence = "---" if front_matter else ""

    def close(self) -> None:
        if self._open is not None:
            self.blocks.append(self._open)
            self._open = None

    def read(self, line: re.Match[str]) -> None:
        start, end, content = line.start(), line.end(), line[0]
        if self._fence:
            self._read_fence(start, end, content.strip(" \t\r>"))
            return
        block = self._open
        follows = block is not None and self._text.count("\n", block.end, start) < 2
        if fence := _FENCE.match(content):
            self._begin("fence", start, end)
            self._fence = fence[1]
        elif (heading := _HEADING.fullmatch(content)) and self._is_heading(heading[2]):
            self.close()
            title = _plain(heading[2].rstrip().rstrip("#"))
            self.blocks.append(Block("heading", start, end, len(heading[1]), title))
        elif follows and block is not None and self._underlines(block, content):
            title = _plain(self._text[block.start : block.end])
            level = 1 if "=" in content else 2
            self.blocks.append(Block("heading", block.start, end, level, title))
            self._open = None
        elif follows and block is not None and self._delimits(block, content):
            if block.start < self._last:
                self.blocks.append(block._replace(end=self._before_last))
            self._open = Block("table", self._last, end, head=end)
        elif _ITEM.match(content) or not follows or block is None:
            is_item = _ITEM.match(content) or (content[:2].isspace() and self._after_item())
            self._begin("item" if is_item else "text", start, end)
        elif block.kind == "table" and "|" not in content:
            self._begin("text", start, end)
        else:
            self._before_last = block.end
            self._open = block._replace(end=end)
        self._last = start

    def _begin(self, kind: Literal["text", "item", "fence"], start: int, end: int) -> None:
        self.close()
        self._open = Block(kind, start, end)

    def _read_fence(self, start: int, end: int, content: str) -> None:
        if self._open is None:  # the first line of front matter
            self._begin("fence", start, end)
            return
        self._open = self._open._replace(end=end)
        if len(content) >= len(self._fence) and not content.strip(self._fence[0]):
            self.close()
            self._fence = ""

    def _is_heading(self, title: str) -> bool:
        return len(title) <= _MOST_HEADING and bool(title.strip("# \t\r"))

    def _underlines(self, block: Block, content: str) -> bool:
        if block.kind != "text" or not _UNDERLINE.fullmatch(content):
            return False
        is_one_line = self._text.find("\n", block.start, block.end) < 0
        return is_one_line and self._is_heading(self._text[block.start : block.end])

    def _delimits(self, block: Block, content: str) -> bool:
        """Return whether a line follows the header of a table, as in ``|---|:--:|``."""
        return (
            block.kind == "text"
            and "|" in content
            and "-" in content
            and _DELIMITERS.issuperset(content)
            and "|" in self._text[self._last : block.end]
        )

    def _after_item(self) -> bool:
        block = self._open or (self.blocks[-1] if self.blocks else None)
        return block is not None and block.kind == "item"


def _plain(heading: str) -> str:
    """Return the text of a heading without its markup, as in "The `_x_` of [*Ada*](a.md)"."""
    parts = _HEADING_LINK.sub(r"\1", heading).split("`")
    parts[::2] = (_MARKUP.sub(r"\2", part) for part in parts[::2])  # outside of code
    return " ".join("".join(parts).split())


def read_sections(text: str) -> list[Section]:
    r"""Return the sections of a text, in order; the first may have no heading.

    >>> [(part.path, part.anchor) for part in read_sections("Hi.\n# Ice\n## Trade\n# Salt")]
    [((), ''), (('Ice',), 'ice'), (('Ice', 'Trade'), 'trade'), (('Salt',), 'salt')]
    """
    blocks = read_blocks(text)
    starts = [at for at, block in enumerate(blocks) if block.kind == "heading"]
    anchors = ["", *_heading_anchors(blocks[at].title for at in starts)]
    path: list[Block] = []
    sections = []
    for first, last, anchor in zip([0, *starts], [*starts, len(blocks)], anchors, strict=True):
        if first < last:
            if (heading := blocks[first]).kind == "heading":
                path = [*(above for above in path if above.level < heading.level), heading]
            titles = tuple(above.title for above in path)
            inside = blocks[first:last]
            sections.append(Section(inside[0].start, inside[-1].end, inside, titles, anchor))
    return sections


def sole_title(sections: Iterable[Section]) -> str:
    """Return the first heading if no other has its level, else an empty string."""
    headings = [section.blocks[0] for section in sections if section.path]
    if any(heading.level <= headings[0].level for heading in headings[1:]):
        return ""
    return headings[0].title if headings else ""


def _heading_anchors(titles: Iterable[str]) -> list[str]:
    """Return the anchors that GitHub makes for headings: "set-up-once", "set-up-once-1"."""
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


def find_links(text: str, sections: Iterable[Section]) -> Iterator[tuple[int, str]]:
    r"""Yield the offset and target of each link outside of code.

    Links are ``[text](target)``, ``[[wiki name]]``, ``<https://…>``, and ``[text][label]`` or
    ``[label]`` where the text defines the label. Images are no links.

    >>> text = "See [this](a.md#x), [[Ice trade]], `[no](b.md)` and [that].\n\n[That]: c.md"
    >>> list(find_links(text, read_sections(text)))
    [(9, 'a.md#x'), (20, '[[Ice trade]]'), (52, 'c.md')]
    """
    targets: dict[str, str] = {}
    for label, target in _DEFINITION.findall(text):
        targets.setdefault(_label(label), target)
    for block in (block for section in sections for block in section.blocks):
        if block.kind == "fence":
            continue
        for link in _LINK.finditer(text, block.start, block.end):
            target = link[2] or link[3] or link["url"] or ""
            if link["wiki"]:
                target = link[0]
            elif link["label"]:
                target = targets.get(_label(link["named"] or link["text"]), "")
            if 0 < len(target) <= MAX_ADDRESS:
                yield link.start(), target


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()


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
