"""LinearRAG after its paper [1]_ and its scripts' settings, since no package carries it.

Nodes are entities and passages. An edge joins a passage to each entity it names, weighted by that
entity's share of the passage's mentions. The entities of a question are matched to the nearest ones
of the graph by vectors. From there, activation spreads in steps through the sentences most like the
question to the entities named in them. A PageRank walk is reset to activated entities, and to
passages by their dense score and the activated entities they mention. Passages are ranked by their
share of the walk.

Differences: entities are capitalised spans. The authors use spaCy's transformer, which no package
carries; spaCy's small model finds so few of the films and people that R@5 on a development set is
.68 with it and .83 with spans. Edges between neighbouring passages are left out, since corpora are
shuffled here (with these edges, figures fall after shuffling). The walk is a power iteration, not
igraph's.

References
----------
.. [1] Zhuang et al. (2025), LinearRAG: Linear Graph Retrieval Augmented Generation on Large-scale
   Corpora, arXiv:2510.10114.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from hebbgraph.arrays import FloatArray, IntArray
from hebbgraph.protocols import Embedder
from hebbgraph.records import Chunk

from hebbgraph_bench.baselines import (
    Dense,
    RankedChunk,
    embed_unit,
    min_max,
    passage_text,
    ranked,
    top,
    unit,
)
from hebbgraph_bench.pagerank import personalized_pagerank

__all__ = ["LinearRAG", "LinearRAGSettings", "capitalised"]

#: Maps a text to pairs of a sentence and an entity in it.
EntityFinder: TypeAlias = Callable[[str], list[tuple[str, str]]]
_PASSAGE_WEIGHT, _DAMPING = 0.05, 0.5
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = r"[A-Z0-9][\w'’.-]*"
_JOINING = r"(?:of|the|de|von|van|and|in|a|la|le|du|di|for|to|&)"
_SPAN = re.compile(rf"(?:[A-Z][\w'’.-]*|\d{{3,4}})(?:(?:\s+{_JOINING})*\s+{_WORD})*")
#: Capitalised words at the start of a sentence that name nothing.
_OPENING = frozenset(
    [
        "the",
        "a",
        "an",
        "in",
        "on",
        "it",
        "he",
        "she",
        "they",
        "who",
        "what",
        "which",
        "where",
        "when",
        "whose",
        "how",
        "is",
        "are",
        "was",
        "were",
        "do",
        "does",
        "did",
        "his",
        "her",
        "their",
        "this",
        "that",
        "at",
        "for",
        "from",
        "by",
        "of",
        "and",
        "as",
        "both",
    ]
)


@dataclass(frozen=True, slots=True)
class LinearRAGSettings:
    """The settings of the authors' scripts, by set.

    Parameters
    ----------
    iterations : int
        Number of steps, including the one to the question's entities.
    threshold : float
        Activation below this spreads no further.
    sentences : int
        Number of sentences that an entity passes its activation through.
    passage_ratio : float
        Weight of the dense score against the entities.
    """

    iterations: int = 3
    threshold: float = 0.4
    sentences: int = 1
    passage_ratio: float = 0.05

    @classmethod
    def for_set(cls, name: str) -> LinearRAGSettings:
        """Return the settings for MuSiQue, or those for HotpotQA and 2Wiki for other sets."""
        if name.startswith("musique"):
            return cls(iterations=5, threshold=0.1, sentences=4, passage_ratio=2.0)
        return cls()


class LinearRAG:
    """See the module.

    Parameters
    ----------
    embedder : Embedder
    settings : LinearRAGSettings, optional
    entities : callable, optional
        :func:`capitalised` if left out.
    """

    name = "LinearRAG"

    def __init__(
        self,
        embedder: Embedder,
        *,
        settings: LinearRAGSettings | None = None,
        entities: EntityFinder | None = None,
    ) -> None:
        self.embedder = embedder
        self.settings = settings or LinearRAGSettings()
        self._find = entities or capitalised
        self._dense = Dense(embedder)
        self._entities: dict[str, int] = {}
        self._sentences_of: list[list[int]] = []
        self._entities_in: list[list[int]] = []
        self._texts: list[str] = []
        self._mentions_of: dict[str, tuple[IntArray, FloatArray]] = {}

    def index(self, chunks: Sequence[Chunk], /) -> None:
        """Find entities, embed them and their sentences, and join them to passages."""
        self._dense.index(chunks)
        by_id = {chunk.id: passage_text(chunk) for chunk in chunks}
        texts = [by_id[id_] for id_ in self._dense.ids]
        self._texts = [text.lower() for text in texts]
        self._mentions_of = {}
        sentences: dict[str, int] = {}
        entities_by_passage: list[dict[int, None]] = []
        for text in texts:
            entity_rows: dict[int, None] = {}
            for sentence, entity in self._find(text):
                entity_row = self._entities.setdefault(entity, len(self._entities))
                sentence_row = sentences.setdefault(sentence, len(sentences))
                if entity_row == len(self._sentences_of):
                    self._sentences_of.append([])
                if sentence_row == len(self._entities_in):
                    self._entities_in.append([])
                if entity_row not in self._entities_in[sentence_row]:
                    self._entities_in[sentence_row].append(entity_row)
                    self._sentences_of[entity_row].append(sentence_row)
                entity_rows[entity_row] = None
            entities_by_passage.append(entity_rows)
        self._join(texts, entities_by_passage)
        self._entity_vectors = embed_unit(self.embedder, list(self._entities))
        self._sentence_vectors = embed_unit(self.embedder, list(sentences))

    def retrieve(self, query: str, k: int, /) -> list[RankedChunk]:
        """Activate, then walk; dense search if the question names no known entity."""
        dense = self._dense.scores(query)
        names = dict.fromkeys(entity.lower() for _, entity in self._find(query))
        if not names or not self._entities:
            return ranked(self._dense.ids, dense, top(dense, k))
        activated, reset = self._activate(query, list(names))
        n = len(self._entities)
        reset[n:] = _PASSAGE_WEIGHT * (
            self.settings.passage_ratio * min_max(dense) + np.log1p(self._mentions(activated))
        )
        walked = personalized_pagerank(
            self._source, self._target, self._weight, np.maximum(reset, 0), damping=_DAMPING
        )
        return ranked(self._dense.ids, walked[n:], top(walked[n:], k))

    def close(self) -> None:
        """Drop the graph."""
        self._dense.close()
        self._entities, self._sentences_of, self._entities_in, self._texts = {}, [], [], []
        self._mentions_of = {}
        self._entity_vectors = self._sentence_vectors = np.zeros((0, 0), dtype=np.float32)

    def _join(self, texts: Sequence[str], entities_by_passage: Sequence[dict[int, None]]) -> None:
        entities = list(self._entities)
        ends, weights = [], []
        for passage, (text, entity_rows) in enumerate(zip(texts, entities_by_passage, strict=True)):
            times = [text.count(entities[entity]) for entity in entity_rows]
            for entity, count in zip(entity_rows, times, strict=True):
                if count:
                    ends.append((entity, len(entities) + passage))
                    weights.append(count / sum(times))
        pairs = np.array(ends, dtype=np.int64).reshape(-1, 2)
        weight = np.array(weights)
        self._source = np.concatenate([pairs[:, 0], pairs[:, 1]])
        self._target = np.concatenate([pairs[:, 1], pairs[:, 0]])
        self._weight = np.concatenate([weight, weight])

    def _activate(
        self, query: str, names: list[str]
    ) -> tuple[dict[int, tuple[float, int]], FloatArray]:
        """Return activation and step of each entity that was reached, and the entities' reset."""
        question = unit(np.asarray(self.embedder.embed_query(query), dtype=np.float32))
        cosines = self._entity_vectors @ embed_unit(self.embedder, names).T
        reset = np.zeros(len(self._entities) + len(self._texts))
        activated: dict[int, tuple[float, int]] = {}
        for column in cosines.T:
            entity = int(column.argmax())
            activated[entity] = (float(column[entity]), 1)
            reset[entity] = column[entity]
        used: set[int] = set()
        current = dict(activated)
        for step in range(2, self.settings.iterations + 1):
            reached: dict[int, tuple[float, int]] = {}
            for entity, (score, _) in current.items():
                if score < self.settings.threshold:
                    continue
                lines = [line for line in self._sentences_of[entity] if line not in used]
                likeness = self._sentence_vectors[lines] @ question
                for place in np.argsort(-likeness, kind="stable")[: self.settings.sentences]:
                    used.add(lines[place])
                    passed = score * float(likeness[place])
                    if passed < self.settings.threshold:
                        continue
                    for neighbour in self._entities_in[lines[place]]:
                        reset[neighbour] += passed
                        reached[neighbour] = (passed, step)
            activated |= reached
            current = reached
        return activated, reset

    def _mentions(self, activated: dict[int, tuple[float, int]]) -> FloatArray:
        """Return each passage's score from the activated entities that it mentions."""
        names = list(self._entities)
        scores = np.zeros(len(self._texts))
        for entity, (score, step) in activated.items():
            passages, logs = self._mentioned(names[entity].lower())
            scores[passages] += score / step * logs
        return np.maximum(scores, 0)

    def _mentioned(self, name: str) -> tuple[IntArray, FloatArray]:
        """Return the passages with a name, and log(1 + count); cached."""
        if name not in self._mentions_of:
            passages = [passage for passage, text in enumerate(self._texts) if name in text]
            logs = [math.log1p(self._texts[passage].count(name)) for passage in passages]
            self._mentions_of[name] = np.array(passages, dtype=np.int64), np.array(logs)
        return self._mentions_of[name]


def capitalised(text: str) -> list[tuple[str, str]]:
    """Return the capitalised spans of a text, as entities, with their sentences.

    Examples
    --------
    >>> capitalised("The Petrel was built by Ida of Moss. It sank in 1871.")
    [('The Petrel was built by Ida of Moss.', 'Petrel'), ('The Petrel was built by Ida of Moss.', \
'Ida of Moss'), ('It sank in 1871.', '1871')]
    """
    names = []
    for sentence in _SENTENCE_END.split(text):
        for span in _SPAN.findall(sentence):
            words = span.split()
            while words and words[0].lower() in _OPENING:
                del words[0]
            if name := " ".join(words).strip(".'’-"):
                names.append((sentence, name))
    return names
