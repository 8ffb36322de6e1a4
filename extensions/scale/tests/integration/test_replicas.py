"""Replicas over one PostgreSQL, each with derived parts of its own: what one writes, all know."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hebbgraph import HebbianIndex, IndexPool
from hebbgraph.errors import IndexLockedError
from pg_server import PostgresServer

from hebbgraph_scale import open_replica, publish
from hebbgraph_scale.build.building import build
from hebbgraph_scale.build.engines import InProcessEngine
from hebbgraph_scale.build.sources import partitions_of

pytestmark = pytest.mark.skipif(PostgresServer.missing() is not None, reason="no PostgreSQL")

CHUNKS = [
    {"id": f"c{n}", "title": f"Keeper {n}", "text": f"Keeper {n} kept lamp {n % 7} of Saltmere."}
    for n in range(40)
]
QUESTIONS = ["Who kept lamp 3?", "What did Keeper 12 do?", "Which lamps has Saltmere?"]

Replica = Callable[[str], HebbianIndex]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    running = PostgresServer()
    yield running
    running.remove()


@pytest.fixture
def replica(server: PostgresServer, tmp_path: Path) -> Iterator[Replica]:
    url = server.url(server.new_schema())
    with contextlib.ExitStack() as stack:

        def opened(name: str) -> HebbianIndex:
            bucket = str(tmp_path / "bucket")
            index = open_replica(url, replica_of=bucket, cache_dir=tmp_path / name)
            return stack.enter_context(index)

        yield opened


def ranked(index: HebbianIndex) -> list[list[tuple[str, float]]]:
    return [
        [(hit.chunk.id, round(hit.score, 9)) for hit in index.recall(question).hits]
        for question in QUESTIONS
    ]


def test_what_one_replica_writes_and_learns_the_next_recall_of_another_knows(
    replica: Replica, tmp_path: Path
) -> None:
    one = replica("one")
    one.add(CHUNKS)
    publish(one, str(tmp_path / "bucket"))
    two = replica("two")
    two.add([{"id": "late", "title": "Keeper 99", "text": "Keeper 99 kept no lamp."}])
    assert one.recall("What did Keeper 99 do?").hits[0].chunk.id == "late"
    before = ranked(one)
    recall = two.recall(QUESTIONS[0])
    cited = recall.hits[4].chunk.id
    two.reinforce(recall, cited=[cited])
    assert ranked(one) != before
    assert ranked(one) == ranked(two) == ranked(replica("anew"))


def test_after_deletes_compacting_makes_scores_equal(replica: Replica, tmp_path: Path) -> None:
    one, two = replica("one"), replica("two")
    one.add(CHUNKS)
    ranked(two)
    one.delete([f"c{n}" for n in range(0, 40, 3)])
    two.add([{**CHUNKS[1], "text": "Keeper 1 left Saltmere."}])
    for index in (one, two):
        index.compact()
    assert ranked(one) == ranked(two) == ranked(replica("anew"))


def test_a_second_build_is_refused_wherever_it_runs(replica: Replica, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "x", "text": "The Salt Lantern burned."}\n')
    parts = partitions_of([str(tmp_path / "a.jsonl")])
    refused: list[str] = []

    def again(told: object) -> None:
        if not refused:
            with pytest.raises(IndexLockedError, match="another build") as caught:
                build(replica("two").parts, parts, InProcessEngine())
            refused.append(str(caught.value))

    one = replica("one")
    assert build(one.parts, parts, InProcessEngine(), on_progress=again).added.added == 1
    assert refused
    assert build(replica("three").parts, parts, InProcessEngine()).added.unchanged == 1


def test_tenants_of_a_process_share_its_connections(server: PostgresServer, tmp_path: Path) -> None:
    def connected() -> int:
        rows = server.execute("SELECT 1 FROM pg_stat_activity WHERE application_name = 'hebbgraph'")
        return len(rows)

    before = connected()
    url, tenants = server.url(server.new_schema()), [f"tenant{n}" for n in range(12)]
    with IndexPool(url, cache_dir=tmp_path / "cache") as pool:
        for tenant in tenants:
            pool[tenant].add([f"A note of {tenant}."])
        for tenant in tenants:
            (hit,) = pool[tenant].recall("Whose note is it?").hits
            assert hit.chunk.text == f"A note of {tenant}."
        assert len(pool) == len(tenants)
        assert 1 <= connected() - before < len(tenants)
    deadline = time.monotonic() + 10
    while connected() > before and time.monotonic() < deadline:
        time.sleep(0.02)  # the server takes a moment to notice
    assert connected() == before
