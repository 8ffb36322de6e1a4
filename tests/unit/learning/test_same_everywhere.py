"""The same lessons in the same order lead to the same rankings in every process."""

import json
import os
import subprocess
import sys

import pytest

#: More lessons than are exams, so that some are drawn.
_SCRIPT = """
import json
from hebbgraph import HebbianIndex

TOWNS = [f"{a}{b}" for a in ("Skarn", "Vell", "Tess", "Corr", "Hald") for b in ("ey", "ow", "in")]
TRADES = ("ropes of hemp", "salt over fires", "bells of bronze", "glass at night")
with HebbianIndex.open(":memory:") as index:
    index.add(
        {"id": f"{town}-{n}", "text": f"In {town} they make {trade}, and {TRADES[n - 1]} by day."}
        for town in TOWNS for n, trade in enumerate(TRADES)
    )
    ask = [(f"{how} {trade} in {town}?", f"{town}-{(n - at % 2) % 4}") for town in TOWNS
           for n, trade in enumerate(TRADES)
           for at, how in enumerate(("Who makes", "When were", "Where sold they", "Which wares are",
                                     "Why are there"))]
    recalls = [(index.recall(question), gold) for question, gold in ask]
    for number, (recall, gold) in enumerate(recalls):
        index.reinforce(recall, [gold], actor=f"reader-{number % 7}")
    found = [[(hit.chunk.id, hit.score) for hit in index.recall(question).hits]
             for question, _ in ask[::9]]
    learned = [(one.name, one.value, one.lessons) for one in index.inspect.learned()]
print(json.dumps([found, learned]))
"""


def _run(seed: str) -> tuple[list[list[tuple[str, float]]], list[tuple[str, float, int]]]:
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    found, learned = json.loads(done.stdout)
    return found, learned


def test_two_processes_rank_alike() -> None:
    (one, learned), (other, learned_too) = _run("1"), _run("2")
    assert learned == learned_too
    assert learned[0][2] == 256
    for hits, again in zip(one, other, strict=True):
        assert [id_ for id_, _ in hits] == [id_ for id_, _ in again]
        assert [score for _, score in hits] == pytest.approx(
            [score for _, score in again], abs=1e-9
        )
