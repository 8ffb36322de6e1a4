"""Names of one thing in several languages, by the vectors of the names.

A multilingual embedder places "Heron Bridge" and "Reiherbrücke" near each other once their
languages are removed from the vectors (:mod:`hebbgraph.formulas.languages`). Alias edges join such
titles, and a question in one language finds titles in another.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray
from hebbgraph.derived.languages import Languages
from hebbgraph.formulas.adjacency import LinkKind
from hebbgraph.formulas.languages import LanguageMeans, counterparts, language_means
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.text.characters import is_unspaced
from hebbgraph.text.languages import language_of
from hebbgraph.text.stopwords import STOP_WORDS
from hebbgraph.text.tokens import phrase_key, tokenize

__all__ = ["QuestionNames", "Translations", "possible_names"]

#: The least cosine of names without their languages. Three in four names found in questions are
#: right; a wrong one is one cue among others. Of 31 edges between titles, 28 are right; with .4 as
#: the least cosine it would be 49 of 64 (``docs/languages.md``).
_LEAST, _LEAST_OF_TITLES = 0.4, 0.5
_MARGIN = 0.05

_CLAUSE_END = re.compile(r"[^\w\s'’-]+")
_BETWEEN_WORDS = re.compile(r"[\s'’]+")
_LONGEST_NAME = 6  # words
_MOST_NAMES = 32
_LANGUAGE_OF_SCRIPT = {"cyrillic": "russian", "devanagari": "hindi"}


class QuestionNames(NamedTuple):
    """Names that a question may contain, and their unit vectors, shape (n, dimension)."""

    language: str
    names: list[str]
    vectors: NDArray[np.float32]


class _Titles(NamedTuple):
    """Titles, each once for every language of its chunks."""

    tags: IntArray
    languages: IntArray
    neutral: NDArray[np.float32]
    means: LanguageMeans


class Translations:
    """Finds titles that name one thing in several languages.

    Parameters
    ----------
    languages : Languages
    embed : callable
        Maps phrases to unit vectors, or returns None without an embedder.
    """

    def __init__(
        self, languages: Languages, embed: Callable[[list[str]], NDArray[np.float32] | None]
    ) -> None:
        self._languages = languages
        self._embed = embed
        self._vectors: dict[str, NDArray[np.float32]] = {}
        #: The graph and generation that the titles were read from.
        self._source: tuple[TagGraph, int] | None = None
        self._titles: _Titles | None = None

    def names_in(self, question: str) -> QuestionNames | None:
        """Embed the names in a question; None if there are none. The caller holds no lock."""
        language = language_of(question)
        names = possible_names(question, language) if language else []
        vectors = self._embed(names) if names else None
        return None if vectors is None else QuestionNames(language, names, vectors)

    def cues(self, graph: TagGraph, names: QuestionNames) -> list[int]:
        """Return the titles in other languages that a question names.

        The caller has locked the graph.
        """
        titles = self._titles_of(graph)
        if titles is None:
            return []
        languages = np.full(len(names.names), self._languages.number(names.language))
        _, to = counterparts(
            titles.means.without(names.vectors, languages),
            languages,
            titles.neutral,
            titles.languages,
            least=_LEAST,
            margin=_MARGIN,
        )
        return list(dict.fromkeys(titles.tags[to].tolist()))

    def pairs(self, graph: TagGraph) -> list[tuple[int, int]]:
        """Return pairs of titles as tags, the smaller first; the caller has locked the graph."""
        titles = self._titles_of(graph)
        if titles is None:
            return []
        at, to = counterparts(
            titles.neutral,
            titles.languages,
            titles.neutral,
            titles.languages,
            least=_LEAST_OF_TITLES,
            margin=_MARGIN,
        )
        ends = np.sort(np.stack((titles.tags[at], titles.tags[to]), axis=1), axis=1)
        return sorted({(first, second) for first, second in ends.tolist() if first != second})

    def _titles_of(self, graph: TagGraph) -> _Titles | None:
        source = self._source
        if source is None or source[0] is not graph or source[1] != graph.generation:
            self._titles = self._read(graph)
            self._source = (graph, graph.generation)
        return self._titles

    def _read(self, graph: TagGraph) -> _Titles | None:
        """Return the titles of live chunks; None if they are in one language."""
        phrases, codes = graph.phrases, self._languages.by_slot(graph)
        tags = np.flatnonzero((phrases.anchor_counts > 0) & (phrases.link_kinds == LinkKind.PHRASE))
        owner, chunks, is_title = graph.chunks_of(tags)
        in_language = is_title & (codes[chunks] > 0)
        entries = np.unique(
            np.stack((tags[owner[in_language]], codes[chunks[in_language]]), axis=1), axis=0
        )
        tags, languages = entries[:, 0], entries[:, 1]
        if len(np.unique(languages)) < 2:
            return None
        keys = [phrases.keys[tag] for tag in tags.tolist()]
        missing = [key for key in dict.fromkeys(keys) if key not in self._vectors]
        embedded = self._embed(missing) if missing else ()
        if embedded is None:
            return None
        known = self._vectors | dict(zip(missing, embedded, strict=True))
        self._vectors = {key: known[key] for key in keys}  # without deleted titles
        vectors = np.stack([known[key] for key in keys])
        means = language_means(vectors, languages, self._languages.n_numbers)
        return _Titles(tags, languages, means.without(vectors, languages), means)


def possible_names(question: str, language: str) -> list[str]:
    """Return the keys of names that a question may contain: runs of words between function words.

    A single word counts if it has a capital, or its script has none. Scripts without spaces have
    no runs.

    Parameters
    ----------
    question : str
    language : str
        As :func:`~hebbgraph.text.languages.language_of` names it.

    Examples
    --------
    >>> possible_names("Who painted « The Hollow Tide »?", "english")
    ['hollow tide', 'hollow', 'tide']
    """
    function_words = _function_words(_LANGUAGE_OF_SCRIPT.get(language, language))
    names: dict[str, None] = {}
    for clause in _CLAUSE_END.split(question):
        words = [word.strip("-") for word in _BETWEEN_WORDS.split(clause)]
        words = [word for word in words if word and not any(map(is_unspaced, word))]
        is_filler = [word.isdigit() or function_words.issuperset(tokenize(word)) for word in words]
        for first in range(len(words)):
            for last in range(min(first + _LONGEST_NAME, len(words)) - 1, first - 1, -1):
                is_lower_word = first == last and words[first].islower()
                if not (is_filler[first] or is_filler[last] or is_lower_word):
                    names[phrase_key(" ".join(words[first : last + 1]))] = None
    names.pop("", None)
    return list(islice(names, _MOST_NAMES))


@cache
def _function_words(language: str) -> frozenset[str]:
    return frozenset(tokenize(STOP_WORDS.get(language, "")))
