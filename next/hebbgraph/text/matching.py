"""Known phrases in tokens: leftmost longest, without overlap."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

__all__ = ["Span", "leftmost_longest", "possible_phrases", "prefix", "spans_in"]

Span = tuple[int, int, str]
"""Start, stop and key of an occurrence."""


def possible_phrases(tokens: Sequence[str], longest: Mapping[str, int]) -> Iterator[str]:
    """Yield each run of tokens that may be a phrase.

    ``longest`` is the most tokens of a phrase that begins with a token; other tokens begin none.

    >>> list(possible_phrases(["in", "new", "york"], {"new": 3, "york": 1}))
    ['new', 'new york', 'york']
    """
    n = len(tokens)
    for start, token in enumerate(tokens):
        most = longest.get(token, 0)
        if most:
            yield token
            for stop in range(start + 2, min(start + most, n) + 1):
                yield " ".join(tokens[start:stop])


def prefix(key: str) -> str:
    """Return the first two tokens of a phrase, or its only one.

    >>> prefix("new york city"), prefix("york")
    ('new york', 'york')
    """
    return " ".join(key.split(" ", 2)[:2])


def spans_in(
    tokens: Sequence[str],
    longest: Mapping[str, int],
    prefixes: Container[str],
    known: Container[str],
) -> list[Span]:
    """Return every occurrence of known phrases, from left to right, shorter ones first.

    ``longest`` is as in :func:`possible_phrases`; ``prefixes`` holds the :func:`prefix` of each
    known phrase.

    >>> known = {"new york", "york"}
    >>> spans_in(["in", "new", "york"], {"new": 3, "york": 1}, known, known)
    [(1, 3, 'new york'), (2, 3, 'york')]
    """
    spans = []
    last = len(tokens) - 1
    for start, token in enumerate(tokens):
        if token not in longest:
            continue
        if token in known:
            spans.append((start, start + 1, token))
        if start == last:
            break
        most = longest[token]
        if most > 1 and (key := f"{token} {tokens[start + 1]}") in prefixes:
            if key in known:
                spans.append((start, start + 2, key))
            for stop in range(start + 2, min(start + most, last + 1)):
                key = f"{key} {tokens[stop]}"
                if key in known:
                    spans.append((start, stop + 1, key))
    return spans


def leftmost_longest(spans: Iterable[Span]) -> list[Span]:
    """Choose spans without overlap, from left to right; of those with one start the last.

    >>> leftmost_longest([(1, 2, "new"), (1, 3, "new york"), (2, 3, "york")])
    [(1, 3, 'new york')]
    """
    chosen: list[Span] = []
    end = 0
    for span, following in pairwise((*spans, (-1, -1, ""))):
        if span[0] != following[0] and span[0] >= end:
            chosen.append(span)
            end = span[1]
    return chosen
