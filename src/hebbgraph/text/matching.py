"""Known phrases in tokens: leftmost longest, without overlap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from ahocorasick_rs import AhoCorasick, MatchKind

_Value = TypeVar("_Value")


def possible_phrases(tokens: Sequence[str], longest: Mapping[str, int]) -> Iterator[str]:
    """Yield each run of tokens that may be a phrase.

    ``longest`` is the most tokens of a phrase that begins with a token; other tokens begin none.

    >>> list(possible_phrases(["in", "new", "york"], {"new": 3, "york": 1}))
    ['new', 'new york', 'york']
    """
    n = len(tokens)
    for start, token in enumerate(tokens):
        if most := longest.get(token, 0):
            yield token
            for stop in range(start + 2, min(start + most, n) + 1):
                yield " ".join(tokens[start:stop])


class Phrases(Generic[_Value]):
    """Phrases, each with a value, to be found in texts: leftmost longest, without overlap.

    A text is tokens joined by spaces, or several such lines; no phrase goes on in the next.

    >>> phrases = Phrases({"new york": 1, "york": 2})
    >>> phrases.values_in("york in new york"), phrases.spans_in("in new york")
    ([2, 1], [(1, 3, 1)])
    """

    def __init__(self, values: Mapping[str, _Value]) -> None:
        self._values = list(values.values())
        # Each token has spaces of its own, so that a phrase neither ends within a token nor takes
        # the space of the next.
        self._automaton = AhoCorasick(
            list(map(_spaced, values)), matchkind=MatchKind.LeftmostLongest, store_patterns=False
        )

    def values_in(self, text: str) -> list[_Value]:
        """Return the value of each occurrence, in the order of the text."""
        found = self._automaton.find_matches_as_indexes(_spaced(text))
        return [self._values[number] for number, _, _ in found]

    def spans_in(self, text: str) -> list[tuple[int, int, _Value]]:
        """Return each occurrence: its first token, the one after its last, its value."""
        spaced = _spaced(text)
        return [
            (
                spaced.count("  ", 0, start + 1),
                spaced.count("  ", 0, stop) + 1,
                self._values[number],
            )
            for number, start, stop in self._automaton.find_matches_as_indexes(spaced)
        ]


def _spaced(text: str) -> str:
    return f" {text.replace(' ', '  ')} ".replace("\n", " \n ")
