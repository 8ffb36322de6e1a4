"""A vector search of the caller's own, as docs/extending.md shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hebbgraph import HebbianIndex, ParameterError, Settings
from hebbgraph.vectors.searches import search_factory

WORDS = ("piston", "fern", "reef", "owl")
CHUNKS = [
    {"id": f"{word}-{n}", "text": f"{word} number {n}", "metadata": {"n": n}}
    for word in WORDS
    for n in range(5)
]


class Bag:
    """A vector with a dimension for each word."""

    name = "bag"

    def embed_query(self, text: str) -> list[float]:
        return [float(word in text) + 0.01 * len(text) for word in WORDS]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


class Buckets:
    """Candidates are the vectors whose largest component is that of the query."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self.bucket = np.empty(0, np.int64)
        self.extend(vectors)

    def __len__(self) -> int:
        return len(self.bucket)

    def extend(self, vectors: NDArray[np.float32]) -> None:
        self.bucket = np.append(self.bucket, vectors.argmax(axis=1))

    def candidates(
        self, query: NDArray[np.float32], limit: int, allowed: NDArray[np.bool_], cosines: Any
    ) -> NDArray[np.int64]:
        return np.flatnonzero(allowed & (self.bucket == query.argmax()))


def _dense(index: HebbianIndex, vector: list[float]) -> list[str]:
    """Chunks that the vector search alone brings, as no word of the question is known."""
    return sorted(hit.chunk.id for hit in index.recall("zzz", k=5, vector=vector).hits)


def test_a_callers_search_is_used(tmp_path: Path) -> None:
    built: list[int] = []

    def search(vectors: NDArray[np.float32]) -> Buckets:
        built.append(len(vectors))
        return Buckets(vectors)

    settings = Settings(vector_search=search)
    owls = sorted(f"owl-{n}" for n in range(5))
    with HebbianIndex.open(tmp_path / "i", embedder=Bag(), settings=settings) as index:
        index.add(CHUNKS[:10])
        index.add(CHUNKS[10:])
        assert built == [10]  # then it was extended
        asked = Bag().embed_query("owl")
        assert _dense(index, asked) == owls
        few = index.recall("zzz", k=2, vector=asked, where={"n": {"$lt": 2}}).hits
        assert {hit.chunk.id for hit in few} == {"owl-0", "owl-1"}
        index.delete(["owl-0"])
        index.compact()
        assert built == [10, 19]
        assert "owl-0" not in _dense(index, asked)
    with HebbianIndex.open(tmp_path / "i", embedder=Bag(), settings=settings) as index:
        assert set(_dense(index, asked)) > {"owl-1", "owl-2"}
        assert built == [10, 19, 19]


def _answering(answer: Callable[[int], Any]) -> type[Buckets]:
    class Answering(Buckets):
        def candidates(self, query: Any, limit: int, allowed: Any, cosines: Any) -> Any:
            return answer(len(self))

    return Answering


def _fail(*_: Any) -> Any:
    raise RuntimeError("the service is away")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (_fail, "candidates raised RuntimeError: the service is away"),
        (lambda n: None, "integers, got object"),
        (lambda n: np.array([0.5, 1.0]), "integers, got float64"),
        (lambda n: np.array([[0, 1]]), r"of shape \(1, 2\)"),
        (lambda n: np.array([0, n]), r"positions must lie in \[0, 20\), got 0 to 20"),
        (lambda n: np.array([-1]), r"got -1 to -1"),
        (lambda n: np.arange(n), "the filter excludes"),
        (lambda n: np.ones(n, np.bool_), "integers, got bool"),
    ],
)
def test_a_wrong_answer_is_a_clear_error(answer: Callable[[int], Any], message: str) -> None:
    settings = Settings(vector_search=_answering(answer))
    with HebbianIndex.open(":memory:", embedder=Bag(), settings=settings) as index:
        index.add(CHUNKS)
        with pytest.raises(ParameterError, match=f"vector_search=Answering: .*{message}"):
            index.recall("owl", where={"n": {"$gt": 2}})


def test_positions_may_come_in_any_order_and_twice() -> None:
    search = search_factory(_answering(lambda n: np.array([3, 1, 3], np.uint8)))(np.eye(4, 4))  # type: ignore[arg-type]
    found = search.candidates(np.ones(4, np.float32), 2, np.ones(4, np.bool_), _fail)
    assert found.tolist() == [1, 3]
    assert found.dtype == np.int64


def test_a_search_that_cannot_be_built_or_extended_is_a_clear_error() -> None:
    vectors = np.eye(4, dtype=np.float32)
    with pytest.raises(ParameterError, match=r"_fail: building raised RuntimeError"):
        search_factory(_fail)(vectors)

    class Forgetful(Buckets):
        def extend(self, more: NDArray[np.float32]) -> None:
            super().extend(more[:2])

    with pytest.raises(ParameterError, match="Forgetful: it holds 2 vectors, and was given 4"):
        search_factory(Forgetful)(vectors)
    search = search_factory(Forgetful)(vectors[:2])
    with pytest.raises(ParameterError, match="it holds 4 vectors, and was given 5"):
        search.extend(vectors[:3])


@pytest.mark.parametrize(
    ("search", "message"),
    [("usearch", 'take "ivf" for many vectors, or "quantized"'), ("annoy", "callable"), (7, "7")],
)
def test_an_unknown_search_is_refused(search: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Settings(vector_search=search)
    copied = Settings().model_copy(update={"vector_search": search})  # which is not validated
    with pytest.raises(ParameterError, match="vector_search"):
        HebbianIndex.open(":memory:", embedder=Bag(), settings=copied)
