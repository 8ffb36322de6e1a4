"""Cut a section that is too long for one chunk at its paragraphs, sentences and words.

``semantic_text_splitter`` knows blocks of Markdown, and sentences and words of every script. This
module works around three weaknesses: it prefers the edge of a bold word to the end of a sentence;
it takes quadratic time where nothing separates words; and it scans the rest of the text for every
chunk, so a long text is passed to it one window at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from semantic_text_splitter import MarkdownSplitter, TextSplitter

__all__ = ["TokenCounter", "cut"]

TokenCounter = Callable[[str], int]
"""Maps a text to its number of tokens, which must not fall as the text grows."""

Span = tuple[int, int]

_LONGEST_RUN = 2000
# A run without a space or the end of a sentence that is too long for prose.
_LONG_RUN = re.compile(rf"(?<![^\s。！？।؟])[^\s。！？।؟]{{{_LONGEST_RUN},}}")
# Characters of a window: at least these, or so many for each token of a chunk.
_WINDOW = 50_000
_WINDOW_PER_TOKEN = 64
# Chunks at the end of a window that further text may change; they are cut again.
_UNSURE = 4
# The lookbehind makes the search linear in long lines of spaces.
_PARAGRAPH = re.compile(r"(?<![^\S\n])(?:[^\S\n]*\S[^\n]*(?:\n|\Z))+")
_MARKED_LINE = re.compile(r"^[ \t]*(?:[|>]|[-*+•][ \t]|\d+[.)][ \t])", re.MULTILINE)


def cut(
    body: str, *, count_tokens: TokenCounter, tokens: tuple[int, int], markdown: bool
) -> list[Span]:
    """Cut ``body`` into spans of at least ``tokens[0]``, where possible, and at most ``tokens[1]``.

    Spans are in order, do not overlap, and leave out nothing but space. Blocks are kept whole
    first, then sentences, then words. A span that is too short joins the next one, the last the
    one before, if both fit.

    Parameters
    ----------
    body : str
        Without space at its end.
    count_tokens : callable
        ``str -> int``.
    tokens : (int, int)
        Least and most.
    markdown : bool
        Whether to treat list items, tables and code fences as blocks.

    Returns
    -------
    list of (int, int)
        Start and stop of each span.

    Examples
    --------
    >>> body = "Synapses learn. Memories last. Sleep helps."
    >>> spans = cut(body, count_tokens=len, tokens=(1, 20), markdown=True)
    >>> [body[start:stop] for start, stop in spans]
    ['Synapses learn.', 'Memories last.', 'Sleep helps.']
    """
    by_sentence = TextSplitter.from_callback(count_tokens, tokens)
    by_block = MarkdownSplitter.from_callback(count_tokens, tokens) if markdown else by_sentence
    spans: list[Span] = []
    for start, stop in _runs(body):
        for first, last, is_long in _paragraphs(body, start, stop, count_tokens, tokens[1]):
            splitter = by_sentence if is_long else by_block
            piece = body[first:last]
            view = piece.replace("\n", " ") if is_long and _is_wrapped(piece) else piece
            for begin, end in _by_window(splitter, view, _WINDOW_PER_TOKEN * tokens[1]):
                spans.append((first + begin, first + end))
    return _without_short_rests(spans, body, count_tokens, tokens)


def _by_window(splitter: MarkdownSplitter | TextSplitter, text: str, width: int) -> Iterator[Span]:
    """Yield the splitter's spans of ``text`` in linear time.

    Each window begins at the first unsure span of the one before. Spans far enough from the end
    of a window do not depend on further text.
    """
    width = max(width, _WINDOW)
    at = 0
    while len(text) - at > width:
        pieces = splitter.chunk_indices(text[at : at + width])
        if len(pieces) <= _UNSURE:
            width *= 2  # long tokens, or much space: the window holds too few chunks
            continue
        for offset, piece in pieces[:-_UNSURE]:
            yield at + offset, at + offset + len(piece)
        at += pieces[-_UNSURE][0]
    for offset, piece in splitter.chunk_indices(text[at:]):
        yield at + offset, at + offset + len(piece)


def _runs(body: str) -> Iterator[Span]:
    """Yield spans of the body, with overlong runs of characters cut up."""
    end = 0
    for run in _LONG_RUN.finditer(body):
        if run.start() > end:
            yield end, run.start()
        for start in range(run.start(), run.end(), _LONGEST_RUN):
            yield start, min(start + _LONGEST_RUN, run.end())
        end = run.end()
    if end < len(body):
        yield end, len(body)


def _paragraphs(
    body: str, start: int, stop: int, count_tokens: TokenCounter, most: int
) -> Iterator[tuple[int, int, bool]]:
    """Yield paragraphs that are too long for one chunk (True), and the text between (False)."""
    end = start
    for paragraph in _PARAGRAPH.finditer(body, start, stop):
        if count_tokens(paragraph.group()) > most:
            if paragraph.start() > end:
                yield end, paragraph.start(), False
            yield paragraph.start(), paragraph.end(), True
            end = paragraph.end()
    if end < stop:
        yield end, stop, False


def _is_wrapped(paragraph: str) -> bool:
    """Return whether a paragraph is wrapped prose: nearly all lines equally long."""
    # Such lines have 40 characters or more, and all of them 24 on average.
    if 24 * paragraph.count("\n") > len(paragraph) + 24:
        return False
    *lines, _ = paragraph.strip("\n").split("\n")
    width = max(map(len, lines), default=0)
    if not 40 <= width <= 130 or _MARKED_LINE.search(paragraph):
        return False
    return sum(len(line) >= 0.75 * width for line in lines) >= 0.8 * len(lines)


def _without_short_rests(
    spans: list[Span], body: str, count_tokens: TokenCounter, tokens: tuple[int, int]
) -> list[Span]:
    least, most = tokens
    joined_spans: list[Span] = []
    for span in spans:
        if joined_spans:
            joined = (joined_spans[-1][0], span[1])
            is_last = span[1] == len(body)
            short = count_tokens(body[slice(*joined_spans[-1])]) < least or (
                is_last and count_tokens(body[slice(*span)]) < least
            )
            if short and count_tokens(body[slice(*joined)]) <= most:
                joined_spans[-1] = joined
                continue
        joined_spans.append(span)
    return joined_spans
