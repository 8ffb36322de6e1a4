"""Cut a section that is too long for one chunk, where it can be cut best."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import regex

from hebbgraph.text.characters import UNSPACED
from hebbgraph.text.markdown import Block

__all__ = ["Span", "count_tokens", "cut"]

_TOKEN = regex.compile(rf"[{UNSPACED}]\p{{M}}*+|[\S--[{UNSPACED}]]{{1,6}}+", regex.V1)
_ASCII_TOKEN = re.compile(r"\S{1,6}+")
_SENTENCE_END = re.compile(
    r"""(?<![.!?…])[.!?…]++["'”’»)\]*_]*+\s++(?![a-z])|[。！？।॥؟۔]++[」』”’）]*+"""
)
_LINE_END = re.compile(r"\n\s*+")

#: How well a text can be cut before an atom; lower is better.
_HEADING, _PARAGRAPH, _ITEM, _BLOCK, _SENTENCE, _LINE, _WORD, _CHARACTER, _NEVER = range(9)
_LEVELS = {"heading": _HEADING, "text": _PARAGRAPH, "item": _ITEM}
_SENTENCES = ((_SENTENCE_END, _SENTENCE), (_LINE_END, _LINE))
_LINES = ((_LINE_END, _SENTENCE),)


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
            for atom in _split(text, block.head, end, _NEVER, _LINES, most):
                yield atom._replace(header=header if count_tokens(header) <= most // 2 else "")
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
