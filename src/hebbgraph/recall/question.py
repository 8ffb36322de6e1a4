"""A query, read with one graph's vocabulary."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.cues import cues_of as memory_cues
from hebbgraph.learning.cues import hash_term, question_number
from hebbgraph.learning.memory import Memory
from hebbgraph.learning.recollection import Recollection
from hebbgraph.namespace import Namespace
from hebbgraph.recall.conversation import TURN_TERMS
from hebbgraph.recall.elsewhere import VectorsElsewhere
from hebbgraph.recall.query import Query
from hebbgraph.records import Cue, Turn
from hebbgraph.text import display, lexical_terms, tokenize
from hebbgraph.text.query import query_terms
from hebbgraph.text.syllables import is_syllabic, syllabic_terms

__all__ = [
    "Question",
    "QuestionReader",
    "carried_cues",
    "cues_of",
    "foreign_note",
    "idf",
    "is_as_rare",
    "known_marks",
    "weighted_terms",
]

#: Chunks without any of the words, added to the count: in a handful of chunks, no word is rare.
_UNSEEN = 100
#: The share of the rarest word's rarity that a cue's words need to be trusted at all, and fully.
_LEAST_SHARE, _FULL_SHARE = 0.5, 0.9
#: The weight of a syllable without the marks that the question has.
_BARE = 0.1


@dataclass(frozen=True)
class Question:
    """A query, read with the vocabulary of a graph.

    Parameters
    ----------
    query : str
    terms : dict of str to float
        For lexical search, with weights: 1, more if the term recurs in other sentences, less if
        only an earlier turn has it.
    frequencies : dict of str to int
        How many chunks hold each term.
    cues : list of int
        The tags that the query names, then those that only earlier turns name.
    rarity : ndarray of float64, shape (n_cues,)
        The weight of each cue by :func:`idf`.
    vector : ndarray of float32, optional
        Its embedding, of unit length.
    seeds : dict of row to score, optional
        Results of the caller's own search, in place of dense search.
    elsewhere : VectorsElsewhere, optional
        Replaces the scores of ``seeds`` by cosines.
    recollection : Recollection, optional
        What past lessons say of this question.
    carried : dict of int to float
        Weights of the cues that only earlier turns name; others weigh 1.
    trust : dict of int to float
        How far a cue is trusted to name what the question is about; see :func:`trust_of_cues`.
        Others are fully trusted.
    foreign : tuple of int
        Cues named in another language or script.
    dates : frozenset of str
        Terms of dates that no text holds but the dates of chunks match.
    """

    query: str
    terms: dict[str, float]
    frequencies: dict[str, int]
    cues: list[int]
    rarity: FloatArray
    vector: NDArray[np.float32] | None = None
    seeds: dict[int, float] | None = None
    elsewhere: VectorsElsewhere | None = None
    recollection: Recollection | None = None
    carried: Mapping[int, float] = field(default_factory=dict)
    trust: Mapping[int, float] = field(default_factory=dict)
    foreign: tuple[int, ...] = ()
    dates: frozenset[str] = frozenset()

    @property
    def cue_weights(self) -> FloatArray:
        """The weight of each cue, in (0, 1]."""
        return np.array([self.carried.get(cue, 1.0) for cue in self.cues], np.float64)

    @property
    def cue_trust(self) -> FloatArray:
        """The trust in each cue, in [0, 1]."""
        return np.array([self.trust.get(cue, 1.0) for cue in self.cues], np.float64)


class QuestionReader:
    """Reads queries with the vocabulary of a namespace.

    Parameters
    ----------
    namespace : Namespace
    memory : Memory
    """

    def __init__(self, namespace: Namespace, memory: Memory) -> None:
        settings = namespace.settings
        self._namespace = namespace
        self._derived = namespace.derived
        self._language = settings.language
        self._memory = memory

    def read(self, graph: TagGraph, query: Query) -> Question:
        """Return the terms and cues of a query, and its recollection; the graph is locked."""
        language = self._language
        tokens = tokenize(query.text)
        terms = weighted_terms(query.text, query.turns, language, tokens)
        named = graph.cues(tokens)
        foreign = [tag for tag in self._foreign_names(graph, query, tokens) if tag not in named]
        for tag in foreign:  # direct search includes these names
            words = graph.phrases.keys[tag].split(" ")
            terms |= dict.fromkeys(lexical_terms(words, language), 1.0)
        df = self._derived.lexical.document_frequency
        counts = {term: df(term) for term in terms}
        searched = known_marks(query.text, terms, counts, language)
        frequencies = {term: counts[term] for term in searched}
        cues = [*named, *foreign]
        trust = trust_of_cues(graph, cues, frequencies, language)
        for phrase in query.phrases:
            cues += graph.cues(tokenize(phrase))
        cues = list(dict.fromkeys(cues))
        carried = carried_cues(graph, cues, query.turns)
        cues += carried
        rarity = idf(graph, np.array(cues, dtype=np.int64))
        return Question(
            query=query.text,
            terms=searched,
            frequencies=frequencies,
            cues=cues,
            rarity=rarity,
            vector=query.vector,
            seeds=query.seeds,
            elsewhere=query.elsewhere,
            recollection=self._recollect(graph, query, terms, counts, cues, carried, rarity),
            carried=carried,
            trust=trust,
            foreign=tuple(foreign),
        )

    def _foreign_names(self, graph: TagGraph, query: Query, tokens: list[str]) -> list[int]:
        """Return the tags that a query names in another language or script."""
        namespace = self._namespace
        foreign = [] if namespace.foreign is None else namespace.foreign.cues(graph, tokens)
        if query.names is not None and namespace.translations is not None:
            foreign += namespace.translations.cues(graph, query.names)
        return list(dict.fromkeys(foreign))

    def _recollect(
        self,
        graph: TagGraph,
        query: Query,
        terms: Mapping[str, float],
        frequencies: Mapping[str, int],
        cues: Sequence[int],
        carried: Mapping[int, float],
        rarity: FloatArray,
    ) -> Recollection | None:
        """Return what past lessons say of a query; see :mod:`hebbgraph.learning.cues`."""
        if not self._memory.has_learned:
            return None
        n = max(graph.n_chunks, 1)
        words = [
            (hash_term(term), weight * math.log1p(n / max(frequencies[term], 1)))
            for term, weight in terms.items()
        ]
        names = {
            graph.phrases.keys[tag]: weight * carried.get(tag, 1.0)
            for tag, weight in zip(cues, rarity.tolist(), strict=True)
        }
        keys, weights = memory_cues(words, names)
        vector, embedder = self._namespace.for_memory(graph, query.text, query.vector)
        return self._memory.recollect(
            graph,
            (np.array(keys, np.uint64), np.array(weights, np.float32)),
            vector,
            embedder,
            question_number([word for word, _ in words] or names),
            len(words) or len(names),
        )


def trust_of_cues(
    graph: TagGraph, cues: Sequence[int], frequencies: Mapping[str, int], language: str
) -> dict[int, float]:
    """Return how far each cue is trusted to name what a question is about.

    "Information systems" says little about "training of businessmen in information systems": many
    chunks of the corpus are about that. A cue is trusted if its words together are about as rare
    as the rarest word of the question.

    Parameters
    ----------
    graph : TagGraph
    cues : sequence of int
    frequencies : mapping of str to int
        How many chunks hold each term of the question.
    language : str
        Language of the stemmer.
    """
    if not cues:
        return {}
    rarities = {term: _rarity(df, graph.n_chunks) for term, df in frequencies.items()}
    rarest = max(rarities.values(), default=0.0)
    trust = {}
    for cue in cues:
        together = (
            sum(rarities.get(word, 0.0) for word in set(lexical_terms(key.split(" "), language)))
            for key in graph.spellings(cue)
        )
        share = max(together) / rarest if rarest > 0 else 1.0
        trust[cue] = min(max((share - _LEAST_SHARE) / (_FULL_SHARE - _LEAST_SHARE), 0.0), 1.0)
    return trust


def is_as_rare(mentions: int, frequencies: Mapping[str, int], n_chunks: int) -> bool:
    """Return whether what so many chunks mention is about as rare as the rarest of some words."""
    rarest = min(frequencies.values(), default=n_chunks)
    return _rarity(mentions, n_chunks) >= _FULL_SHARE * _rarity(rarest, n_chunks)


def _rarity(df: int, n_chunks: int) -> float:
    return math.log((n_chunks + _UNSEEN + 1) / (max(df, 1) + 0.5))


def known_marks(
    query: str, terms: Mapping[str, float], frequencies: Mapping[str, int], language: str
) -> dict[str, float]:
    """Drop terms with diacritics that no chunk holds, in languages written in syllables.

    The same syllables without their marks weigh little, unless no marked term occurs in any chunk:
    then the texts were typed or indexed without marks.

    Parameters
    ----------
    query : str
    terms : mapping of str to float
        Terms and weights; see :func:`weighted_terms`.
    frequencies : mapping of str to int
        How many chunks hold each.
    language : str
        Language of the stemmer.
    """
    if not is_syllabic(query):
        return dict(terms)
    marked = syllabic_terms(query)
    unknown = {term for term in marked if not frequencies.get(term)}
    bare: set[str] = set()
    if len(unknown) < len(set(marked)):
        words = " ".join(word for word in query.split() if not word.isascii())
        bare.update(lexical_terms(tokenize(words), language))
    return {
        term: _BARE * weight if term in bare else weight
        for term, weight in terms.items()
        if term not in unknown
    }


def weighted_terms(
    query: str, turns: Sequence[Turn], language: str, tokens: list[str] | None = None
) -> dict[str, float]:
    """Return the terms of a question, then those of earlier turns with the turns' weights."""
    terms = query_terms(query, language, tokens=tokens)
    for turn in reversed(turns):
        for term in query_terms(turn.text, language, limit=TURN_TERMS):
            terms[term] = max(terms.get(term, 0.0), turn.weight)
    return terms


def carried_cues(graph: TagGraph, cues: Sequence[int], turns: Sequence[Turn]) -> dict[int, float]:
    """Return the tags that only earlier turns name, with the turns' weights."""
    carried: dict[int, float] = {}
    for turn in reversed(turns):
        for tag in graph.cues(tokenize(turn.text)):
            if tag not in cues:
                carried[tag] = max(carried.get(tag, 0.0), turn.weight)
    return carried


def idf(graph: TagGraph, tags: IntArray) -> NDArray[np.float64]:
    """Return ``log(1 + N / df)``."""
    weights: NDArray[np.float64] = np.log1p(graph.n_chunks / np.maximum(graph.df(tags), 1))
    return weights


def cues_of(graph: TagGraph, question: Question) -> tuple[Cue, ...]:
    """Return the cues as records."""
    weights = question.rarity * question.cue_weights
    keys = graph.phrases.keys
    return tuple(
        Cue(tag=display(keys[tag]), weight=weight, from_history=tag in question.carried)
        for tag, weight in zip(question.cues, weights.tolist(), strict=True)
    )


def foreign_note(graph: TagGraph, question: Question) -> str | None:
    """Say which cues a question names in another language; None without any."""
    if not question.foreign:
        return None
    names = ", ".join(display(graph.phrases.keys[tag]) for tag in question.foreign)
    return f"named in another language or script: {names}"
