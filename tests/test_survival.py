"""What was acknowledged survives kills, interruptions and damage, and equals a fresh build.

With ``HEBBGRAPH_SOAK=1``: 300 kills instead of 25, 300 interruptions instead of 40, 300 flipped
bytes instead of 60. ``python tests/test_survival.py damage 300`` prints what flipped bytes
led to.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent / "support"), str(Path(__file__).parents[1] / "src")]

from children import python
from damage import BAD, flip_bytes, table
from dump import assert_sound, differences, fresh_build
from interruptions import LineCounter, interrupted_at
from ships import ByNumber, random_chunk, random_chunks
from storms import Batch, Storm, apply

from hebbgraph import HebbianIndex


def test_nothing_acknowledged_is_lost_when_writers_are_killed(tmp_path: Path, soak: bool) -> None:
    """A kill at any statement or instant: the call in flight counts wholly or not at all."""
    kills, done = 300 if soak else 25, 0
    for seed in range(3):
        storm = Storm(tmp_path / str(seed), seed)
        for n in range(kills // 3):
            storm.kill_one()
            with HebbianIndex.open(storm.path, embedder=ByNumber()) as index:
                chunk = random_chunk(random.Random(n), "31")
                index.add([chunk])
                storm.live["31"] = chunk
                assert_sound(index)
        done += storm.acknowledged
    assert done  # how many depends on the machine


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("where", ["directory", ":memory:"])
def test_interruptions_at_any_line_leave_a_sound_index(
    tmp_path: Path, error: type[BaseException], where: str, soak: bool
) -> None:
    """The interrupted call counts wholly or not at all, and the process goes on writing."""
    wanted, rng = (75 if soak else 10), random.Random(f"{error}{where}")
    path = str(tmp_path / "index") if where == "directory" else where
    with HebbianIndex.open(path, embedder=ByNumber()) as index:
        index.add(random_chunks(rng, map(str, range(20))))
        live = {chunk.id: chunk for chunk in index.get(index.ids())}
        lines = {}
        for verb in ("add", "delete", "refresh", "rebuild", "recall"):
            call = _call_of(verb, rng)
            lines[verb] = LineCounter(lambda call=call: _make(index, call))
            live = apply(live, call)
        reached = 0
        while reached < wanted:
            call = _call_of(rng.choice(list(lines)), rng)
            place = lines[call.verb].choose(rng)
            if not interrupted_at(place, error, lambda call=call: _make(index, call)):
                live = apply(live, call)
                continue
            reached += 1
            live = _went_on(index, live, call, rng, f"{error.__name__} at {place} in {call.verb}")


def _call_of(verb: str, rng: random.Random) -> Batch:
    ids = [str(n) for n in rng.sample(range(25), 4)]
    return Batch(verb, random_chunks(rng, ids) if verb in ("add", "refresh") else [], ids)


def _make(index: HebbianIndex, call: Batch) -> None:
    if call.verb == "recall":
        index.recall("Who built the Petrel at Tessel Bay Yard 7?", where={"berth": {"$lt": 3}})
    else:
        call.on(index)


def _went_on(index: HebbianIndex, live: dict, call: Batch, rng: random.Random, what: str) -> dict:
    """Write more in the same process, and compare everything with a fresh build."""
    held = {chunk.id: chunk for chunk in index.get(index.ids())}
    assert held in (live, apply(live, call) if call.verb != "recall" else live), what
    for more in (_call_of("add", rng), _call_of("delete", rng), _call_of("refresh", rng)):
        more.on(index)
        held = apply(held, more)
    assert {chunk.id: chunk for chunk in index.get(index.ids())} == held, what
    assert index.doctor() == [], what
    with fresh_build(index) as fresh:
        assert differences(index, fresh) == [], what
    return held


def test_two_processes_that_write_at_once_equal_one(tmp_path: Path) -> None:
    """They make the index, too: both open a directory that is not there yet."""
    script = (
        "import random, sys; from ships import *; from hebbgraph import HebbianIndex\n"
        "first = int(sys.argv[2])\n"
        "with HebbianIndex.open(sys.argv[1], embedder=ByNumber()) as index:\n"
        "    for n in range(first, first + 60, 4):\n"
        "        index.add(random_chunks(random.Random(n), map(str, range(n, n + 4))))\n"
        "        index.delete([str(n)])\n"
    )
    children = [python(script, str(tmp_path / "index"), first) for first in ("0", "100")]
    assert [child.wait(120) for child in children] == [0, 0]
    with HebbianIndex.open(tmp_path / "index", embedder=ByNumber()) as index:
        assert len(index.ids()) == 90
        assert_sound(index)


def test_flipped_bytes_give_right_answers_or_clear_errors(soak: bool) -> None:
    """Nothing crashes, hangs or raises an error of another kind; ``-rP`` shows the table."""
    outcomes = flip_bytes(300 if soak else 60)
    print(table(outcomes))
    assert [found for found in outcomes if found[0] in BAD] == []


if __name__ == "__main__":
    if sys.argv[1:2] != ["damage"]:
        raise SystemExit("usage: python tests/test_survival.py damage [N]")
    for found in (every := flip_bytes(int(sys.argv[2]) if len(sys.argv) > 2 else 300)):
        print(*found)
    print(table(every))
