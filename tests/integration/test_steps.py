"""Rank steps of a caller's own, through ``recall(steps=...)``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hebbgraph import HebbianIndex, ParameterError, Ranking, RankStep, Recall, Request

TEXTS = [f"Owl number {n} hunts voles at night." for n in range(12)]


@pytest.fixture
def index() -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:") as index:
        index.add([{"id": f"{n:02}", "text": text} for n, text in enumerate(TEXTS)])
        yield index


def ids(recall: Recall) -> list[str]:
    return [hit.chunk.id for hit in recall.hits]


class Even(RankStep):
    """Every second chunk takes part."""

    def narrow(self, request: Request) -> Request:
        allowed = request.allowed & (np.arange(len(request.allowed)) % 2 == 0)
        return replace(request, allowed=allowed)


class Backwards(RankStep):
    """The ranking from behind, as deep as asked."""

    def __init__(self, times: int) -> None:
        self.times = times

    def depth(self, k: int) -> int:
        return self.times * k

    def rank(self, request: Request, ranking: Ranking, k: int) -> Ranking:
        return ranking.reordered(ranking.pairs()[::-1])


class Last(RankStep):
    """The last of the hits alone."""

    def hits(self, k: int) -> int:
        return 2 * k

    def finish(self, recall: Recall, k: int) -> Recall:
        return recall.model_copy(update={"hits": recall.hits[-1:]})


def test_a_step_narrows_reorders_and_finishes(index: HebbianIndex) -> None:
    plain = ids(index.recall("owl voles", k=12))
    assert sorted(ids(index.recall("owl voles", k=12, steps=[Even()]))) == sorted(plain)[::2]
    assert ids(index.recall("owl voles", k=2, steps=[Backwards(3)])) == plain[4:6][::-1]
    last = index.recall("owl voles", k=3, steps=[Last()])
    assert [(hit.chunk.id, hit.rank) for hit in last.hits] == [(plain[5], 1)]


def test_steps_follow_one_another(index: HebbianIndex) -> None:
    plain = ids(index.recall("owl voles", k=12))
    deeper = index.recall("owl voles", k=2, steps=[Backwards(3), Last()])
    # Twice k hits, of three times as many ranked chunks from behind: the last of those.
    assert ids(deeper) == [plain[8]]


def test_what_no_step_changes_stays(index: HebbianIndex) -> None:
    plain, stepped = index.recall("owl", k=5), index.recall("owl", k=5, steps=[RankStepOnly()])
    assert plain.hits == stepped.hits


class RankStepOnly(RankStep):
    """Overrides nothing."""


def test_a_step_that_is_misspelt_is_refused(index: HebbianIndex) -> None:
    class Misspelt(RankStep):
        def finnish(self, recall: Recall, k: int) -> Recall:
            raise AssertionError

    with pytest.raises(ParameterError, match="'finnish' of the step Misspelt; did you mean 'fin"):
        index.recall("owl", steps=[Misspelt()])
    assert index.recall("owl", steps=[RankStep()]).hits == index.recall("owl").hits


@pytest.mark.parametrize("steps", [[Even], ["even"], "even", 3, [None]])
def test_what_is_no_step_is_refused(index: HebbianIndex, steps: Any) -> None:
    with pytest.raises(ParameterError, match=r"subclasses of hebbgraph\.RankStep"):
        index.recall("owl", steps=steps)
