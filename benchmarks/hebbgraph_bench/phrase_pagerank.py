r"""Personalised PageRank over extracted phrases, after HippoRAG 2 [1]_.

Nodes are phrases (subjects and objects of triples) and passages. Edges have no direction:
phrase – phrase, weighted by the number of triples that hold both; passage – phrase, 1;
phrase – phrase of near-equal meaning (cosine at least 0.8), the cosine. A question resets
the walk to the phrases that it is about, each weight divided by the number of passages
that hold the phrase, and to every passage with 0.05 times its dense score, min-max scaled.
Passages are ranked by their share of the walk.

With an embedder, the phrases are those of the five triples nearest to the question;
HippoRAG 2 lets an LLM filter these five, which is left out here (its paper: 86.4 against 87.1
average R@5). Without one, they are the phrases that the question contains,
and passages are reset by BM25 instead; if there are none, ranking is by direct search.

References
----------
.. [1] Gutiérrez et al. (2025), From RAG to Memory: Non-Parametric Continual Learning for
   Large Language Models, arXiv:2502.14802.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.errors import ParameterError
from hebbgraph.protocols import Embedder
from hebbgraph.records import Chunk
from hebbgraph.text import phrase_key, tokenize

from hebbgraph_bench.baselines import BM25, Dense, RankedChunk, embed_unit, min_max, ranked, top
from hebbgraph_bench.datasets import Extraction
from hebbgraph_bench.pagerank import personalized_pagerank

__all__ = ["PhrasePageRank"]

_BLOCK = 512
_LONGEST = 24  # tokens of a phrase; a character of Chinese is one


class PhrasePageRank:
    """Retrieval by personalised PageRank over phrases and passages; see the module.

    Parameters
    ----------
    extractions : mapping of chunk id to Extraction
    embedder : Embedder, optional
    damping : float, in [0, 1)
    passage_weight : float
        Weight of the passages' direct scores in the reset.
    facts : int
        Number of nearest triples per question.
    synonymy : float
        Minimal cosine to join two phrases.
    """

    def __init__(
        self,
        extractions: Mapping[str, Extraction],
        *,
        embedder: Embedder | None = None,
        damping: float = 0.5,
        passage_weight: float = 0.05,
        facts: int = 5,
        synonymy: float = 0.8,
    ) -> None:
        if not 0 <= damping < 1:
            raise ParameterError(f"damping lies in [0, 1), got {damping!r}")
        self.extractions = extractions
        self.embedder = embedder
        self.damping = damping
        self.passage_weight = passage_weight
        self.facts = facts
        self.synonymy = synonymy
        self._direct: BM25 | Dense = BM25() if embedder is None else Dense(embedder)
        self._phrases: dict[str, int] = {}
        self._triples: dict[str, tuple[int, int]] = {}
        self._fact_vectors: FloatArray = np.zeros((0, 0))

    @property
    def name(self) -> str:
        """What tables call it."""
        return "PageRank on LLM triples"

    def index(self, chunks: Sequence[Chunk], /) -> None:
        """Build the graph of what was extracted from these chunks."""
        self._direct.index(chunks)
        pairs: Counter[tuple[int, int]] = Counter()
        mentions: dict[tuple[int, int], None] = {}
        for passage, chunk_id in enumerate(self._direct.ids):
            for triple in self.extractions.get(chunk_id, Extraction()).triples:
                ends = [phrase_key(end) for end in (triple[0], triple[2])]
                if not all(ends):
                    continue
                first, second = (self._phrases.setdefault(end, len(self._phrases)) for end in ends)
                mentions[first, passage] = mentions[second, passage] = None
                self._triples[" ".join(triple)] = (first, second)
                if first != second:
                    pairs[min(first, second), max(first, second)] += 1
        # Phrases come first in the numbering of nodes, passages after them.
        n = len(self._phrases)
        edges = [(left, right, float(count)) for (left, right), count in pairs.items()]
        edges += [(phrase, n + passage, 1.0) for phrase, passage in mentions]
        self._passages_of = np.bincount([phrase for phrase, _ in mentions], minlength=n)
        if self.embedder is not None:
            edges += self._synonyms(self.embedder)
            self._fact_vectors = embed_unit(self.embedder, list(self._triples))
        ends_of = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2)
        weight = np.array([edge[2] for edge in edges])
        self._source = np.concatenate([ends_of[:, 0], ends_of[:, 1]])
        self._target = np.concatenate([ends_of[:, 1], ends_of[:, 0]])
        self._weight = np.concatenate([weight, weight])

    def retrieve(self, query: str, k: int, /) -> list[RankedChunk]:
        """Walk, and return the passages by their share; by direct search if nothing matches."""
        direct = self._direct.scores(query)
        n = len(self._phrases)
        reset = np.zeros(n + len(direct))
        reset[:n] = self._phrase_weights(query)
        if not reset.any():
            return ranked(self._direct.ids, direct, top(direct, k))
        reset[n:] = self.passage_weight * min_max(direct)
        walked = personalized_pagerank(
            self._source, self._target, self._weight, reset, damping=self.damping
        )
        return ranked(self._direct.ids, walked[n:], top(walked[n:], k))

    def close(self) -> None:
        """Drop the graph."""
        self._direct.close()
        self._phrases, self._triples = {}, {}
        self._source = self._target = np.zeros(0, dtype=np.int64)
        self._weight = self._fact_vectors = np.zeros(0)

    def _phrase_weights(self, query: str) -> FloatArray:
        weights = np.zeros(len(self._phrases))
        if self.embedder is None:
            named = _phrases_in(self._phrases, tokenize(query))
            weights[named] = 1.0 / self._passages_of[named]
            return weights
        if not len(self._fact_vectors):
            return weights
        vector = np.asarray(self.embedder.embed_query(query), dtype=np.float32)
        scores = min_max(self._fact_vectors @ vector)
        ends = list(self._triples.values())
        times = np.zeros(len(self._phrases))
        for fact in top(scores, self.facts):
            for phrase in ends[fact]:
                weights[phrase] += scores[fact] / self._passages_of[phrase]
                times[phrase] += 1
        averaged: FloatArray = weights / np.maximum(times, 1)
        return averaged

    def _synonyms(self, embedder: Embedder) -> list[tuple[int, int, float]]:
        vectors = embed_unit(embedder, list(self._phrases))
        edges: list[tuple[int, int, float]] = []
        for start in range(0, len(vectors), _BLOCK):
            cosines = vectors[start : start + _BLOCK] @ vectors.T
            for row, column in np.argwhere(cosines >= self.synonymy).tolist():
                if start + row < column:
                    edges.append((start + row, column, float(cosines[row, column])))
        return edges


def _phrases_in(phrases: Mapping[str, int], tokens: list[str]) -> list[int]:
    """Return the phrases in a question, from left to right, the longest at each place.

    >>> _phrases_in({"new york": 0, "new york times": 1}, "the new york times of new york".split())
    [1, 0]
    """
    names, start = [], 0
    while start < len(tokens):
        for stop in range(min(len(tokens), start + _LONGEST), start, -1):
            if (phrase := phrases.get(" ".join(tokens[start:stop]))) is not None:
                names.append(phrase)
                start = stop
                break
        else:
            start += 1
    return names
