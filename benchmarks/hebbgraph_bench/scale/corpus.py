"""Many chunks, questions and vectors, made from the sentences of evaluation sets.

Sentences are real, names are not. Every name in a sentence is replaced by one of an invented
population, drawn by Zipf's law, so tags are distributed as in a corpus of that size: a few in very
many chunks, most in two or three, and ever new ones. (With the original names, the few thousand
sentences of the sets would make every tag of a million chunks a hub, and hubs pass nothing on.)
"""

from __future__ import annotations

import math
import random
import re
import zlib
from collections.abc import Iterator, Sequence
from time import perf_counter

import numpy as np
from hebbgraph.errors import ParameterError
from hebbgraph.records import Chunk
from numpy.typing import NDArray

from hebbgraph_bench.datasets import Dataset

__all__ = ["ClusteredEmbedder", "Population", "Recombined"]

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"'(]?[A-Z0-9])")
_NAME = re.compile(r"[A-Z][a-zà-ÿ]+(?: [A-Z][a-zà-ÿ]+)+|(?<=[a-z,] )[A-Z][a-zà-ÿ]{2,}")
_WORDS = (60, 100)
_CHUNKS_OF_ONE = 2  # chunks per name as a title, on average
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "en", "il", "or", "u")]
_FORENAMES = 2000
_FALL = 0.39


class Population:
    """Invented names, drawn by Zipf's law: the r-th with a chance proportional to 1/r.

    Parameters
    ----------
    size : int

    Examples
    --------
    >>> Population(10).name(3)
    'Borba Borbaba'
    """

    def __init__(self, size: int) -> None:
        self.size = max(size, 1)
        self._log_size = math.log(self.size + 1)

    def draw(self, rng: random.Random) -> str:
        """Draw a name by Zipf's law."""
        return self.name(int(math.exp(rng.random() * self._log_size)) - 1)

    def name(self, number: int) -> str:
        """Return the name with a number: a forename that others share, and a surname."""
        return f"{_word(number % _FORENAMES, 2)} {_word(number, 3)}"


class Recombined:
    """Chunks of 60 words and a few more, and questions about the names in their titles.

    Parameters
    ----------
    datasets : sequence of Dataset
        Where sentences and questions come from.
    n : int
        Number of chunks; the population grows with it.
    seed : int

    Raises
    ------
    ParameterError
        If there is no sentence to draw, or ``n`` is not positive.
    """

    def __init__(self, datasets: Sequence[Dataset], n: int, *, seed: int = 0) -> None:
        self.n = n
        self.seed = seed
        self.population = Population(n // _CHUNKS_OF_ONE)
        self._sentences = [
            _NAME.split(sentence)
            for dataset in datasets
            for chunk in dataset.corpus
            for sentence in _SENTENCE_END.split(chunk.text)
            if 3 <= len(sentence.split()) <= _WORDS[1] - _WORDS[0]
        ]
        self._questions = [
            _NAME.split(query.text) for dataset in datasets for query in dataset.queries
        ]
        if not self._sentences or n < 1:
            raise ParameterError(
                "recombining takes sets with sentences of 3 to"
                f" {_WORDS[1] - _WORDS[0]} words and n of at least 1, got"
                f" {len(self._sentences)} sentences and n={n!r}"
            )

    def chunks(self, start: int = 0, stop: int | None = None) -> Iterator[Chunk]:
        """Yield chunks by number; a chunk depends on its number and the seed alone."""
        for number in range(start, self.n if stop is None else stop):
            rng = random.Random(self.seed * 1_000_003 + number)
            sentences, words = [], 0
            while words < _WORDS[0]:
                parts = self._sentences[int(rng.random() * len(self._sentences))]
                sentences.append(self._fill_names(parts, rng))
                words += len(sentences[-1].split())
            title = self.population.name(int(rng.random() * self.population.size))
            yield Chunk(
                id=f"s{number:08}",
                title=title,
                text=" ".join(sentences),
                metadata={"hundredth": number % 100},
            )

    def questions(self, count: int) -> list[str]:
        """Draw questions of the sets, with names of the population."""
        rng = random.Random(self.seed)
        if not self._questions:
            return []
        return [self._question(rng.choice(self._questions), rng) for _ in range(count)]

    def _question(self, parts: list[str], rng: random.Random) -> str:
        title = self.population.name(int(rng.random() * self.population.size))
        if len(parts) == 1:
            return f"{parts[0].rstrip('?')} {title}?"
        return parts[0] + title + self._fill_names(parts[1:], rng)

    def _fill_names(self, parts: list[str], rng: random.Random) -> str:
        if len(parts) == 1:
            return parts[0]
        text = [parts[0]]
        for part in parts[1:]:
            text += (self.population.draw(rng), part)
        return "".join(text)


class ClusteredEmbedder:
    """Simulated vectors: clustered by name, and names by topic.

    They cost as much as real ones and have similar cosines (about .1 between topics, .35 within
    a topic, .6 for one name). Their variance falls by direction like that of all-MiniLM-L6-v2
    (.40 of it in the first 32, .58 in 64, .79 in 128, .91 in 192). Beyond that they have no
    meaning.

    Parameters
    ----------
    dimension : int
    seed : int

    Attributes
    ----------
    seconds : float
        Time spent so far.
    """

    _NAMES, _TOPICS = 16_384, 500
    _SHARES = (0.1, 0.25, 0.25, 0.4)  # share of variance: common, topic, name, text

    def __init__(self, dimension: int = 384, *, seed: int = 0) -> None:
        self.model_name = f"clustered-{dimension}"
        self.dimension = dimension
        self.seconds = 0.0
        self._rng = np.random.default_rng(seed)
        fixed = np.random.default_rng(1)
        self._all = _unit(fixed, 1, dimension)
        self._topics = _unit(fixed, self._TOPICS, dimension)
        self._names = _unit(fixed, self._NAMES, dimension)

    def embed_documents(self, texts: list[str], /) -> NDArray[np.float32]:
        """Return one vector per text, by its first name."""
        began = perf_counter()
        codes = np.fromiter(map(_code, texts), np.int64, len(texts))
        parts = (
            self._all,
            self._topics[codes % self._TOPICS],
            self._names[codes % self._NAMES],
            _unit(self._rng, len(texts), self.dimension),
        )
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for share, part in zip(self._SHARES, parts, strict=True):
            vectors += np.float32(math.sqrt(share)) * part
        result: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        self.seconds += perf_counter() - began
        return result

    def embed_query(self, text: str, /) -> NDArray[np.float32]:
        """Return a vector."""
        vector: NDArray[np.float32] = self.embed_documents([text])[0]
        return vector


def _unit(rng: np.random.Generator, n: int, dimension: int) -> NDArray[np.float32]:
    vectors = rng.standard_normal((n, dimension), dtype=np.float32)
    vectors *= np.exp(-np.arange(dimension, dtype=np.float32) / (_FALL * dimension))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def _code(text: str) -> int:
    match = _NAME.search(text)
    return zlib.crc32((text if match is None else match[0]).encode())


def _word(number: int, at_least: int) -> str:
    syllables: list[str] = []
    while number or len(syllables) < at_least:
        number, digit = divmod(number, len(_SYLLABLES))
        syllables.append(_SYLLABLES[digit])
    return "".join(syllables).capitalize()
