"""Two processes at once, by deterministic interleaving: what one has read, the other changes.

Every write takes its lock in ``Database.write``, and a recall reads the chunks of its hits last.
At each of these instants of one call, another index that has the same place open makes a whole
call of its own. Afterwards everything has to be as if the two had followed each other, one way or
the other: chunks, lessons, corrections and rankings, and derived parts as after a rebuild.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from hebbgraph import Chunk, HebbgraphError, HebbianIndex

QUESTION = "Where was the builder of the Petrel born?"
Act: TypeAlias = Callable[[HebbianIndex], object]


def _adding(version: str) -> Act:
    ferry = {"id": "ferry", "title": "Ferry", "text": f"Ida Moss kept the {version} ferry."}
    return lambda index: index.add(
        [ferry, {"id": "heron", "title": "Heron", "text": f"The Heron is a {version} boat."}]
    )


def _reinforce(index: HebbianIndex) -> None:
    recall = index.recall(QUESTION, k=5, id="asked")
    index.reinforce(recall, [recall.hits[1].chunk.id], actor="ann")


def _correct(index: HebbianIndex) -> None:
    index.correct_tags("rename", "Petrel", into="Storm Bird")


ACTS: dict[str, Act] = {
    "add": _adding("red"),
    "add others": _adding("blue"),
    "delete": lambda index: index.delete(["heron", "petrel"]),
    "reinforce": _reinforce,
    "forget": lambda index: index.forget(actor="ann"),
    "forget all": lambda index: index.forget(everything=True),
    "correct tags": _correct,
    "compact": lambda index: index.compact(),
    "recall": lambda index: index.recall(QUESTION, k=5),
}
PAIRS = [
    ("add", "add others"),
    ("add", "delete"),
    ("delete", "add"),
    ("reinforce", "forget"),
    ("forget", "reinforce"),
    ("correct tags", "add"),
    ("correct tags", "reinforce"),
    ("compact", "add"),
    ("recall", "compact"),
]
if os.environ.get("HEBBGRAPH_SOAK"):
    PAIRS = [pair for pair in itertools.product(ACTS, repeat=2) if pair[0] != pair[1]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, corpus: list[Chunk]) -> Path:
    place = tmp_path_factory.mktemp("made") / "index"
    with HebbianIndex.open(place) as index:
        index.add(corpus)
        before = index.recall("Who keeps the Heron?", k=5)
        index.reinforce(before, [before.hits[0].chunk.id], actor="ann")
    return place


@contextmanager
def _at(index: HebbianIndex, instant: int, work: Callable[[], object]) -> Iterator[list[int]]:
    """Do something at the n-th instant between a read of an index and what it decides."""
    passed = [0]

    def pass_by() -> None:
        passed[0] += 1
        if passed[0] == instant:
            work()

    def before(act: Callable[..., Any]) -> Callable[..., Any]:
        def acting(*given: Any, **named: Any) -> Any:
            pass_by()
            return act(*given, **named)

        return acting

    parts = index.parts
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts.database, "write", before(parts.database.write))
        patch.setattr(parts.truth, "outlines", before(parts.truth.outlines))
        yield passed


def _result(act: Act, index: HebbianIndex) -> object:
    """Return what its caller sees of an act."""
    try:
        found = act(index)
    except HebbgraphError as error:
        return type(error).__name__
    return [(hit.chunk.id, hit.chunk.text) for hit in getattr(found, "hits", ())]


def _ranking(index: HebbianIndex) -> list[tuple[str, str, float]]:
    recall = index.recall(QUESTION, k=20)
    return [(hit.chunk.id, hit.chunk.text, round(hit.score, 6)) for hit in recall.hits]


def _state(index: HebbianIndex) -> dict[str, object]:
    index.compact()  # BM25 counts deleted chunks until then
    return {
        "chunks": sorted((one.id, one.text) for one in index.get(index.ids())),
        "lessons": sorted((one.actor, one.cited) for one in index.lessons()),
        "corrections": [(one.kind, one.tags) for one in index.tag_corrections()],
        "ranking": _ranking(index),
    }


def _one_after_the_other(place: Path, first: str, second: str) -> tuple[object, ...]:
    with HebbianIndex.open(place) as one, HebbianIndex.open(place) as other:
        one.recall(QUESTION)
        results = {first: _result(ACTS[first], one)}
        results[second] = _result(ACTS[second], other)
        return results, _state(one)


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=[" / ".join(pair) for pair in PAIRS])
def test_whatever_comes_in_between_came_before_or_after(
    made: Path,
    tmp_path: Path,
    first: str,
    second: str,
) -> None:
    places = (tmp_path / str(n) for n in range(100))

    def place() -> Path:
        return Path(shutil.copytree(made, next(places)))

    allowed = [
        _one_after_the_other(place(), first, second),
        _one_after_the_other(place(), second, first),
    ]
    instant, instants = 1, 1
    while instant <= instants:
        with HebbianIndex.open(here := place()) as one, HebbianIndex.open(here) as other:
            one.recall(QUESTION)
            results: dict[str, object] = {}

            def come_between(
                other: HebbianIndex = other, into: dict[str, object] = results
            ) -> None:
                into[second] = _result(ACTS[second], other)

            with _at(one, instant, come_between) as passed:
                results[first] = _result(ACTS[first], one)
            instants = max(instants, passed[0])
            if second not in results:
                break
            told = f"at instant {instant} of {first}"
            assert (results, _state(one)) in allowed, told
            assert _state(other) == _state(one), told
            assert other.doctor().findings == (), told
        instant += 1
    assert instant > 1, "nothing came in between"
