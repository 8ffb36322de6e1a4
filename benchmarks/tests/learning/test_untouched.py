"""Halves that share nothing, and what learning does to the other one."""

from __future__ import annotations

from hebbgraph import Chunk

from hebbgraph_bench.datasets import Dataset, Query
from hebbgraph_bench.learning.untouched import halves, measure_untouched

BIRDS = ["owl", "heron", "puffin", "sparrow", "nightjar", "cormorant", "gannet", "dipper"]


def birds() -> Dataset:
    corpus = tuple(
        Chunk(id=f"{bird}-{what}", title=bird.title(), text=f"The {bird} {what} by the sea.")
        for bird in BIRDS
        for what in ("nests", "hunts", "sleeps")
    )
    queries = tuple(
        Query(id=f"{bird}-{n}", text=f"Where does the {bird} live, {n}?", relevant=relevant)
        for bird in BIRDS
        for n, relevant in enumerate(
            ({f"{bird}-nests": 1, f"{bird}-hunts": 1}, {f"{bird}-hunts": 1})
        )
    )
    return Dataset(name="birds", corpus=corpus, queries=queries)


def test_halves_share_no_relevant_chunk_and_lose_no_question():
    for seed in range(5):
        learn, rest = halves(birds(), seed=seed)
        assert len(learn) == len(rest) == 8
        one, other = ({id_ for q in half for id_ in q.relevant} for half in (learn, rest))
        assert not one & other


def test_what_was_asked_of_other_birds_moves_nothing_here():
    result = measure_untouched(birds())
    assert len(result.before["R@5"]) == len(result.after["R@5"]) == 24
    assert result.before["R@5"].tolist() == result.after["R@5"].tolist()
    assert result.row()[:3] == ("birds", "right", "24 (too few)")
