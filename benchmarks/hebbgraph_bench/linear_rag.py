"""LinearRAG after its paper [1]_ and its scripts' settings for HotpotQA and 2Wiki.

Nodes are entities and passages; an edge joins a passage to each entity that it names, weighted by
that entity's share of the passage's mentions. The entities of a question are matched to the nearest
ones of the graph by vectors. From there activation spreads through the sentences most like the
question to the entities in them. A PageRank walk returns to activated entities, and to passages by
their dense score and the entities that they mention; passages are ranked by their share of it.

Differences: entities are capitalised spans, since the spaCy model of the authors is in no package
(spaCy's small one finds too few names); neighbouring passages are not joined, as corpora are
shuffled here.

References
----------
.. [1] Zhuang et al. (2025), LinearRAG: Linear Graph Retrieval Augmented Generation on Large-scale
   Corpora, arXiv:2510.10114.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from usebench.embedders import Embedder
from usebench.ranking import best_rows
from usebench.records import Passage
from usebench.searches import Dense, Static

__all__ = ["LinearRAG", "capitalised"]

_STEPS, _THRESHOLD, _SENTENCES, _PASSAGE_RATIO = 3, 0.4, 1, 0.05
_PASSAGE_WEIGHT, _DAMPING = 0.05, 0.5
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = r"[A-Z0-9][\w'’.-]*"
_JOINING = r"(?:of|the|de|von|van|and|in|a|la|le|du|di|for|to|&)"
_SPAN = re.compile(rf"(?:[A-Z][\w'’.-]*|\d{{3,4}})(?:(?:\s+{_JOINING})*\s+{_WORD})*")
#: Capitalised words at the start of a sentence that name nothing.
_OPENING = frozenset(
    re.findall(
        r"\w+",
        "the a an in on it he she they who what which where when whose how is are was were do does "
        "did his her their this that at for from by of and as both",
    )
)
_Floats = NDArray[np.float64]


def capitalised(text: str) -> list[tuple[str, str]]:
    """Return the capitalised spans of a text, as entities, with their sentences.

    Examples
    --------
    >>> [name for _, name in capitalised("The Petrel was built by Ida of Moss. It sank in 1871.")]
    ['Petrel', 'Ida of Moss', '1871']
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


class LinearRAG(Static):
    """See the module.

    Parameters
    ----------
    embedder : Embedder of usebench
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._dense = Dense(embedder)

    def reset(self) -> None:
        """Drop the passages; the graph is made by ``add``."""
        self._dense.reset()

    def add(self, passages: Sequence[Passage], /) -> None:
        """Find entities, embed them and their sentences, and join them to passages."""
        self._dense.add(passages)
        by_id = {passage.id: passage.full_text for passage in passages}
        texts = [by_id[id_] for id_ in self._dense.ids]
        self._texts = [text.lower() for text in texts]
        self._entities: dict[str, int] = {}
        sentences: dict[str, int] = {}
        self._sentences_of: dict[int, list[int]] = defaultdict(list)
        self._entities_in: dict[int, list[int]] = defaultdict(list)
        edges = []
        for row, text in enumerate(texts):
            rows = set()
            for sentence, name in capitalised(text):
                entity = self._entities.setdefault(name, len(self._entities))
                line = sentences.setdefault(sentence, len(sentences))
                if entity not in self._entities_in[line]:
                    self._entities_in[line].append(entity)
                    self._sentences_of[entity].append(line)
                rows.add((name, entity))
            counts = {entity: text.count(name) for name, entity in sorted(rows)}
            total = sum(counts.values())
            edges += [(entity, row, count / total) for entity, count in counts.items() if count]
        n = len(self._entities)
        ends = np.array([(entity, n + row) for entity, row, _ in edges], int).reshape(-1, 2)
        weights = np.array([weight for _, _, weight in edges])
        self._source = np.concatenate([ends[:, 0], ends[:, 1]])
        self._target = np.concatenate([ends[:, 1], ends[:, 0]])
        strength = np.bincount(self._source, np.tile(weights, 2), minlength=n + len(texts))
        self._share = np.tile(weights, 2) / strength[self._source]
        self._alone = strength == 0
        if n:
            self._entity_vectors = self._embedder.embed(list(self._entities))
            self._sentence_vectors = self._embedder.embed(list(sentences))

    def search(self, question: str, k: int, /) -> list[str]:
        """Activate, then walk; dense search if the question names no known entity."""
        vector = self._embedder.embed([question])[0]
        dense = self._dense.vectors @ vector
        names = list(dict.fromkeys(name for _, name in capitalised(question)))
        if not names or not self._entities:
            return best_rows(self._dense.ids, dense, k)
        activated, reset = self._activate(names, vector)
        spread = dense.max() - dense.min()
        scaled = (dense - dense.min()) / spread if spread > 0 else np.zeros_like(dense)
        mentions = np.log1p(np.maximum(self._mentions(activated), 0))
        n = len(self._entities)
        reset[n:] = _PASSAGE_WEIGHT * (_PASSAGE_RATIO * scaled + mentions)
        return best_rows(self._dense.ids, self._walk(np.maximum(reset, 0))[n:], k)

    def _activate(
        self, names: list[str], vector: Any
    ) -> tuple[dict[int, tuple[float, int]], _Floats]:
        """Return activation and step of each entity that was reached, and where walks begin."""
        cosines = self._entity_vectors @ self._embedder.embed([name.lower() for name in names]).T
        reset = np.zeros(len(self._entities) + len(self._texts))
        current = {int(c.argmax()): (float(c.max()), 1) for c in cosines.T}
        for entity, (score, _) in current.items():
            reset[entity] = score
        activated = dict(current)
        used: set[int] = set()
        for step in range(2, _STEPS + 1):
            reached: dict[int, tuple[float, int]] = {}
            for entity, (score, _) in current.items():
                if score < _THRESHOLD:
                    continue
                lines = [line for line in self._sentences_of[entity] if line not in used]
                likeness = self._sentence_vectors[lines] @ vector
                for place in np.argsort(-likeness, kind="stable")[:_SENTENCES]:
                    used.add(lines[place])
                    passed = score * float(likeness[place])
                    if passed >= _THRESHOLD:
                        for neighbor in self._entities_in[lines[place]]:
                            reset[neighbor] += passed
                            reached[neighbor] = (passed, step)
            activated |= reached
            current = reached
        return activated, reset

    def _mentions(self, activated: dict[int, tuple[float, int]]) -> _Floats:
        """Return each passage's score from the activated entities that it mentions."""
        names = list(self._entities)
        scores = np.zeros(len(self._texts))
        for entity, (score, step) in activated.items():
            name = names[entity].lower()
            scores += score / step * np.log1p([text.count(name) for text in self._texts])
        return scores

    def _walk(self, reset: _Floats) -> _Floats:
        """Return the stationary shares of a walk that returns to where it began."""
        start = reset / reset.sum()
        shares: _Floats = start
        for _ in range(100):
            walked = np.bincount(self._target, self._share * shares[self._source], len(reset))
            walked = walked + shares[self._alone].sum() * start
            before, shares = shares, _DAMPING * walked + (1 - _DAMPING) * start
            if np.abs(shares - before).sum() < 1e-6:
                break
        return shares
