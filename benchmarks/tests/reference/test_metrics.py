"""Our metrics against ranx, on random rankings with graded judgements."""

from __future__ import annotations

import random

import pytest

from hebbgraph_bench import metrics

ranx = pytest.importorskip("ranx", reason="ranx, a test dependency, is the oracle here")

IDS = [f"d{number}" for number in range(12)]
K = (1, 3, 10)
PAIRS = {
    "recall": metrics.recall_at_k,
    "precision": metrics.precision_at_k,
    "hit_rate": metrics.hit_at_k,
    "mrr": metrics.reciprocal_rank,
    "ndcg": metrics.ndcg_at_k,
}


@pytest.fixture(scope="module")
def judged() -> list[tuple[list[str], dict[str, int]]]:
    rng = random.Random(7)
    return [
        (
            rng.sample(IDS, rng.randint(1, len(IDS))),
            {chunk_id: rng.choice((0, 1, 1, 2, 3)) for chunk_id in rng.sample(IDS, 5)} | {"d0": 1},
        )
        for _ in range(60)
    ]


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("k", K)
def test_equals_ranx(judged, name: str, k: int) -> None:
    qrels = ranx.Qrels({str(row): relevant for row, (_, relevant) in enumerate(judged)})
    run = ranx.Run(
        {
            str(row): {chunk_id: -float(rank) for rank, chunk_id in enumerate(ranked)}
            for row, (ranked, _) in enumerate(judged)
        }
    )
    ranx.evaluate(qrels, run, f"{name}@{k}")
    theirs = [run.scores[f"{name}@{k}"][str(row)] for row in range(len(judged))]
    ours = [PAIRS[name](ranked, relevant, k) for ranked, relevant in judged]
    assert ours == pytest.approx(theirs, abs=1e-12)
