"""Names of one thing in several languages.

Names belong together if the user's glossary says so, or if they are written alike in two scripts,
or in German with and without umlauts ("Öhlmann", "Oehlmann"). Alias edges (:mod:`.aliases`) join
their tags, and a question that uses one of the names finds the tags of the others, even if no chunk
uses the question's name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.text import phrase_key

__all__ = ["ForeignNames", "glossary_groups", "script_pairs", "umlaut_pairs"]

_SHORTEST = 4  # letters; shorter names coincide by chance
_SHORTEST_GERMAN = 6  # letters; "poet" is not "pot"
_LARGEST_GROUP = 8
_LONGEST_NAME = 7  # words

_LATIN = {
    **dict(zip("абвгдезиклмнопрстуфыэіґ", "abvgdeziklmnoprstufieig", strict=True)),
    "ж": "zh", "й": "i", "х": "h", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "sh", "ъ": "", "ь": "",
    "ю": "iu", "я": "ia", "є": "ie", "ї": "i",
    **dict(zip("αβγδεζηικλμνοπρστυω", "avgdeziiklmnoprstio", strict=True)),
    "ς": "s", "θ": "th", "ξ": "x", "φ": "f", "χ": "h", "ψ": "ps",
}  # fmt: skip
_TABLE = str.maketrans(_LATIN)
#: Different spellings of the same sound.
_ALIKE = (
    (re.compile("[yj]"), "i"), (re.compile("kh"), "h"), (re.compile("ph"), "f"),
    (re.compile("th"), "t"), (re.compile("s?ch|sh|zh"), "s"), (re.compile("ks"), "x"),
    (re.compile("ck"), "k"), (re.compile("w"), "v"), (re.compile("tz"), "ts"),
    (re.compile(r"(\w)\1+"), r"\1"),
)  # fmt: skip
#: "ue" in "neue", "quelle" and "bauer" is not ü.
_UMLAUT = re.compile("(?<![aeouq])([aou])e")
_OTHER = re.compile("[\u0370-\u03ff\u0400-\u052f]")


def is_other_script(key: str) -> bool:
    """Return whether a folded phrase is in a script that :func:`sounds` rewrites."""
    return _OTHER.search(key) is not None


def sounds(key: str) -> str:
    """Return a folded phrase in rough Latin spelling.

    Examples
    --------
    >>> sounds("сергеи мосс"), sounds("sergey moss")
    ('sergei mos', 'sergei mos')
    """
    key = key.translate(_TABLE)
    for pattern, letter in _ALIKE:
        key = pattern.sub(letter, key)
    return key


def without_umlauts(key: str) -> str:
    """Return a folded phrase with ae, oe and ue written a, o and u, as folded ä, ö and ü are.

    Examples
    --------
    >>> without_umlauts("karl oehlmann"), without_umlauts("karl ohlmann")
    ('karl ohlmann', 'karl ohlmann')
    >>> without_umlauts("neue quelle")
    'neue quelle'
    """
    return _UMLAUT.sub(r"\1", key)


def glossary_groups(glossary: Mapping[str, Iterable[str]]) -> list[tuple[str, ...]]:
    """Return the tag keys of each entry of a glossary.

    Examples
    --------
    >>> glossary_groups({"Salt Lantern": ("Salzlaterne", "Соляной фонарь")})
    [('salt lantern', 'salzlaterne', 'соляной фонарь')]
    """
    return [
        tuple(filter(None, dict.fromkeys(map(phrase_key, (name, *others)))))
        for name, others in glossary.items()
    ]


def script_pairs(keys: Sequence[str]) -> list[tuple[int, int]]:
    """Return pairs of phrases in different scripts that are written alike.

    Examples
    --------
    >>> script_pairs(["oleg vetrov", "олег ветров", "petrel"])
    [(0, 1)]
    """
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for number, key in enumerate(keys):
        if len(key) >= _SHORTEST:
            groups[sounds(key)].append(number)
    return sorted(
        (first, second)
        for group in groups.values()
        if 1 < len(group) <= _LARGEST_GROUP
        for first, second in combinations(group, 2)
        if is_other_script(keys[first]) != is_other_script(keys[second])
    )


def umlaut_pairs(keys: Sequence[str]) -> list[tuple[int, int]]:
    """Return pairs of phrases that differ only in how umlauts are written.

    Examples
    --------
    >>> umlaut_pairs(["ohlmann", "oehlmann", "poet", "pot"])
    [(0, 1)]
    """
    numbers = {key: number for number, key in enumerate(keys)}
    pairs = []
    for number, key in enumerate(keys):
        plain = without_umlauts(key)
        if plain != key and len(plain) >= _SHORTEST_GERMAN and plain in numbers:
            pairs.append((min(number, numbers[plain]), max(number, numbers[plain])))
    return sorted(pairs)


class ForeignNames:
    """Finds the tags that a question names in another language.

    Parameters
    ----------
    glossary : mapping of str to names
    scripts : bool
        Whether to match names that are written alike in two scripts.
    """

    def __init__(self, glossary: Mapping[str, Iterable[str]], *, scripts: bool) -> None:
        self._scripts = scripts
        self._others: dict[str, tuple[str, ...]] = {}
        for group in glossary_groups(glossary):
            for name in group:
                known = self._others.get(name, ())
                self._others[name] = tuple(dict.fromkeys((*known, *group)))
        self._cached_for: tuple[TagGraph, int] | None = None
        self._by_sound: dict[str, list[int]] = {}
        self._with_umlauts: dict[str, list[int]] = {}

    def __bool__(self) -> bool:
        return self._scripts or bool(self._others)

    def cues(self, graph: TagGraph, tokens: Sequence[str]) -> list[int]:
        """Return the tags of live chunks that a question names; the caller has locked the graph."""
        named: dict[int, None] = {}
        by_sound = self._sounds(graph) if self._scripts else {}
        for length in range(min(_LONGEST_NAME, len(tokens)), 0, -1):
            for start in range(len(tokens) - length + 1):
                name = " ".join(tokens[start : start + length])
                for other in self._others.get(name, ()):
                    number = graph.phrases.number(other)
                    if number is not None and other != name:
                        named[number] = None
                if by_sound and len(name) >= _SHORTEST:
                    for number in by_sound.get(sounds(name), ()):
                        if is_other_script(graph.phrases.keys[number]) != is_other_script(name):
                            named[number] = None
                if by_sound and len(plain := without_umlauts(name)) >= _SHORTEST_GERMAN:
                    if plain != name and (number := graph.phrases.number(plain)) is not None:
                        named[number] = None
                    named |= dict.fromkeys(self._with_umlauts.get(name, ()))
        tags = np.fromiter(named, dtype=np.int64, count=len(named))
        return tags[graph.df(tags) > 0].tolist() if len(tags) else []

    def _sounds(self, graph: TagGraph) -> dict[str, list[int]]:
        if self._cached_for != (graph, graph.generation):
            self._by_sound, self._with_umlauts = {}, {}
            for number in np.flatnonzero(graph.phrases.in_vocabulary).tolist():
                key = graph.phrases.keys[number]
                if len(key) >= _SHORTEST:
                    self._by_sound.setdefault(sounds(key), []).append(number)
                    if (plain := without_umlauts(key)) != key:
                        self._with_umlauts.setdefault(plain, []).append(number)
            self._cached_for = (graph, graph.generation)
        return self._by_sound
