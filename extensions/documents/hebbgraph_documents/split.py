"""Split a Document into chunks: first at headings, then at paragraphs and sentences.

A chunk's ``title`` is the document's, since a title is a strong tag that reaches all chunks which
mention it; "The hippocampus" deserves that, "History" does not. The headings above a chunk stand
in its first line, ``Memory > Long-term memory``, where search and readers see them. Its own
heading is also one of its ``tags``; one that every document has counts little, as for any tag.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count, takewhile
from typing import NamedTuple

from hebbgraph.errors import ParameterError
from hebbgraph.limits import MAX_TAGS
from hebbgraph.records import Chunk
from pydantic import JsonValue

from hebbgraph_documents.convert import Document
from hebbgraph_documents.cut import TokenCounter, cut
from hebbgraph_documents.links import Mark, addresses_at, heading_marks, references_of
from hebbgraph_documents.outline import Heading, clean_text, one_line

__all__ = ["ChunkSettings", "estimate_tokens", "iter_chunks", "split_document"]

_SMALLEST_LIMIT = 16
_BREADCRUMB = " > "
_GAP = "\n\n"
_NUMBER = re.compile(r"(?:\d+(?:\.\d+)*[.)]|\d+(?:\.\d+)+|§+\s*\d+)\s+(?=\S)")
_BARE_NUMBER = re.compile(rf"{_NUMBER.pattern}|\d+\s+(?=\S)")


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens: a quarter of the UTF-8 bytes, rounded up.

    A token is thus four letters of English, two of Russian or Arabic, or 1.3 Chinese characters,
    much as in subword tokenizers.

    Examples
    --------
    >>> estimate_tokens("Synapses learn."), estimate_tokens("突触会学习")
    (4, 4)
    """
    return (len(text.encode("utf-8", "replace")) + 3) // 4


@dataclass(frozen=True, kw_only=True)
class ChunkSettings:
    """The length of chunks, and its measure.

    Parameters
    ----------
    chunk_tokens : (int, int)
        Least and most tokens of a chunk. No chunk is longer. A chunk ends at the first heading or
        paragraph after the least; shorter ones remain where nothing else of the chapter fits.
        The default keeps sections of up to some 270 English words whole.
    count_tokens : callable
        ``str -> int``, such as ``lambda text: len(tokenizer.encode(text))``.

    Raises
    ------
    ParameterError
        Unless 1 <= least <= most and most >= 16.
    """

    chunk_tokens: tuple[int, int] = (200, 400)
    count_tokens: TokenCounter = estimate_tokens

    def __post_init__(self) -> None:
        pair: object = self.chunk_tokens
        least, most = pair if isinstance(pair, tuple | list) and len(pair) == 2 else (0, 0)
        if not 1 <= least <= most or most < _SMALLEST_LIMIT:
            raise ParameterError(
                f"chunk_tokens must be (least, most) with 1 <= least <= most and most >= "
                f"{_SMALLEST_LIMIT}, got {self.chunk_tokens!r}; (200, 400) is the default"
            )

    @property
    def signature(self) -> str:
        """The settings as text, which differs when chunks would."""
        least, most = self.chunk_tokens
        counter = self.count_tokens
        name = getattr(counter, "__qualname__", type(counter).__qualname__)
        return f"{least}-{most}:{counter.__module__}.{name}"


class _Placed(NamedTuple):
    """An anchor or a link, and its offset in a text."""

    offset: int
    mark: Mark


class _Section(NamedTuple):
    """The text between one heading, the last of ``path``, and the next."""

    path: tuple[Heading, ...]
    body: str
    marks: tuple[_Placed, ...] = ()


class _Block(NamedTuple):
    """One section, or several neighbouring ones that were joined."""

    path: tuple[Heading, ...]
    inner: tuple[Heading, ...]
    body: str
    marks: tuple[_Placed, ...] = ()


def split_document(
    document: Document,
    *,
    document_id: str,
    source: str = "",
    settings: ChunkSettings | None = None,
) -> list[Chunk]:
    r"""Split a document into chunks.

    Parameters
    ----------
    document : Document
        From ``read_document`` or ``markdown_document``.
    document_id : str
        At most 512 printable characters.
    source : str
        Stored as ``metadata["source"]``.
    settings : ChunkSettings, optional

    Returns
    -------
    list of Chunk
        In reading order. ``metadata`` holds ``source``, ``position`` (from 0), ``headings``
        (those above the chunk, outermost first, without the document's title), ``media_type``
        and ``content_hash`` (SHA-256 of the text). The id follows from document id, text and,
        for repeated text, a counter, so edits elsewhere in the file change neither the id of a
        chunk nor what was learned about it. ``addresses`` are the document's path and the
        chunk's anchors, ``references`` its links, resolved against that path.

    Examples
    --------
    >>> from hebbgraph_documents.convert import markdown_document
    >>> document = markdown_document("# The brain\n\nIt learns.\n\n## Memory\n\nIt lasts.")
    >>> small = ChunkSettings(chunk_tokens=(1, 16))
    >>> for chunk in split_document(document, document_id="brain.md", settings=small):
    ...     chunk.title, chunk.text, chunk.tags
    ('The brain', 'It learns.', ())
    ('The brain', 'Memory\n\nIt lasts.', ('Memory',))
    """
    return list(iter_chunks(document, document_id=document_id, source=source, settings=settings))


def iter_chunks(
    document: Document,
    *,
    document_id: str,
    source: str = "",
    settings: ChunkSettings | None = None,
) -> Iterator[Chunk]:
    """Yield the chunks of :func:`split_document` one by one."""
    settings = settings or ChunkSettings()
    title = one_line(document.title)
    positions = count()
    seen: Counter[str] = Counter()
    numbering = _numbering(document.headings)
    for block in _merge(_sections(document, settings), settings):
        headings = [heading.text for heading in block.path]
        tags = _tags([*block.path[-1:], *block.inner], title, numbering)
        for text, marks in _texts(block, document.media_type, settings):
            metadata: dict[str, JsonValue] = {
                "source": source,
                "position": next(positions),
                "headings": list(headings),
                "media_type": document.media_type,
                "content_hash": hashlib.sha256(text.encode()).hexdigest(),
            }
            key = "\x1f".join((document_id, text, str(seen[text])))
            seen[text] += 1
            yield Chunk(
                id=hashlib.sha256(key.encode()).hexdigest()[:32],
                text=text,
                title=title,
                metadata=metadata,
                context="",  # the headings stand above the text
                document_id=document_id,
                tags=tags,
                addresses=addresses_at(
                    document_id, (mark.target for mark in marks if mark.is_anchor)
                ),
                references=references_of(
                    document_id, (mark.target for mark in marks if not mark.is_anchor)
                ),
            )


def _sections(document: Document, settings: ChunkSettings) -> list[_Section]:
    """Split the text at its headings, except the document's own title."""
    text = clean_text(document.text)
    # Long headings must leave room for the text below them.
    room = settings.chunk_tokens[1] // 2
    headings = [
        heading for heading in document.headings if settings.count_tokens(heading.text) < room
    ]
    title = one_line(document.title)
    sections: list[_Section] = []
    path: tuple[Heading, ...] = ()
    marks = sorted((*heading_marks(headings), *document.marks), key=lambda mark: mark.line)
    lines = (line for heading in headings for line in (heading.start, heading.stop))
    offset = _line_offsets(text, {*lines, *(mark.line for mark in marks)})
    placed = deque(_Placed(offset[mark.line], mark) for mark in marks)
    start = 0
    for heading in headings:
        sections.append(_section(path, text, start, offset[heading.start], placed))
        start = offset[heading.stop]
        if heading.text == title and heading is document.headings[0]:
            continue
        path = (*(above for above in path if above.level < heading.level), heading)
    sections.append(_section(path, text, start, len(text) + 1, placed))
    following = [section.path for section in sections[1:]] + [()]
    sections_with_text: list[_Section] = []
    waiting: tuple[_Placed, ...] = ()
    for section, after in zip(sections, following, strict=True):
        # Drop a section of headings alone: their paths name it, the next section has its anchors.
        if section.body or (section.path and after[: len(section.path)] != section.path):
            sections_with_text.append(section._replace(marks=(*waiting, *section.marks)))
            waiting = ()
        else:
            waiting = (*waiting, *section.marks)
    return sections_with_text or ([_Section((), title)] if title and headings else [])


def _section(
    path: tuple[Heading, ...], text: str, start: int, stop: int, placed: deque[_Placed]
) -> _Section:
    """Return the section at text[start:stop], and take the marks up to its end."""
    start += len(text[start:stop]) - len(text[start:stop].lstrip("\n"))
    marks = []
    while placed and placed[0].offset < stop:
        at, mark = placed.popleft()
        marks.append(_Placed(max(at - start, 0), mark))
    return _Section(path, _body(text[start:stop]), tuple(marks))


def _line_offsets(text: str, lines: Iterable[int]) -> dict[int, int]:
    """Return the offsets of these lines, without a list of all lines, which may be many."""
    offsets: dict[int, int] = {}
    line, at = 0, 0
    for wanted in sorted(lines):
        while line < wanted and at < len(text):
            at = (text.find("\n", at) + 1) or len(text)
            line += 1
        offsets[wanted] = at
    return offsets


def _body(text: str) -> str:
    return text.strip("\n").rstrip()


def _merge(sections: list[_Section], settings: ChunkSettings) -> Iterator[_Block]:
    """Join short sections with the next ones of the same chapter."""
    least, most = settings.chunk_tokens
    group = _Group()
    block, length = _Block((), (), ""), 0
    for section in sections:
        if group.sections and length < least and group.is_chapter_of(section):
            group.append(section)
            joined = group.block()
            joined_length = settings.count_tokens(_whole(joined))
            if joined_length <= most:
                block, length = joined, joined_length
                continue
        if group.sections:
            yield block
        group = _Group()
        group.append(section)
        block = group.block()
        length = settings.count_tokens(_whole(block))
    if group.sections:
        yield block


class _Group:
    """Neighbouring sections as one text, with the headings between them.

    Headings that all sections share stand above the text, not in it. The text is written anew only
    when a section lacks one of these, so appending takes time linear in the section.
    """

    def __init__(self) -> None:
        self.sections: list[_Section] = []
        self._common: tuple[Heading, ...] = ()
        self._parts: list[str] = []
        self._inner: list[Heading] = []
        self._marks: list[_Placed] = []
        self._length = 0
        self._written: set[int] = set()  # headings, by identity: two may be equal

    def is_chapter_of(self, section: _Section) -> bool:
        chapter = self.sections[0].path[:-1]
        return section.path[: len(chapter)] == chapter

    def append(self, section: _Section) -> None:
        self.sections.append(section)
        if len(self.sections) == 1:
            common = section.path
        else:
            pairs = zip(self._common, section.path, strict=False)
            common = tuple(ours for ours, _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
        if len(self.sections) == 1 or len(common) < len(self._common):
            self._common, self._parts, self._inner = common, [], []
            self._marks, self._length = [], 0
            self._written = set(map(id, common))
            for written in self.sections:
                self._write(written)
        else:
            self._write(section)

    def block(self) -> _Block:
        body = _GAP.join(self._parts)
        return _Block(self._common, tuple(self._inner), body, tuple(self._marks))

    def _write(self, section: _Section) -> None:
        for heading in section.path:
            if id(heading) not in self._written:
                self._written.add(id(heading))
                self._inner.append(heading)
                self._append(f"{'#' * heading.level} {heading.text}")
        self._marks += [_Placed(self._length + at, mark) for at, mark in section.marks]
        if section.body:
            self._append(section.body)

    def _append(self, part: str) -> None:
        self._parts.append(part)
        self._length += len(part) + len(_GAP)


def _breadcrumb(path: tuple[Heading, ...]) -> str:
    return _BREADCRUMB.join(heading.text for heading in path)


def _whole(block: _Block) -> str:
    return "\n\n".join(part for part in (_breadcrumb(block.path), block.body) if part)


def _texts(
    block: _Block, media_type: str, settings: ChunkSettings
) -> Iterator[tuple[str, list[Mark]]]:
    """Yield the text of a block with its marks, cut into several if it is too long."""
    count_tokens, (least, most) = settings.count_tokens, settings.chunk_tokens
    whole = _whole(block)
    if count_tokens(whole) <= most:
        yield whole, [mark for _, mark in block.marks]
        return
    path = block.path
    while len(path) > 1 and count_tokens(_breadcrumb(path)) > most // 2:
        path = path[1:]
    label = f"{_breadcrumb(path)}\n\n" if path else ""

    def count_labelled(text: str) -> int:
        return count_tokens(label + text)

    marks = deque(block.marks)
    above: list[Mark] = []  # the last anchor before a text also leads to it
    for start, stop in cut(
        block.body,
        count_tokens=count_labelled,
        tokens=(least, most),
        markdown=media_type not in ("text/plain", "text/x-rst", "text/x-code"),
    ):
        here: list[Mark] = []
        while marks and marks[0].offset < stop:
            here.append(marks.popleft().mark)
        yield label + block.body[start:stop], [*above, *here]
        above = [mark for mark in here if mark.is_anchor][-1:] or above


def _numbering(headings: Iterable[Heading]) -> re.Pattern[str]:
    """Return the pattern of heading numbers; "1 " is one only if there is also a "2 "."""
    first_words = {heading.text.split()[0] for heading in headings if heading.text.strip()}
    return _BARE_NUMBER if {"1", "2"} <= first_words else _NUMBER


def _tags(headings: list[Heading], title: str, numbering: re.Pattern[str]) -> tuple[str, ...]:
    """Return the headings without numbers, title and repetitions, up to the limit of a chunk."""
    tags: dict[str, str] = {}
    for heading in headings:
        number = numbering.match(heading.text)
        tag = heading.text[number.end() :] if number else heading.text
        if tag.casefold() != title.casefold() and any(map(str.isalpha, tag)):
            tags.setdefault(tag.casefold(), tag)
    return tuple(tags.values())[:MAX_TAGS]
