"""Tags from an embedder: phrases of a chunk that are close to it and unlike each other.

KeyBERT's method [1]_ with the embedder of the index, implemented here because the library depends
on scikit-learn and loads a model of its own.

References
----------
.. [1] Grootendorst (2020), KeyBERT. https://github.com/MaartenGr/KeyBERT
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from hebbgraph.embedders import embed_passages, embedder_name
from hebbgraph.formulas.diversity import marginal_relevance
from hebbgraph.formulas.parameters import check_range
from hebbgraph.protocols import Embedder
from hebbgraph.records import Chunk
from hebbgraph.text import display, phrase_key, proposals, tokenize
from hebbgraph.text.tokens import stop_words

__all__ = ["KeyphraseTagger", "phrases_of"]

_BREAK = re.compile(r"[.,;:!?()\[\]{}\"“”\n]+")
_MAX_PHRASES = 200  # embedded per chunk, the most frequent


def phrases_of(chunk: Chunk, max_words: int = 3) -> list[str]:
    """Return the names in a chunk and its runs of words between stop words.

    Examples
    --------
    >>> phrases_of(Chunk(text="The yard built boats, and Ida Moss kept the yard."))[:3]
    ['ida moss', 'yard', 'yard built boats']
    """
    stop = stop_words()
    counts: Counter[str] = Counter()
    for part in _BREAK.split(chunk.text):
        run: list[str] = []
        for token in [*tokenize(part), ""]:
            if token and token not in stop:
                run.append(token)
                continue
            for size in range(1, max_words + 1):
                for at in range(len(run) - size + 1):
                    counts[phrase_key(" ".join(run[at : at + size]))] += 1
            run = []
    by_kind = proposals(chunk.text, chunk.title)
    for kind in ("subject", "name", "capital", "opener", "acronym", "code"):
        counts.update(by_kind.get(kind, ()))
    counts.pop("", None)
    ranked = sorted(counts, key=lambda key: (-counts[key], -key.count(" "), key))
    return [display(key) for key in ranked[:_MAX_PHRASES]]


class KeyphraseTagger:
    """Chooses keyphrases with the embedder of the index, like KeyBERT.

    Parameters
    ----------
    embedder : Embedder
    tags_per_chunk : int, at least 1
    diversity : float, in [0, 1]
        0 chooses the closest phrases, however alike; see
        :func:`~hebbgraph.formulas.diversity.marginal_relevance`.
    max_words : int, at least 1

    Examples
    --------
    >>> class Letters:
    ...     def embed_documents(self, texts):
    ...         return [[text.count(letter) + 0.1 for letter in "aeiou"] for text in texts]
    ...     def embed_query(self, text):
    ...         return self.embed_documents([text])[0]
    >>> KeyphraseTagger(Letters(), tags_per_chunk=2)(Chunk(text="Boats of oak and ash."))
    ('boats', 'oak')
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        tags_per_chunk: int = 10,
        diversity: float = 0.3,
        max_words: int = 3,
    ) -> None:
        self.embedder = embedder
        self.tags_per_chunk = tags_per_chunk
        self.diversity = diversity
        self.max_words = max_words
        check_range(self, ("tags_per_chunk", "max_words"), 1)
        check_range(self, ("diversity",), 0, 1)

    @property
    def name(self) -> str:
        """Name of the embedder, and the parameters."""
        constants = f"{self.tags_per_chunk}:{self.diversity:g}:{self.max_words}"
        return f"keyphrases:{embedder_name(self.embedder)}:{constants}"

    def __call__(self, chunk: Chunk, /) -> tuple[str, ...]:
        """Tag one chunk."""
        phrases = phrases_of(chunk, self.max_words)
        if not phrases:
            return ()
        whole = embed_passages(self.embedder, [chunk])[0]
        vectors = embed_passages(self.embedder, [Chunk(text=phrase) for phrase in phrases])
        chosen = marginal_relevance(
            (vectors @ whole).astype(np.float64),
            (vectors @ vectors.T).astype(np.float64),
            self.tags_per_chunk,
            diversity=self.diversity,
        )
        return tuple(phrases[at] for at in chosen)
