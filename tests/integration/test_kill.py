"""SIGKILL at random instants: what was acknowledged stays, the batch in flight is whole."""

from __future__ import annotations

import io
import json
import os
import random
import runpy
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import hebbgraph
from hebbgraph import Chunk, HebbianIndex
from hebbgraph.store import schema
from hebbgraph.store.database import DATABASE_NAME

N_KILLS = int(os.environ.get("HEBBGRAPH_KILLS", "24"))  # more under make soak
SEED = 20_240_611
#: At first; where a machine does no batch in that time, a writer lives longer.
LONGEST_LIFE_SECONDS = 0.5


class State(NamedTuple):
    """What an index holds: chunks by id, and the recalls that feedback is about."""

    chunks: dict[str, Chunk]
    fed: frozenset[str] = frozenset()


pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")


def _after(state: State, step: dict[str, Any]) -> State:
    if "delete" in step:
        gone = step["delete"]
        return state._replace(chunks={k: c for k, c in state.chunks.items() if k not in gone})
    if "add" in step:
        fresh = {values["id"]: Chunk.model_validate(values) for values in step["add"]}
        return state._replace(chunks=state.chunks | fresh)
    if "reinforce" in step:
        return state._replace(fed=state.fed | {step["reinforce"]})
    return state  # compact, migrate


def _possible(state: State, lines: list[dict[str, Any]]) -> list[State]:
    """The state after all acknowledged batches, and that with the one in flight."""
    in_flight = None
    for line in lines:
        if "begun" in line:
            in_flight = _after(state, line["begun"])
        elif "done" in line:
            assert in_flight is not None
            state, in_flight = in_flight, None
    return [state] if in_flight is None else [state, in_flight]


def _held(index: HebbianIndex) -> State:
    fed = [feedback.recall_id for _, feedback in index.parts.log.after(0)]
    assert len(fed) == len(set(fed))
    return State(
        {c.id: c for c in index.parts.truth.fetch(index.parts.truth.rows_by_id()).values()},
        frozenset(fed),
    )


def _assert_recalls_like_a_rebuild(index: HebbianIndex, fresh: HebbianIndex) -> None:
    """With what was learned; and without what BM25 still counts of deleted chunks."""
    index.compact()
    taught = io.StringIO()
    index.export_feedback(taught)
    taught.seek(0)
    fresh.import_feedback(taught)
    for question in ("mill", "Who met Ada Fenn at Gull Rock?"):
        found, expected = (one.recall(question, k=30).hits for one in (index, fresh))
        assert [hit.chunk.id for hit in found] == [hit.chunk.id for hit in expected]
        assert [hit.score for hit in found] == pytest.approx([h.score for h in expected], abs=1e-9)


def test_kills(
    tmp_path: Path,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = runpy.run_path(str(Path(__file__).with_name("worker.py")))["older_step"]
    monkeypatch.setattr(schema, "MIGRATIONS", {schema.SCHEMA_VERSION - 1: step})
    place, log = tmp_path / "index", tmp_path / "log"
    log.touch()
    worker = Path(__file__).with_name("worker.py")
    source = str(Path(hebbgraph.__file__).parents[1])
    server = subprocess.Popen(
        [sys.executable, str(worker), "serve", str(place), str(log)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        env=os.environ | {"PYTHONPATH": source},
    )
    assert server.stdin is not None
    assert server.stdout is not None
    rng = random.Random(SEED)
    state = State({})
    killed_in: Counter[str] = Counter()
    read = n_done = n_in_flight = n_kept = 0
    longest = LONGEST_LIFE_SECONDS
    try:
        assert server.stdout.readline() == "ready\n"
        for kill in range(N_KILLS):
            server.stdin.write(f"{SEED + kill}\n")
            child = int(server.stdout.readline())
            # Not to wait for something: the instant of the kill is what is drawn.
            time.sleep(rng.uniform(0, longest))
            os.kill(child, signal.SIGKILL)
            status = int(server.stdout.readline())
            assert os.WIFSIGNALED(status), f"kill {kill}: the writer failed by itself"

            content = log.read_bytes()
            lines = [json.loads(line) for line in content[read:].splitlines()]
            read = len(content)
            possible = _possible(state, lines)
            with HebbianIndex.open(place) as index:
                held = _held(index)
                assert held in possible, f"kill {kill}: after {lines[-1]}"
                assert_like_rebuilt(index)
                assert len(index.parts.derived.lexical) == len(held.chunks)
                recall = index.recall("mill", k=30)
                assert {hit.chunk.id for hit in recall.hits} == held.chunks.keys()
                if kill % 5 == 0:
                    with HebbianIndex.open(":memory:") as fresh:
                        fresh.add(list(held.chunks.values()))
                        _assert_recalls_like_a_rebuild(index, fresh)
            with closing(sqlite3.connect(place / DATABASE_NAME)) as connection:
                tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
                if "steps" in tables:  # each migration as a whole
                    halves = connection.execute("SELECT half, COUNT(*) FROM steps GROUP BY half")
                    assert len({count for _, count in halves}) == 1
            done = sum("done" in line for line in lines)
            longest *= 1.0 if done else 1.1
            n_done += done
            n_in_flight += len(possible) > 1
            if lines and "begun" in lines[-1]:
                killed_in.update(lines[-1]["begun"].keys())
            n_kept += len(possible) > 1 and held == possible[1] != possible[0]
            state = held
    finally:
        server.stdin.close()
        server.wait(30)
        server.stdout.close()
    # The kills fell where they should: inside of batches, before and after the commit.
    assert n_done > N_KILLS / 2
    assert n_in_flight > N_KILLS / 2
    assert 0 < n_kept < n_in_flight
    if N_KILLS >= 200:
        assert killed_in.keys() == {"add", "delete", "reinforce", "compact", "migrate"}
    print(f"{N_KILLS} kills, {n_done} batches acknowledged, killed in {dict(killed_in)}")  # noqa: T201
