"""Known phrases in tokens: leftmost longest, without overlap."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence

__all__ = ["Span", "leftmost_longest", "possible_phrases", "prefix"]

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


def leftmost_longest(
    tokens: Sequence[str],
    longest: Mapping[str, int],
    prefixes: Container[str],
    known: Container[str],
    accept: Callable[[str], bool] | None = None,
) -> list[Span]:
    """Return the known phrases in a text, leftmost longest, without overlap.

    ``longest`` is as in :func:`possible_phrases`; ``prefixes`` holds the :func:`prefix` of each
    known phrase; what ``accept`` rejects counts as unknown.

    >>> known = {"new york", "york"}
    >>> leftmost_longest(["in", "new", "york"], {"new": 3, "york": 1}, known, known)
    [(1, 3, 'new york')]
    """
    spans = []
    end, n = 0, len(tokens)
    for start, token in enumerate(tokens):
        if token not in longest or start < end:
            continue
        best = token if token in known and (accept is None or accept(token)) else ""
        stop = min(start + longest[token], n)
        if stop > start + 1 and (key := f"{token} {tokens[start + 1]}") in prefixes:
            if key in known and (accept is None or accept(key)):
                best = key
            for at in range(start + 2, stop):
                key = f"{key} {tokens[at]}"
                if key in known and (accept is None or accept(key)):
                    best = key
        if best:
            end = start + best.count(" ") + 1
            spans.append((start, end, best))
    return spans
