r"""A text as blocks: read from Markdown, and cut to size.

markdown-it parses. Plain text is Markdown with fewer marks.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Literal, NamedTuple

import regex
from markdown_it import MarkdownIt
from markdown_it.token import Token

from hebbgraph.text.characters import UNSPACED

_PARSER = MarkdownIt("commonmark").enable("table").disable("html_block")
_PARSER.disable("inline")  # of whole texts; headings and pieces with links are parsed alone
_PARSER.normalizeLink = str  # type: ignore[assignment]  # else umlauts become escapes

_MOST_HEADING = 200  # characters; a longer line is no heading
_LINE_END = re.compile(r"\r\n?|\n")
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n[\w-]+:[^\n]*\n(?:[^\n]*\n){0,200}?---[ \t]*\r?$", re.M)
_KINDS: dict[str, Literal["heading", "text", "fence", "table"]] = {
    "heading_open": "heading",
    "paragraph_open": "text",
    "code_block": "text",  # whatever is indented, code or not
    "hr": "text",
    "fence": "fence",
    "table_open": "table",
}
_NOT_IN_SLUG = regex.compile(r"[^\p{L}\p{M}\p{N}\p{Pc}\- ]")
_DEFINITION = re.compile(r"(?m)^ {0,3}\[[^\[\]\n]++\]:.*$")
_WIKI = re.compile(r"\[\[[^\[\]\n]{1,300}\]\]")

_TOKEN = regex.compile(rf"[{UNSPACED}]\p{{M}}*+|[\S--[{UNSPACED}]]{{1,6}}+", regex.V1)
_ASCII_TOKEN = re.compile(r"\S{1,6}+")
_SENTENCE_END = re.compile(
    r"""(?<![.!?…])[.!?…]++["'”’»)\]*_]*+\s++(?![a-z])|[。！？।॥؟۔]++[」』”’）]*+"""
)
_NEXT_LINE = re.compile(r"\n\s*+")

#: How well a text can be cut before an atom; lower is better.
_HEADING, _PARAGRAPH, _ITEM, _BLOCK, _SENTENCE, _LINE, _WORD, _CHARACTER, _NEVER = range(9)
_LEVELS = {"heading": _HEADING, "text": _PARAGRAPH, "item": _ITEM}
_SENTENCES = ((_SENTENCE_END, _SENTENCE), (_NEXT_LINE, _LINE))
#: Of code: before a line that follows a blank one and is not indented.
_LINES = ((re.compile(r"(?<=\n\n)(?=\S)"), _SENTENCE), (_NEXT_LINE, _LINE))


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

    >>> page = Page("Hi.\n# The *ice*\n## Trade\n- a\n- b\n# Ça va?")
    >>> [(section.path, section.anchor) for section in page.sections]
    [((), ''), (('The ice',), 'the-ice'), (('The ice', 'Trade'), 'trade'), (('Ça va?',), 'ça-va')]
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
            if token.type.startswith("list_item"):
                lists += token.nesting
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
        tokens = self._inline(heading)  # a tag in capitals is a parameter: Optional<T>
        kept = (t.content for t in tokens if t.type != "html_inline" or t.content[1].isupper())
        return " ".join("".join(kept).split()).strip("\u200b\u200c\u200d\u2060\ufeff")

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
    """Return the anchors that GitHub makes for the headings of a document."""
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


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text, much as subword tokenizers count them.

    A token is up to six characters of a word with its punctuation, or one character of a script
    without spaces; three words of English have some four.

    >>> count_tokens("Synapses learn."), count_tokens("突触会学习")
    (3, 5)
    """
    return len(_ASCII_TOKEN.findall(text) if text.isascii() else _TOKEN.findall(text))


class Span(NamedTuple):
    """``text[start:end]``, after the header lines of the table with whose rows it begins."""

    start: int
    end: int
    header: str = ""


class _Atom(NamedTuple):
    """A part that is not cut; ``header`` is that of the table whose rows it holds."""

    start: int
    end: int
    tokens: int
    level: int
    header: str = ""


def cut(text: str, blocks: Iterable[Block], least: int, most: int) -> Iterator[Span]:
    """Cut blocks into spans of at most ``most`` tokens, and ``least`` where possible.

    Of the best places within these limits, the last is chosen: before a heading, a paragraph, a
    list item, a fence or table, a sentence, a line, a word. Fences and tables that fit are not
    cut, nor is a heading from what it stands above.

    >>> text = "Owls hunt voles. They hear well. They fly at night."
    >>> [text[start:end] for start, end, _ in cut(text, [Block("text", 0, 51)], 2, 8)]
    ['Owls hunt voles. They hear well. ', 'They fly at night.']
    """
    atoms = [atom for atom in _atoms(text, blocks, most) if atom.tokens]
    rest, at = sum(atom.tokens for atom in atoms), 0
    while at < len(atoms):
        header = atoms[at].header
        room = most - count_tokens(header)
        if room < atoms[at].tokens:
            header, room = "", most
        stop = len(atoms) if rest <= room else _best_stop(atoms, at, least, room, rest)
        yield Span(atoms[at].start, atoms[stop - 1].end, header)
        rest -= sum(atom.tokens for atom in atoms[at:stop])
        at = stop


def _best_stop(atoms: Sequence[_Atom], at: int, least: int, room: int, rest: int) -> int:
    tokens, best, stop = 0, (True, 0), at + 1
    for after in range(at + 1, len(atoms)):
        tokens += atoms[after - 1].tokens
        if tokens > room:
            break
        is_short = not least <= tokens <= rest - least
        rank = is_short, 0 if is_short else atoms[after].level
        if rank <= best:
            best, stop = rank, after
    return stop


def _atoms(text: str, blocks: Iterable[Block], most: int) -> Iterator[_Atom]:
    follows_heading = False
    for block in blocks:
        level = _NEVER if follows_heading else _LEVELS.get(block.kind, _BLOCK)
        follows_heading = block.kind == "heading"
        start, end = block.start, block.end
        if block.kind in ("text", "item"):
            yield from _split(text, start, end, level, _SENTENCES, most)
        elif count_tokens(text[start:end]) <= most:
            yield _Atom(start, end, count_tokens(text[start:end]), level)
        elif block.kind == "table":
            header = f"{text[start : block.head]}\n"
            yield from _split(text, start, block.head, level, _LINES, most)
            header = header if count_tokens(header) <= most // 2 else ""
            for atom in _split(text, block.head, end, _NEVER, _LINES, most - count_tokens(header)):
                yield atom._replace(header=header)
        else:
            yield from _split(text, start, end, level, _LINES, most)


def _split(
    text: str,
    start: int,
    end: int,
    level: int,
    ends: Sequence[tuple[re.Pattern[str], int]],
    most: int,
) -> Iterator[_Atom]:
    """Split a part at the ends that a pattern finds, and what is too long at the next ones."""
    if not ends:
        yield from _words(text, start, end, level, most)
        return
    (pattern, next_level), *finer = ends
    for stop in [*(found.end() for found in pattern.finditer(text, start, end)), end]:
        tokens = count_tokens(text[start:stop])
        if tokens > most:
            yield from _split(text, start, stop, level, finer, most)
        elif tokens:
            yield _Atom(start, stop, tokens, level)
        level = next_level if tokens else level
        start = stop


def _words(text: str, start: int, end: int, level: int, most: int) -> Iterator[_Atom]:
    """Split what has no other ends before words; a long run without space, anywhere."""
    least, tokens = max(1, most // 16), 0
    for token in _TOKEN.finditer(text, start, end):
        at = token.start()
        is_word = text[at - 1].isspace()
        if tokens >= least and (is_word or tokens >= 2 * least):
            yield _Atom(start, at, tokens, level)
            start, tokens, level = at, 0, _WORD if is_word else _CHARACTER
        tokens += 1
    yield _Atom(start, end, tokens, level)
