"""Split Markdown or plain text into chunks."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from operator import attrgetter
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import urljoin

from hebbgraph.errors import ParameterError
from hebbgraph.records import Chunk, storable
from hebbgraph.records.base import MAX_ADDRESS, MAX_ADDRESSES, MAX_REFERENCES, MAX_TITLE
from hebbgraph.text.blocks import Page, Section, Span, count_tokens, cut

_DATA = r"data:\w+/[^\s\"'()<>]{64,}+"
#: A data URI with the markup around it, long base64 on one line or many, a mark of encoding.
_BLOB = re.compile(
    rf"<img\b[^<>]{{0,500}}?{_DATA}[^<>]*+>|^ {{0,3}}\[[^\[\]\n]{{1,300}}\]:[ \t]*+{_DATA}"
    rf"|\(<?data:[\w/+.-]{{1,99}};base64,[\w+/=\s]{{64,}}+>?\)|\(?<?{_DATA}>?\)?"
    r"|(?<![\w+/=-])(?:(?:[A-Za-z0-9+/]{60,76}=*\r?\n[ \t]*){8,}+"
    r"(?:[A-Za-z0-9+/]{20,76}=*(?=[\s)]|\Z))?|[A-Za-z0-9+/=_-]{512,}+)|\A\ufeff",
    re.MULTILINE,
)
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:")
_NO_PLACE = ("mailto:", "javascript:", "data:", "tel:", "file:")


@dataclass
class _Group:
    """Neighbouring sections that are one chunk, or are cut together."""

    sections: list[Section]
    tokens: int


@dataclass(frozen=True, kw_only=True)
class Splitter:
    r"""Splits Markdown and plain text into chunks.

    A section becomes one chunk. One with fewer tokens than the least is joined with the next ones
    of its chapter; one with more than the most is cut at the best place that fits: before a
    paragraph, a list item, a code block or table, a sentence, or at worst a word. Code blocks and
    tables are cut only if they alone are too long; each part of a table then begins with its
    header. Images as data URIs and other long base64 are left out.

    Parameters
    ----------
    chunk_tokens : (int, int)
        Least and most tokens of a chunk. A token is up to six characters of a word with its
        punctuation, or one character of a script without spaces. No chunk has more; one has fewer
        if nothing else of its chapter fits.

    Raises
    ------
    ParameterError
        Unless ``1 <= least <= most`` and ``most >= 16``.

    Examples
    --------
    >>> text = "# Ice\n\nIt floats.\n\n## Trade\n\nSee [salt](salt.md). It was shipped far."
    >>> for chunk in Splitter(chunk_tokens=(1, 16)).split(text, address="docs/ice.md"):
    ...     chunk.title, chunk.text[-10:], chunk.addresses, chunk.references
    ('Ice', 'It floats.', ('docs/ice.md#ice',), ())
    ('Ice: Trade', 'ipped far.', ('docs/ice.md#trade',), ('docs/salt.md',))
    """

    chunk_tokens: tuple[int, int] = (200, 1200)

    def __post_init__(self) -> None:
        pair: Any = self.chunk_tokens
        least, most = pair if isinstance(pair, tuple | list) and len(pair) == 2 else (0, 0)
        if not 1 <= least <= most or most < 16:
            raise ParameterError(
                "chunk_tokens is (least, most) with 1 <= least <= most and most >= 16, got "
                f"{pair!r}; (200, 1200) is the default"
            )

    def split(
        self,
        text: str,
        *,
        title: str = "",
        document_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        address: str | None = None,
        anchors: Iterable[tuple[int, str]] = (),
        links: Iterable[tuple[int, str]] = (),
    ) -> list[Chunk]:
        """Return the chunks of a Markdown or plain text, in order.

        Parameters
        ----------
        text : str
        title : str
            Of the document; by default its first heading, if no other has its level.
        document_id : str, optional
        metadata : mapping, optional
            Of each chunk, besides ``headings`` (those above, outermost first), ``position`` (from
            0), ``start`` and ``end``: ``text[start:end]`` is the chunk's text, except for what is
            left out and the repeated header of a table.
        address : str, optional
            The document's path or URL. Chunks are found at its anchors (``a.md#setup``), and
            relative links start from it.
        anchors, links : iterable of (offset, target), optional
            Places (``#setup``) and links of the text besides those that Markdown writes.

        Returns
        -------
        list of Chunk
            A title is the heading, after the document's title unless it contains that. Ids are
            derived from document id, headings and text, so an edit changes no id in other
            sections, except where short sections are now joined differently.

        Raises
        ------
        InvalidChunkError
            If an argument cannot be stored.
        """
        text = storable(text)  # of the same length
        seen = _BLOB.sub(lambda blob: " " * len(blob[0]), text)
        page = Page(seen)
        links, anchors = sorted(links), sorted(anchors)
        title = " ".join(title.split()) or page.title
        chunks, occurrences = list[Chunk](), Counter[str]()
        for group in self._groups(seen, page.sections):
            for start, end, header in self._spans(seen, group):
                end = start + len(seen[start:end].rstrip())
                start = end - len(seen[start:end].lstrip())
                if start == end:
                    continue
                first = bisect_right(group.sections, start, key=attrgetter("start")) - 1
                last = bisect_left(group.sections, end, key=attrgetter("start"))
                inner = group.sections[first:last]
                path = _common_path(inner, title)
                content = header + _BLOB.sub("", text[start:end])
                targets = [*page.links(start, end), *_within(links, start, end)]
                place = {"position": len(chunks), "start": start, "end": end}
                chunk = {
                    "id": _chunk_id([document_id or "", *path, content], occurrences),
                    "text": content,
                    "title": _chunk_title(title, path),
                    "document_id": document_id,
                    "metadata": {**(metadata or {}), "headings": list(path), **place},
                    "addresses": _addresses(address, inner, _within(anchors, start, end)),
                    "references": _first(
                        (_resolved(target, address) for target in targets), MAX_REFERENCES
                    ),
                }
                chunks.append(Chunk.of(chunk))
        return chunks

    def _spans(self, text: str, group: _Group) -> Iterable[Span]:
        if group.tokens <= self.chunk_tokens[1]:
            return [Span(group.sections[0].start, group.sections[-1].end)]
        blocks = (block for section in group.sections for block in section.blocks)
        return cut(text, blocks, *self.chunk_tokens)

    def _groups(self, text: str, sections: Iterable[Section]) -> list[_Group]:
        """Join short sections with the next ones of their chapter, or else with those before."""
        forward: list[_Group] = []
        for section in sections:
            group = _Group([section], count_tokens(text[section.start : section.end]))
            if not (forward and self._join(forward[-1], group, forward[-1].tokens)):
                forward.append(group)
        groups: list[_Group] = []
        for group in forward:
            if not (groups and self._join(groups[-1], group, group.tokens)):
                groups.append(group)
        return groups

    def _join(self, group: _Group, later: _Group, tokens: int) -> bool:
        """Join two groups, one of so many tokens, if it is short; return whether they were."""
        least, most = self.chunk_tokens
        joined = group.tokens + later.tokens
        # What has to be cut anyway takes any number of tokens.
        fits = joined <= most or max(group.tokens, later.tokens) > most
        chapter = group.sections[0].path[:-1]
        in_chapter = later.sections[0].path[: len(chapter)] == chapter
        if tokens >= least or not fits or not in_chapter:
            return False
        group.sections += later.sections
        group.tokens = joined
        return True


def _chunk_id(parts: Iterable[str], occurrences: Counter[str]) -> str:
    key = "\x1f".join(parts)
    occurrences[key] += 1
    numbered = f"{key}\x1f{occurrences[key]}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(numbered).hexdigest()[:32]


def _common_path(sections: Sequence[Section], title: str) -> tuple[str, ...]:
    """Return the headings above all sections that are more than a heading."""
    paths = [s.path for s in sections if len(s.blocks) > 1 or not s.path]
    paths = paths or [section.path for section in sections]
    common = takewhile(lambda names: len(set(names)) == 1, zip(*paths, strict=False))
    return tuple(names[0] for names in common) or (() if title else paths[0])


def _chunk_title(title: str, path: tuple[str, ...]) -> str:
    heading = path[-1] if path else ""
    if not heading or not title:
        return heading or title
    if re.search(rf"(?<!\w){re.escape(title)}(?!\w)", heading, re.IGNORECASE):
        return heading
    return f"{title[: MAX_TITLE - len(heading) - 2]}: {heading}"


def _addresses(
    address: str | None, sections: Iterable[Section], anchors: Iterable[str]
) -> list[str]:
    if not address:
        return []
    page = address.partition("#")[0]
    slugs = (f"{page}#{part.anchor}" if part.anchor else address for part in sections)
    return _first([*slugs, *(_resolved(anchor, address) for anchor in anchors)], MAX_ADDRESSES)


def _within(places: Sequence[tuple[int, str]], start: int, end: int) -> list[str]:
    inside = places[bisect_left(places, (start,)) : bisect_left(places, (end,))]
    return [target for _, target in inside]


def _resolved(target: str, address: str | None) -> str:
    """Return the address that a link of a document leads to; empty if it leads to none."""
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
    is_rooted = path.startswith("/") and not page.startswith("/")  # in the collection
    path = path.lstrip("/") if is_rooted else join(dirname(page), path)
    return normpath(path) + mark + fragment


def _first(addresses: Iterable[str], most: int) -> list[str]:
    """Return the first addresses that a chunk can have."""
    short = (address for address in addresses if address.strip() and len(address) <= MAX_ADDRESS)
    return list(islice(dict.fromkeys(short), most))
