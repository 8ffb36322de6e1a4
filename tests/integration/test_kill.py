"""SIGKILL at random instants: what was acknowledged stays, the batch in flight is whole."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hebbgraph
from hebbgraph import Chunk, HebbianIndex

N_KILLS = int(os.environ.get("HEBBGRAPH_KILLS", "54"))  # more under make soak
SEED = 20_240_611
LONGEST_LIFE_SECONDS = 0.5

State = dict[str, Chunk]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")


def _after(state: State, step: dict[str, Any]) -> State:
    if "delete" in step:
        return {id_: chunk for id_, chunk in state.items() if id_ not in step["delete"]}
    return state | {values["id"]: Chunk.model_validate(values) for values in step["add"]}


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
    return {c.id: c for c in index._truth.fetch(index._truth.rows_by_id()).values()}


def test_kills(tmp_path: Path, assert_like_rebuilt: Callable[[HebbianIndex], None]) -> None:
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
    state: State = {}
    read = n_done = n_in_flight = n_kept = 0
    try:
        assert server.stdout.readline() == "ready\n"
        for kill in range(N_KILLS):
            server.stdin.write(f"{SEED + kill}\n")
            child = int(server.stdout.readline())
            # Not to wait for something: the instant of the kill is what is drawn.
            time.sleep(rng.uniform(0, LONGEST_LIFE_SECONDS))
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
                assert len(index._derived.lexical) == len(held)
                recall = index.recall("mill", k=30)
                assert {hit.chunk.id for hit in recall.hits} == held.keys()
            n_done += sum("done" in line for line in lines)
            n_in_flight += len(possible) > 1
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
