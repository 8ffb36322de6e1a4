"""What the processes of the tests run: ``worker.py MODE PLACE ...``, no test by itself.

A batch is announced before it is begun and again once it is acknowledged, each time by
one ``write`` to a file that survives the process.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from hebbgraph import Chunk, HebbianIndex, Settings
from hebbgraph.store import schema
from hebbgraph.store.database import DATABASE_NAME, Connection

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


def older_step(connection: Connection, types: schema.Types) -> None:
    """A migration that has something to do, and can be seen to have been cut short."""
    connection.execute("CREATE TABLE IF NOT EXISTS steps (half INTEGER)")
    connection.execute("INSERT INTO steps VALUES (1)")
    for _ in range(20):
        connection.execute("UPDATE chunks SET candidates = candidates || ' '")
    connection.execute("UPDATE chunks SET candidates = trim(candidates)")
    connection.execute("INSERT INTO steps VALUES (2)")


def make_older(place: str) -> None:
    """Let the database be of the version before this one."""
    with closing(sqlite3.connect(Path(place) / DATABASE_NAME, timeout=30)) as connection:
        connection.execute(
            "UPDATE meta SET value = ? WHERE key = 'schema_version'",
            (str(schema.SCHEMA_VERSION - 1),),
        )
        connection.commit()


def churn(place: str, log: str, seed: int) -> None:
    """Write batches, cite, compact, migrate, until killed."""
    schema.MIGRATIONS = {schema.SCHEMA_VERSION - 1: older_step}
    rng = random.Random(seed)
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)

    def tell(**line: Any) -> None:
        os.write(descriptor, json.dumps(line).encode() + b"\n")

    tell(opening=seed)
    index = HebbianIndex.open(place)
    while True:
        draw = rng.random()
        if draw < 0.1:
            tell(begun={"compact": True})
            index.compact()
        elif draw < 0.2:
            index.close()
            tell(begun={"migrate": True})
            make_older(place)
            index = HebbianIndex.open(place)
        elif draw < 0.4:
            recall = index.recall(f"mill {rng.choice(NAMES)}", k=5)
            cited = [hit.chunk.id for hit in recall.hits[-2:]]
            if len(recall.hits) < 3:
                continue
            tell(begun={"reinforce": recall.id})
            index.reinforce(recall, cited)
        else:
            step = make_step(rng)
            tell(begun=step)
            if "add" in step:
                index.add(step["add"])
            else:
                index.delete(step["delete"])
        tell(done=True)


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
    cache = os.environ.get("HEBBGRAPH_CACHE")  # when the place is a URL
    settings = Settings(write_wait_seconds=60)
    with HebbianIndex.open(place, settings=settings, cache_dir=cache) as index:
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
    if "://" not in where:
        Path(where).parent.mkdir(parents=True, exist_ok=True)
    if mode == "serve":
        serve(where, rest[0])
    else:
        write(where, rest[0], int(rest[1]))
