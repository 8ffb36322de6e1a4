"""Known phrases in tokens: leftmost longest, without overlap."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

__all__ = ["held_phrases", "possible_phrases"]


def possible_phrases(tokens: Sequence[str], longest: Mapping[str, int]) -> Iterator[str]:
    """Yield each run of tokens that may be a phrase.

    Parameters
    ----------
    tokens : sequence of str
    longest : mapping of str to int
        The most tokens of a phrase that begins with a token; other tokens begin none.

    Examples
    --------
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


def held_phrases(
    tokens: Sequence[str], longest: Mapping[str, int], known: Container[str]
) -> list[tuple[int, int, str]]:
    """Return start, stop and key of the known phrases in tokens, from left to right.

    Where several begin, the longest counts, and the search goes on after it.

    Examples
    --------
    >>> held_phrases(["in", "new", "york"], {"new": 3, "york": 1}, {"new york", "york"})
    [(1, 3, 'new york')]
    """
    held = []
    start, n = 0, len(tokens)
    while start < n:
        step = 1
        for size in range(min(longest.get(tokens[start], 0), n - start), 0, -1):
            key = " ".join(tokens[start : start + size]) if size > 1 else tokens[start]
            if key in known:
                held.append((start, start + size, key))
                step = size
                break
        start += step
    return held
