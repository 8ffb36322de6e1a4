"""Scores to cut at: hits may be left out, and what was learned is not among these."""

from __future__ import annotations

from typing import Any

import pytest

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.errors import ParameterError

CHUNKS = [
    Chunk(id="moss", text="Ida Moss built the schooner Petrel for the ice trade."),
    Chunk(id="hemp", text="Hemp makes strong rope; rope walks stood along the harbour."),
    Chunk(id="bread", text="Leave the dough to rest overnight, then bake the bread."),
    *(
        Chunk(id=f"log{n}", text=f"Log {n}: wind north, sea calm, two sails seen.")
        for n in range(9)
    ),
]
#: It shares no word with what answers it.
QUESTION = "Whose vessels went to the glaciers?"


def test_hits_of_score_0_can_be_left_out() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(CHUNKS)
        assert [hit.score for hit in index.recall("rope walks", k=5).hits][-1] == 0.0
        found = index.recall("rope walks", k=5, min_score=0.0).hits
        assert [hit.chunk.id for hit in found] == ["hemp"]
        assert index.recall("rope walks", min_score=1.0).hits == ()
        assert index.recall("Who renews passports?", min_score=0.2).hits == ()


@pytest.mark.parametrize("value", [-0.1, 1.1, "0.2", True, float("nan")])
def test_a_score_lies_between_0_and_1(value: Any) -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(CHUNKS)
        with pytest.raises(ParameterError, match="from 0 to 1"):
            index.recall("rope", min_score=value)


def test_what_was_learned_once_survives_a_cutoff() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(CHUNKS)
        index.reinforce(index.recall(QUESTION), cited=["moss"])
        recall = index.recall(QUESTION, min_score=0.2)
        assert [hit.chunk.id for hit in recall.hits] == ["moss"]
        (taught,) = recall.hits
        sure = recall.confidence or 0.0
        assert 0.8 * sure <= taught.score <= sure  # and not the square of what was learned
        reworded = index.recall("Whose vessels visited the glaciers?", min_score=0.2)
        assert [hit.chunk.id for hit in reworded.hits] == ["moss"]
        trace = index.inspect.trace(index.recall(QUESTION))
        causes = trace.hits[0].causes
        total = causes.lexical + causes.dense + causes.graph + causes.learned
        assert total == pytest.approx(trace.hits[0].score)
        assert causes.learned > 0.2
        assert index.recall("Who renews passports?", min_score=0.2).hits == ()
