"""Flip bytes of a database, and count what comes of it, each time in a process of its own."""

from __future__ import annotations

import contextlib
import random
import shutil
import tempfile
import traceback
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from children import CONTEXT
from ships import CORPUS, QUESTIONS, ByNumber, random_chunks

from hebbgraph import HebbgraphError, HebbianIndex

__all__ = ["BAD", "flip_bytes", "table"]

BAD = ("bare error", "crash", "hang")
_SECONDS = 60


def _answers(index: HebbianIndex) -> Any:
    hits = [
        [(hit.id, hit.text, round(hit.score, 6)) for hit in index.recall(question, k=8)]
        for question in QUESTIONS
    ]
    in_ships = index.recall("Ida Moss", where={"kind": "ship"})
    return hits, [hit.id for hit in in_ships], index.get(index.ids())


def _build(folder: Path) -> None:
    with HebbianIndex.open(folder, embedder=ByNumber()) as index:
        index.add(CORPUS)
        index.add(random_chunks(random.Random(5), map(str, range(60))))


def _ask(folder: Path, sent: Connection) -> None:
    """Say what one damaged index does: its answers, an error, and what doctor finds."""
    said: dict[str, Any] = {}
    try:
        with HebbianIndex.open(folder, embedder=ByNumber()) as index:
            said["doctor"] = index.doctor()
            said["answers"] = _answers(index)
    except HebbgraphError as error:
        said["clear error"] = f"{type(error).__name__}: {error}"
    except BaseException:
        said["bare error"] = traceback.format_exc()
    with contextlib.suppress(BrokenPipeError):
        sent.send(said)


def _outcome(folder: Path, wanted: Any) -> tuple[str, str]:
    received, sent = CONTEXT.Pipe(duplex=False)
    child = CONTEXT.Process(target=_ask, args=(folder, sent), daemon=True)
    child.start()
    sent.close()
    try:
        if not received.poll(_SECONDS):
            child.kill()
            return "hang", ""
        said = received.recv()
    except EOFError:
        child.join()
        return "crash", f"exit code {child.exitcode}"
    finally:
        child.join()
        received.close()
    if "bare error" in said:
        return "bare error", said["bare error"]
    if "clear error" in said:
        return "clear error", said["clear error"]
    if said["doctor"]:
        return "found by doctor", said["doctor"][0]
    if said["answers"] == wanted:
        return "right answer", ""
    names = zip(("hits", "filter", "chunks"), said["answers"], wanted, strict=True)
    return "silently wrong", ", ".join(name for name, got, want in names if got != want)


def flip_bytes(n: int, *, seed: int = 0, suffix: str = ".sqlite3") -> list[tuple[str, int, str]]:
    """Return the outcome, the place and a remark of n flipped bytes, one at a time.

    Most are flipped where there is data, one bit or the whole byte.
    """
    rng, outcomes = random.Random(seed), []
    with tempfile.TemporaryDirectory() as scratch:
        whole, folder = Path(scratch) / "whole", Path(scratch) / "damaged"
        _build(whole)
        with HebbianIndex.open(whole, embedder=ByNumber()) as index:
            wanted = _answers(index)
        name = next(path.name for path in whole.iterdir() if path.name.endswith(suffix))
        data = (whole / name).read_bytes()
        for _ in range(n):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(whole, folder)
            at = rng.randrange(len(data))
            while data[at] == 0 and rng.random() < 0.9:
                at = rng.randrange(len(data))
            flipped = bytearray(data)
            flipped[at] ^= rng.choice([1 << rng.randrange(8), 0xFF, rng.randrange(1, 256)])
            (folder / name).write_bytes(flipped)
            outcome, remark = _outcome(folder, wanted)
            outcomes.append((outcome, at, remark))
    return outcomes


def table(outcomes: list[tuple[str, int, str]]) -> str:
    """Return the counts, one line each."""
    counts = Counter(outcome for outcome, _, _ in outcomes)
    return "\n".join(f"{counts[name]:5d}  {name}" for name in sorted(counts))
