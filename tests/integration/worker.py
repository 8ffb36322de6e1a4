"""What the processes of the tests run: ``worker.py MODE PLACE ...``, no test by itself.

A batch is announced before it is begun and again once it is acknowledged, each time by
one ``write`` to a file that survives the process.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

from hebbgraph import Chunk, HebbianIndex, Settings

NAMES = ["Ada Fenn", "Brisk Hollow", "Corin Vale", "Dun Harrow", "Fenn Hollow", "Gull Rock"]
UNIVERSE = 24


def make_chunk(number: int, rng: random.Random) -> Chunk:
    """A chunk of some 20 ids; its names enter and leave the vocabulary."""
    first, second, third = (rng.choice(NAMES) for _ in range(3))
    return Chunk(
        id=f"c{number}",
        title=first if rng.random() < 0.4 else "",
        text=f"{second} met {third} at the mill, {rng.choice(NAMES)} Bridge, in {rng.random()}.",
        metadata={"n": number},
    )


def make_step(rng: random.Random) -> dict[str, Any]:
    """What one batch adds, replaces or deletes."""
    numbers = rng.sample(range(UNIVERSE), rng.randint(1, 5))
    if rng.random() < 0.35:
        return {"delete": [f"c{number}" for number in numbers]}
    return {"add": [make_chunk(number, rng).model_dump() for number in numbers]}


def churn(place: str, log: str, seed: int) -> None:
    """Write batches until killed."""
    rng = random.Random(seed)
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)

    def tell(**line: Any) -> None:
        os.write(descriptor, json.dumps(line).encode() + b"\n")

    tell(opening=seed)
    index = HebbianIndex.open(place)
    while True:
        step = make_step(rng)
        tell(begun=step)
        if "add" in step:
            index.add(step["add"])
        else:
            index.delete(step["delete"])
        tell(done=True)
        if rng.random() < 0.1:
            index.compact()
        elif rng.random() < 0.1:
            index.close()
            index = HebbianIndex.open(place)


def _say(line: object) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def serve(place: str, log: str) -> None:
    """For each seed read, fork a process that churns; the reader kills it."""
    with HebbianIndex.open(":memory:") as index:  # so that a child need not import
        index.add(["warm"])
        index.recall("warm")
    _say("ready")
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                churn(place, log, int(line))
            except BaseException as error:
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
                os._exit(1)
        _say(child)
        _, status = os.waitpid(child, 0)
        _say(status)


def write(place: str, name: str, count: int) -> None:
    """Add chunks one by one, then delete every other one, each time telling.

    Both begin when a line is read.
    """
    with HebbianIndex.open(place, settings=Settings(write_wait_seconds=60)) as index:
        _say("open")
        sys.stdin.readline()
        for n in range(count):
            title = f"Harbour {name.title()}{n % 3}" if n % 2 else ""
            text = f"Pilot {name}{n} met Ida Moss and Harbour {name.title()}{n % 3} at dawn."
            index.add([{"id": f"{name}{n}", "title": title, "text": text}])
            _say(f"added {name}{n}")
        sys.stdin.readline()
        for n in range(0, count, 2):
            index.delete([f"{name}{n}"])
            _say(f"deleted {name}{n}")


if __name__ == "__main__":
    mode, where, *rest = sys.argv[1:]
    Path(where).parent.mkdir(parents=True, exist_ok=True)
    if mode == "serve":
        serve(where, rest[0])
    else:
        write(where, rest[0], int(rest[1]))
