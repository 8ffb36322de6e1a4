"""Alias edges between tags that are variants of one concept. The tags are never merged.

Aliases are derived from the current vocabulary and vanish with it. There are five kinds:

- **spelling**: equal up to inflection, spaces and hyphens: "schooner" and "schooners",
  "spider man" and "spiderman". (Case, accents and the dots of "U.S." are folded before a
  phrase becomes a tag.)
- **acronyms**: one spells out the other: "us army" and "united states army". A bare
  acronym ("nato") is joined only to an expansion that shares a chunk with it.
- **vectors**: embeddings are almost equal.
- **scripts**: names written alike in Latin, Cyrillic and Greek letters, or with and without
  umlauts (:mod:`.foreign`).
- **translations**: titles in different languages whose embeddings are nearest to each other
  (:mod:`hebbgraph.derived.translations`).

The user's glossary joins its names in the same way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray
from hebbgraph.formulas.adjacency import EdgeSet, LinkKind
from hebbgraph.graph.foreign import glossary_groups, script_pairs, umlaut_pairs
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.text import lexical_terms
from hebbgraph.text.tokens import stop_words

__all__ = [
    "AliasKind",
    "Aliases",
    "acronym_pairs",
    "similar_pairs",
    "spelling_pairs",
]

AliasKind: TypeAlias = Literal["spelling", "acronyms", "vectors", "scripts", "translations"]
Pair: TypeAlias = tuple[int, int]

_SHORTEST = 4  # characters; shorter spellings coincide by chance
_LARGEST_GROUP = 8  # tags of one spelling; larger groups are not variants of a name
_LONGEST_EXPANSION = 8  # words
_LEAST_COSINE = 0.95
_BLOCK = 2048


def spelling_pairs(keys: Sequence[str], language: str = "english") -> list[Pair]:
    """Return pairs of phrases that differ only in inflection, spaces and hyphens.

    Examples
    --------
    >>> spelling_pairs(["spider man", "schooner", "spiderman", "schooners", "man"])
    [(0, 2), (1, 3)]
    """
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for number, key in enumerate(keys):
        groups[_spelling(key, language)].append(number)
    return sorted(
        pair
        for spelling, group in groups.items()
        if len(spelling) >= _SHORTEST and 1 < len(group) <= _LARGEST_GROUP
        for pair in combinations(group, 2)
    )


def _spelling(key: str, language: str) -> str:
    stems = []
    for token in key.split(" "):
        terms = lexical_terms([token], language)
        stems.append(terms[0] if len(terms) == 1 else token)
    return "".join(char for char in "".join(stems) if char.isalnum())


def acronym_pairs(keys: Sequence[str], share_a_chunk: Callable[[int, int], bool]) -> list[Pair]:
    """Return pairs of a phrase with initials and a phrase that spells them out.

    Parameters
    ----------
    keys : sequence of str
    share_a_chunk : callable
        Whether two phrases, by position, are tags of one chunk. Required of bare acronyms
        and of acronyms with several expansions.

    Examples
    --------
    >>> keys = ["nato", "north atlantic treaty organization", "us army", "united states army"]
    >>> acronym_pairs(keys, lambda first, second: True)
    [(0, 1), (2, 3)]
    """
    numbers = {key: number for number, key in enumerate(keys)}
    expansions: defaultdict[int, set[int]] = defaultdict(set)
    for number, key in enumerate(keys):
        for short in _contractions(key):
            if (acronym := numbers.get(short)) is not None and acronym != number:
                expansions[acronym].add(number)
    return sorted(
        (short, long)
        for short, longs in expansions.items()
        for long in longs
        if (" " in keys[short] and len(longs) == 1) or share_a_chunk(short, long)
    )


def _contractions(key: str) -> Iterator[str]:
    """Yield a phrase with its first, last or all words contracted to initials."""
    words = key.split(" ")
    if not 2 <= len(words) <= _LONGEST_EXPANSION or not key.isascii():
        return
    size = len(words)
    runs = {(0, stop) for stop in range(2, size + 1)} | {(start, size) for start in range(size - 1)}
    for start, stop in runs:
        run = words[start:stop]
        for contracted in (run, [word for word in run if word not in stop_words()]):
            initials = "".join(word[0] for word in contracted)
            least = 3 if len(run) == size else 2
            if len(contracted) >= least and initials.isalpha():
                yield " ".join([*words[:start], initials, *words[stop:]])


def similar_pairs(vectors: NDArray[np.float32], least: float = _LEAST_COSINE) -> list[Pair]:
    """Return pairs of unit vectors whose cosine is at least ``least``.

    Examples
    --------
    >>> similar_pairs(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], np.float32))
    [(0, 2)]
    """
    pairs: list[Pair] = []
    for start in range(0, len(vectors), _BLOCK):
        rows, columns = np.nonzero(vectors[start : start + _BLOCK] @ vectors[start:].T >= least)
        above = rows < columns
        pairs += zip((rows[above] + start).tolist(), (columns[above] + start).tolist(), strict=True)
    return sorted(pairs)


class Aliases:
    """The alias edges of a graph, recomputed when the graph changes.

    Parameters
    ----------
    kinds : collection of {"spelling", "acronyms", "vectors", "scripts", "translations"}
    weight : float, in [0, 1]
        Share of a tag's activation that passes to each alias.
    language : str
    embed : callable, optional
        Maps phrases to unit vectors, or returns None without an embedder; for ``vectors``.
    glossary : mapping of str to names, optional
        Other names of each thing; they are joined whatever ``kinds`` says.
    translated : callable, optional
        Returns pairs of tags of a graph; for ``translations``.
    """

    def __init__(
        self,
        kinds: Iterable[AliasKind],
        *,
        weight: float,
        language: str,
        embed: Callable[[list[str]], NDArray[np.float32] | None] | None = None,
        glossary: Mapping[str, Iterable[str]] | None = None,
        translated: Callable[[TagGraph], Iterable[Pair]] | None = None,
    ) -> None:
        self.kinds = frozenset(kinds)
        self._groups = glossary_groups(glossary or {})
        self.weight = weight
        self._language = language
        self._embed = embed
        self._translated = translated
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self._cached_for: tuple[TagGraph, int] | None = None
        self._edges = EdgeSet.empty()

    def __bool__(self) -> bool:
        return bool(self.kinds or self._groups)

    def edges(self, graph: TagGraph) -> EdgeSet:
        """Return the alias edges of a graph, which the caller has locked."""
        if self and self._cached_for != (graph, graph.generation):
            self._edges = self._derive(graph)
            self._cached_for = (graph, graph.generation)
        return self._edges

    def _derive(self, graph: TagGraph) -> EdgeSet:
        phrases = graph.phrases
        tags = np.flatnonzero(phrases.in_vocabulary & (phrases.link_kinds == LinkKind.PHRASE))
        keys = [phrases.keys[tag] for tag in tags.tolist()]
        pairs: set[Pair] = set()
        if "spelling" in self.kinds:
            pairs.update(spelling_pairs(keys, self._language))
        if "acronyms" in self.kinds:
            pairs.update(acronym_pairs(keys, _sharing(graph, tags)))
        if "vectors" in self.kinds and (vectors := self._embedded(keys)) is not None:
            pairs.update(similar_pairs(vectors))
        if "scripts" in self.kinds:
            pairs.update(script_pairs(keys))
            pairs.update(umlaut_pairs(keys))
        if self._groups:
            numbers = {key: number for number, key in enumerate(keys)}
            for group in self._groups:
                known = sorted(numbers[key] for key in group if key in numbers)
                pairs.update(combinations(known, 2))
        joined = {(int(tags[first]), int(tags[second])) for first, second in pairs}
        if self._translated is not None:
            joined.update(self._translated(graph))
        if not joined:
            return EdgeSet.empty()
        ends = np.array(sorted(joined), dtype=np.int64)
        sources = np.concatenate((ends[:, 0], ends[:, 1]))
        targets = np.concatenate((ends[:, 1], ends[:, 0]))
        return EdgeSet.from_arrays(sources, targets, np.full(len(sources), self.weight))

    def _embedded(self, keys: list[str]) -> NDArray[np.float32] | None:
        missing = [key for key in keys if key not in self._vectors]
        if missing and self._embed is not None:
            vectors = self._embed(missing)
            if vectors is not None:
                self._vectors.update(zip(missing, vectors, strict=True))
        if not keys or any(key not in self._vectors for key in keys):
            return None
        return np.stack([self._vectors[key] for key in keys])


def _sharing(graph: TagGraph, tags: IntArray) -> Callable[[int, int], bool]:
    def share(first: int, second: int) -> bool:
        owner, chunks, _ = graph.chunks_of(tags[[first, second]])
        return bool(np.intersect1d(chunks[owner == 0], chunks[owner == 1]).size)

    return share
