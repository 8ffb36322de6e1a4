"""Clean a text; find its front matter, headings and title."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = [
    "Heading",
    "ParsedMarkdown",
    "clean_text",
    "first_line_title",
    "inline_parser",
    "markdown_headings",
    "one_line",
    "parse_markdown",
    "pop_front_matter",
    "pop_unseen",
    "sole_title",
]

MAX_HEADING_CHARS = 200
"""A longer "heading" is a marked-up paragraph, and stays in the text."""

_LINE_ENDS = re.compile(r"\r\n|[\r\v\f\x85\u2028\u2029]")
# What hebbgraph.records refuses, and two invisible marks that would split words:
# the byte order mark and the soft hyphen.
_UNSTORABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\u00ad]")
# Nothing but headings, links, anchors, comments and link definitions is read from the blocks.
_MAY_MATTER = re.compile(
    r"^ {0,3}(?:#{1,6}(?:[ \t]|$)|=+[ \t]*$|-+[ \t]*$)|\]\(|\]\[|\]:|\[\[|<[a-z]|<!--",
    re.MULTILINE | re.IGNORECASE,
)
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)?(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_KEY_LINE = re.compile(r"[A-Za-z_][\w .-]*:(?:[ \t]|$)")
_TITLE_LINE = re.compile(r"^title:(.+)$", re.MULTILINE | re.IGNORECASE)
_COMMENTS = re.compile(r"(?:\s*<!--.*?-->)+\s*", re.DOTALL)


@dataclass(frozen=True)
class Heading:
    """One heading: its level (1 is the highest), plain text, and lines [start, stop)."""

    level: int
    text: str
    start: int
    stop: int


def clean_text(text: str) -> str:
    r"""Remove characters that no index takes, and end every line with a line feed.

    This removes control characters other than tab and line feed, lone surrogates, byte order marks
    and soft hyphens. Form feeds and Unicode line separators become line feeds.

    Examples
    --------
    >>> clean_text("one\r\ntwo\x00\ufeff\x0cthree")
    'one\ntwo\nthree'
    """
    return _UNSTORABLE.sub("", _LINE_ENDS.sub("\n", text))


def one_line(text: str, *, limit: int = MAX_HEADING_CHARS) -> str:
    r"""Clean ``text``, join its words by single spaces and cut it to ``limit`` characters.

    Examples
    --------
    >>> one_line("  The\n hippocampus ")
    'The hippocampus'
    """
    return " ".join(clean_text(text).split())[:limit].strip()


def pop_front_matter(text: str) -> tuple[str, str]:
    r"""Remove YAML front matter from a Markdown text, and return its title.

    Front matter is a leading block between ``---`` lines whose first line reads ``key: value``;
    otherwise the first ``---`` is a thematic break.

    Returns
    -------
    tuple of str
        The title (empty when there is none) and the text without the block.

    Examples
    --------
    >>> pop_front_matter("---\ntitle: \"Synapses\"\n---\nThey learn.")
    ('Synapses', 'They learn.')
    >>> pop_front_matter("---\nThey learn.\n---\n")[1]
    '---\nThey learn.\n---\n'
    """
    matter = _FRONT_MATTER.match(text)
    if matter is None:
        return "", text
    block = matter.group(1) or ""
    lines = [line for line in block.split("\n") if line.strip() and not line.startswith("#")]
    if lines and not _KEY_LINE.match(lines[0]):
        return "", text
    title = _TITLE_LINE.search(block)
    value = title.group(1).strip(" \t") if title else ""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    elif value[:1] in {"|", ">"}:  # a block scalar: the title stands on the next line
        value = block[title.end() :].strip().split("\n")[0] if title else ""
    return one_line(value), text[matter.end() :]


class ParsedMarkdown(NamedTuple):
    """A Markdown text, its blocks with their lines in it, and its link definitions."""

    text: str
    blocks: Sequence[Token] = ()
    definitions: dict[str, Any] = {}  # noqa: RUF012


def parse_markdown(text: str) -> ParsedMarkdown:
    """Find the blocks of a Markdown text, unless none of them can matter here.

    Parameters
    ----------
    text : str
        With line feeds only, as :func:`clean_text` returns it. Blank lines at its ends are removed.
    """
    text = text.strip("\n").rstrip()
    if not _MAY_MATTER.search(text):
        return ParsedMarkdown(text)
    definitions: dict[str, Any] = {}
    return ParsedMarkdown(text, _block_parser().parse(text, definitions), definitions)


def pop_unseen(markdown: ParsedMarkdown) -> ParsedMarkdown:
    r"""Remove the lines of a Markdown text that its readers do not see.

    These are HTML comments on lines of their own, and link definitions.

    Examples
    --------
    >>> markdown = parse_markdown("It [learns].\n\n<!-- added: v1 -->\n\n[learns]: a.md")
    >>> text, _, definitions = pop_unseen(markdown)
    >>> text, definitions["references"]["LEARNS"]["href"]
    ('It [learns].', 'a.md')
    """
    lines: list[str | None] = [*markdown.text.split("\n")]
    unseen = 0
    for block in markdown.blocks:
        is_comment = block.type == "html_block" and _COMMENTS.fullmatch(block.content)
        if block.map and (is_comment or block.type == "definition"):
            start, stop = block.map
            lines[start:stop] = [None] * (stop - start)
            unseen += 1
            if is_comment:  # which may stand between two blocks without a blank line
                lines[start] = ""
    if not unseen:
        return markdown
    kept = [number for number, line in enumerate(lines) if line is not None]
    del kept[: next((place for place, number in enumerate(kept) if lines[number]), len(kept))]
    for block in markdown.blocks:
        if block.map:
            block.map = [bisect_left(kept, line) for line in block.map]
    text = "\n".join(str(lines[number]) for number in kept)
    return markdown._replace(text=text.rstrip())


def markdown_headings(markdown: ParsedMarkdown) -> tuple[Heading, ...]:
    r"""Find the headings of a Markdown text, as CommonMark defines them.

    Headings inside code fences, lists and quotations do not count, nor do empty ones or
    ones longer than 200 characters. Their markup is removed.

    Examples
    --------
    >>> text = "# The *brain*\n\n```\n# a comment\n```\n\nMemory\n------\n"
    >>> [(heading.level, heading.text) for heading in markdown_headings(parse_markdown(text))]
    [(1, 'The brain'), (2, 'Memory')]
    """
    headings = []
    for opening, inline in pairwise(markdown.blocks):
        if opening.type != "heading_open" or opening.level or opening.map is None:
            continue
        plain = _plain(inline.content)
        if plain and len(plain) <= MAX_HEADING_CHARS:
            headings.append(Heading(int(opening.tag[1]), plain, opening.map[0], opening.map[1]))
    return tuple(headings)


def sole_title(headings: Sequence[Heading]) -> str:
    """Return the first heading if no other has its level, or an empty string.

    Examples
    --------
    >>> sole_title([Heading(1, "Brain", 0, 1), Heading(2, "Memory", 4, 5)])
    'Brain'
    >>> sole_title([Heading(1, "Part one", 0, 1), Heading(1, "Part two", 4, 5)])
    ''
    """
    if headings and all(heading.level > headings[0].level for heading in headings[1:]):
        return headings[0].text
    return ""


def first_line_title(text: str) -> str:
    r"""Return the first line of a plain text if it looks like a title.

    It must begin with a letter or digit, have at most 100 characters, end without a sentence mark
    or comma, and precede a blank line or a line of ``=`` or ``-``.

    Examples
    --------
    >>> first_line_title("The hippocampus\n\nIt keeps what happened.")
    'The hippocampus'
    >>> first_line_title("It keeps what happened.\n\nIt replays it.")
    ''
    """
    first, _, rest = text.lstrip("\n").partition("\n")
    following = rest.partition("\n")[0].strip()
    title = one_line(first)
    if not title[:1].isalnum() or len(title) > 100 or title[-1] in ".,;:!?。，；：！？؟।":
        return ""
    return title if not following.strip("=-") and rest.strip() else ""


def _plain(markdown: str) -> str:
    """Return the text of one line of Markdown without its markup."""
    (inline,) = inline_parser().parseInline(markdown)
    parts = []
    for token in inline.children or ():
        if token.type in {"text", "code_inline", "image"}:
            parts.append(token.content)
        elif token.type in {"softbreak", "hardbreak"}:
            parts.append(" ")
    return " ".join("".join(parts).split())


@cache
def _block_parser() -> MarkdownIt:
    """Return a parser of blocks, which does not parse the inside of paragraphs."""
    from markdown_it import MarkdownIt

    options = {"inline_definitions": True}  # a token for each, so that its lines are known
    return MarkdownIt("commonmark", options).enable("table").disable("inline")


@cache
def inline_parser() -> MarkdownIt:
    """Return a parser for the inside of paragraphs."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")
