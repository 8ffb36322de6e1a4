"""A second look: its share in the order, and recalls that survive it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph import HebbianIndex, ParameterError, Recall, RerankSettings, Settings
from hebbgraph.recall.judging import fused_scores

CORPUS = [
    {"id": f"owl-{n}", "title": f"Owl {n}", "text": "owl " * (6 - n) + f"hunts by night {n}"}
    for n in range(6)
]
QUESTION = "Which owl hunts by night?"


def opened(reranker: Any, **rerank: Any) -> HebbianIndex:
    settings = Settings(rerank=RerankSettings(**rerank))
    index = HebbianIndex.open(":memory:", reranker=reranker, settings=settings)
    index.add(CORPUS)
    return index


def order(recall: Recall) -> list[str]:
    return [hit.chunk.id for hit in recall.hits]


@pytest.fixture
def plain() -> Iterator[Recall]:
    with opened(None) as index:
        yield index.recall(QUESTION)


class CrossEncoder:
    """The interface of sentence-transformers: pairs to an array, and itself callable."""

    def __init__(self, scale: float = 1.0, shift: float = 0.0) -> None:
        self.scale, self.shift = scale, shift
        self.pairs: list[tuple[str, str]] = []

    def __call__(self, *args: Any) -> Any:
        raise AssertionError("the forward pass of the network takes no texts")

    def predict(self, sentences: list[tuple[str, str]]) -> Any:
        self.pairs = sentences
        last = np.array([float(text[-1]) for _, text in sentences], np.float32)
        return self.scale * last + self.shift


def test_a_cross_encoder_reorders_and_what_it_said_is_kept(plain: Recall) -> None:
    model = CrossEncoder()
    with opened(model, weight=1.0) as index:
        recall = index.recall(QUESTION, k=3)
        assert order(recall) == ["owl-5", "owl-4", "owl-3"]
        assert [hit.rank for hit in recall.hits] == [1, 2, 3]
        assert [hit.reranked for hit in recall.hits] == [5.0, 4.0, 3.0]
        assert [hit.score for hit in recall.hits] == [hit.score for hit in plain.hits[:3]]
        assert (QUESTION, f"Owl 0\n{CORPUS[0]['text']}") in model.pairs
        assert index.explain(recall, "owl-5").reranked == 5.0
        assert index.reinforce(recall, cited=["owl-5"]).cited == ("owl-5",)


def test_the_scale_does_not_matter() -> None:
    found = []
    for model in (CrossEncoder(), CrossEncoder(1e-6, 0.5), CrossEncoder(40.0, -900.0)):
        with opened(model, weight=0.5) as index:
            found.append([(hit.chunk.id, hit.score) for hit in index.recall(QUESTION).hits])
    assert found[0] == found[1] == found[2]


def test_only_the_first_hits_are_scored(plain: Recall) -> None:
    asked: list[int] = []

    def count(question: str, texts: list[str]) -> list[float]:
        asked.append(len(texts))
        return [float(n) for n in range(len(texts))]

    with opened(count, first=3, weight=1.0) as index:
        assert order(index.recall(QUESTION)) == [*order(plain)[2::-1], *order(plain)[3:]]
        assert order(index.recall(QUESTION, k=1)) == [order(plain)[2]]
        index.recall("Nothing like it?")
    assert asked == [3, 3]


@pytest.mark.parametrize(
    ("reranker", "reason"),
    [
        (lambda question, texts: 1 / 0, "ZeroDivisionError"),
        (lambda question, texts: [1.0], r"expected 6 scores, got the shape \(1,\)"),
        (lambda question, texts: [[1.0, 2.0]] * len(texts), r"shape \(6, 2\)"),
        (lambda question, texts: [float("nan")] * len(texts), "NaN or infinite"),
        (lambda question, texts: ["good"] * len(texts), "could not convert"),
        (lambda question, texts: None, "shape"),
        (lambda question: [], "TypeError"),
    ],
)
def test_a_recall_survives_its_failure_and_says_so(
    plain: Recall, reranker: Any, reason: str
) -> None:
    with opened(reranker) as index:
        recall = index.recall(QUESTION)
    assert [(hit.chunk.id, hit.score) for hit in recall.hits] == [
        (hit.chunk.id, hit.score) for hit in plain.hits
    ]
    (note,) = recall.notes
    assert note.startswith("not reranked: ")
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(note)


def test_a_stalled_one_is_left_behind_and_not_asked_again_and_again(plain: Recall) -> None:
    free = threading.Event()
    asked: list[int] = []

    def stall(question: str, texts: list[str]) -> list[float]:
        asked.append(1)
        free.wait()
        return [0.0] * len(texts)

    with opened(stall, timeout_seconds=0.02) as index:
        recalls = [index.recall(QUESTION) for _ in range(7)]
        assert all(order(recall) == order(plain) for recall in recalls)
        assert "no answer within" in recalls[0].notes[-1]
        assert "4 earlier calls have not returned" in recalls[-1].notes[-1]
        assert len(asked) == 4
        free.set()


def test_async_rerankers_and_recalls(plain: Recall) -> None:
    async def backwards(question: str, texts: list[str]) -> list[float]:
        await asyncio.sleep(0)
        return [float(n) for n in range(len(texts))]

    async def both() -> tuple[Recall, int]:
        beats = 0

        async def beat() -> None:
            nonlocal beats
            while True:
                beats += 1
                await asyncio.sleep(0)

        with opened(backwards, weight=1.0) as index:
            task = asyncio.create_task(beat())
            recall = await index.arecall(QUESTION)
            task.cancel()
        return recall, beats

    recall, beats = asyncio.run(both())
    assert order(recall) == order(plain)[::-1]
    assert beats > 1, "the loop went on"


def test_what_is_no_reranker_is_refused() -> None:
    with pytest.raises(ParameterError, match="reranker is a callable"):
        HebbianIndex.open(":memory:", reranker="a model's name")
    with pytest.raises(ParameterError, match="first"):
        Settings(rerank={"first": 1})  # type: ignore[arg-type]


_SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=12).map(
    lambda some: np.array(sorted(some, reverse=True))
)


@given(_SCORES, st.randoms(use_true_random=False), st.floats(0, 1))
def test_fusing_permutes_and_keeps_the_range(own: Any, random: Any, weight: float) -> None:
    said = np.array(random.sample(range(len(own)), len(own)), float)
    fused = fused_scores(own, said, weight)
    assert own.min() - 1e-12 <= fused.min() <= fused.max() <= own.max() + 1e-12
    assert fused.sum() == pytest.approx(own.sum())
    assert fused_scores(own, np.exp(said), weight).tolist() == fused.tolist()
    assert fused_scores(own, np.zeros(len(own)), weight) == pytest.approx(own)
    assert fused_scores(own, said, 0.0).tolist() == own.tolist()
