"""Builds whose driver, or a node of whose cluster, dies: opt-in (HEBBGRAPH_SOAK), minutes long."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hebbgraph import HebbianIndex

from hebbgraph_scale.build.building import build
from hebbgraph_scale.build.engines import InProcessEngine, engine_named
from hebbgraph_scale.build.sources import JsonLines, partitions_of

pytestmark = pytest.mark.skipif(
    not os.environ.get("HEBBGRAPH_SOAK"), reason="takes minutes; make soak runs it"
)

_PARTITIONS = 7
_NAMES = ("Ada Marsh", "Boris Novak", "Chen Okoro", "Dalia Petrel", "Emil Quint")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "letters.jsonl"
    with path.open("w") as file:
        for number in range(4_000):
            one, other = _NAMES[number % 5], _NAMES[number * 7 % 5]
            text = f"{one} wrote to {other} about Glass Hill {number % 50}. " * 4
            file.write(json.dumps({"id": f"l{number}", "title": one, "text": text}) + "\n")
    return path


def _partitions(table: Path) -> list[JsonLines]:
    (whole,) = partitions_of([str(table)])
    bounds = [whole.size * at // _PARTITIONS for at in range(_PARTITIONS + 1)]
    return [
        JsonLines(whole.path, whole.stamp, start, stop - start) for start, stop in pairwise(bounds)
    ]


def _content(index: HebbianIndex) -> Any:
    recall = index.recall("What did Ada Marsh write about Glass Hill 7?", k=10)
    stats = index.stats()
    ranking = [(hit.chunk.id, round(hit.score, 9)) for hit in recall.hits]
    return stats.chunks, stats.tags, stats.postings, ranking


@pytest.fixture(scope="module")
def expected(table: Path) -> Any:
    with HebbianIndex.open(":memory:") as index:
        index.add(record for part in _partitions(table) for record in part.read())
        return _content(index)


@pytest.mark.parametrize("results", [1, 4, 9])
def test_a_driver_that_was_killed_is_gone_on_with(
    results: int, table: Path, tmp_path: Path, expected: Any
) -> None:
    db = tmp_path / "index"
    command = [sys.executable, "-m", "hebbgraph", "build", str(table), "--db", str(db)]
    with subprocess.Popen([*command, "--workers", "2"], start_new_session=True) as driver:
        while driver.poll() is None and len(list(db.glob("build/*-*/summary.json"))) < results:
            time.sleep(0.01)
        os.killpg(driver.pid, signal.SIGKILL)
    assert subprocess.run([*command, "--workers", "1"], check=False).returncode == 0
    with HebbianIndex.open(db) as index:
        assert _content(index) == expected
        assert index.maintenance.doctor().ok
    assert not (db / "build").exists()


@pytest.fixture
def cluster() -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason="needs the extra hebbgraph[ray]")
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes.add_node(num_cpus=1)
    ray.init(address=nodes.address, log_to_driver=False)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def test_a_node_dies_and_the_driver_too(
    cluster: Any, table: Path, tmp_path: Path, expected: Any
) -> None:
    lost: list[Any] = []

    def lose(told: object) -> None:
        if not lost:
            lost.append(cluster.worker_nodes.copy().pop())
            cluster.remove_node(lost[0], allow_graceful=False)

    engine = engine_named("ray")
    assert engine.workers == 2
    with HebbianIndex.open(tmp_path / "node") as index:
        build(index.parts, _partitions(table), engine, on_progress=lose)
        assert lost
        assert _content(index) == expected

    def die(told: object) -> None:
        raise KeyboardInterrupt

    with (
        HebbianIndex.open(tmp_path / "driver") as index,
        pytest.raises(KeyboardInterrupt),
    ):
        build(index.parts, _partitions(table), engine, on_progress=die)
    with HebbianIndex.open(tmp_path / "driver") as index:
        assert build(index.parts, _partitions(table), InProcessEngine()).reused > 0
        assert _content(index) == expected


class _Letters:
    model_name = "letters"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0 + text.count(letter) for letter in "aeiou"] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class _Watched(_Letters):
    """Tells where it works, and dies at its first call."""

    def __init__(self, told: Path) -> None:
        import ray

        self._at = told / f"{'gpu' if ray.get_gpu_ids() else 'cpu'}-{os.getpid()}"
        self._at.touch()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        died = self._at.with_name("died")
        if not died.exists():
            died.touch()
            os._exit(1)
        return super().embed_documents(texts)


@pytest.mark.parametrize("gpus", [None, 0], ids=["on all GPUs", "on no GPU"])
def test_actors_embed_where_there_are_gpus(
    cluster: Any, gpus: int | None, table: Path, tmp_path: Path
) -> None:
    cluster.add_node(num_cpus=1, num_gpus=2)
    (told := tmp_path / "told").mkdir()
    engine = engine_named("ray", gpus=gpus)
    with HebbianIndex.open(tmp_path / "index") as index:
        factory = functools.partial(_Watched, told)
        build(index.parts, _partitions(table), engine, embedder=factory)
        engine.close()
        assert index.stats().chunks == 4_000
        assert index.maintenance.reembed(_Letters()) == 0  # each chunk has its vector
        assert index.maintenance.doctor().ok
    where = [file.name[:3] for file in told.glob("?pu-*")]
    assert set(where) == ({"gpu"} if gpus is None else {"cpu"})
    assert gpus == 0 or len(where) == 3  # one was started anew
