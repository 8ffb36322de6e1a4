"""Indexes built by workers: equal to those of ``add``, whatever the partitions and whoever dies."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hebbgraph import Chunk, HebbianIndex, InvalidChunkError, ParameterError, Settings

from hebbgraph_scale.build.adding import new_recipe
from hebbgraph_scale.build.driver import BuildDriver
from hebbgraph_scale.build.engines import Engine, InProcessEngine, Processes, engine_named
from hebbgraph_scale.build.recipe import ChunkList
from hebbgraph_scale.build.shelf import whole

_FIRST = ("Ada", "Boris", "Chen", "Dalia", "Emil", "Fatou")
_LAST = ("Marsh", "Novak", "Okoro", "Petrel", "Quint", "Reyes", "Sato")
_TOWNS = ("Port Elver", "Old Harbour", "Saltmere", "Glass Hill", "the Ice Sheds")
_DID = ("kept a ledger", "repaired clocks", "shipped ice", "tuned the organ", "mapped the tide")


def _corpus(n: int) -> list[Chunk]:
    rng = random.Random(7)
    chunks = []
    for number in range(n):
        who = [f"{rng.choice(_FIRST)} {rng.choice(_LAST)}" for _ in range(3)]
        text = (
            f"{who[0]} {rng.choice(_DID)} in {rng.choice(_TOWNS)} with {who[1]}.\n"
            f"Later {who[1]} ({who[1].split()[1][:2].upper()}{number % 9}) wrote to {who[2]} "
            f"about letter no. {number % 13}."
        )
        chunks.append(
            Chunk(
                id=f"c{number:03}",
                title=who[0] if number % 3 else "",
                text=text,
                metadata={"town": rng.choice(_TOWNS), "page": number},
                document_id=f"d{number // 4}",
                tags=("letters",) if number % 5 == 0 else (),
                addresses=(f"p{number}.md",),
                references=(f"p{(number * 7) % n}.md",),
                context="Keys of the Graz flat" if number % 3 == 0 else None,
            )
        )
    return chunks


_CHUNKS = _corpus(90)
_QUESTIONS = ("Who shipped ice in Saltmere?", "What did Ada Marsh write?", "letters about the tide")


def _content(index: HebbianIndex) -> tuple[str, str, list[list[tuple[str, float]]]]:
    """Return checksums of postings and vocabulary, and some rankings."""
    rankings = [
        [(hit.chunk.id, round(hit.score, 9)) for hit in index.recall(question, k=10).hits]
        for question in _QUESTIONS
    ]
    with index.parts.reading():
        graph, derived = index.parts.derived.graph, index.parts.derived
        ids, keys = derived.ids(graph.rows), list(graph.phrases.keys)
        owner, tags, is_title = graph.incidence.tags_of(np.flatnonzero(graph.alive))
        live = np.flatnonzero(graph.alive)
        postings = sorted(
            (keys[tag], ids[live[at]], title)
            for at, tag, title in zip(owner, tags, is_title.tolist(), strict=True)
        )
        counts = zip(
            keys,
            graph.phrases.candidate_counts.tolist(),
            graph.phrases.support.tolist(),
            graph.phrases.anchor_counts.tolist(),
            graph.phrases.given_counts.tolist(),
            strict=True,
        )
        vocabulary = sorted(
            one for one, used in zip(counts, graph.phrases.in_use, strict=True) if used
        )
    return (
        sha256(repr(postings).encode()).hexdigest(),
        sha256(repr(vocabulary).encode()).hexdigest(),
        rankings,
    )


@pytest.fixture(scope="module")
def expected() -> tuple[str, str, list[list[tuple[str, float]]]]:
    with HebbianIndex.open(":memory:") as index:
        index.add(_CHUNKS)
        return _content(index)


def _built(
    index: HebbianIndex,
    shelf: Path,
    partitions: Iterable[list[Chunk]],
    engine: Engine | None = None,
) -> BuildDriver:
    given = [ChunkList(list(part), first, 1) for first, part in enumerate(partitions)]
    recipe = new_recipe(index.settings, salt=b"the same salt in all of them")
    driver = BuildDriver(index.parts, engine or InProcessEngine(), shelf, recipe)
    driver.run(given, None)
    return driver


@pytest.mark.parametrize("n", [1, 2, 7])
def test_partitions_in_any_order_give_what_add_gives(n: int, tmp_path: Path, expected: object):
    parts = [_CHUNKS[at::n] for at in range(n)]
    random.Random(n).shuffle(parts)
    with HebbianIndex.open(tmp_path / "index") as index:
        _built(index, tmp_path / "shelf", parts)
        assert "merge" in _built(index, tmp_path / "shelf", parts).seconds  # not an ordinary step
        assert _content(index) == expected
        assert index.maintenance.doctor().ok
    with HebbianIndex.open(tmp_path / "index") as index:  # from the snapshot
        assert _content(index) == expected
        assert index.repairs == ()


def test_an_index_that_was_built_takes_increments(tmp_path: Path, expected: object):
    with HebbianIndex.open(tmp_path / "index") as index:
        _built(index, tmp_path / "shelf", [_CHUNKS[:40], [], _CHUNKS[40:60]])
        index.add(_CHUNKS[60:])
        index.delete(["c010"])
        index.add([_CHUNKS[10]])
        index.compact()  # until then Tantivy counts what was deleted
        assert _content(index) == expected


def test_chunks_of_others_beside_those_of_the_build(tmp_path: Path, expected: object):
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(_CHUNKS[70:])
        driver = _built(index, tmp_path / "shelf", [_CHUNKS[:30], _CHUNKS[30:70]])
        assert "merge" not in driver.seconds
        assert _content(index) == expected


def test_a_later_partition_replaces_chunks_of_an_earlier_one(tmp_path: Path, expected: object):
    stale = [Chunk(id=one.id, title="Stale Title", text="Stale Name.") for one in _CHUNKS[:9]]
    with HebbianIndex.open(tmp_path / "index") as index:
        driver = _built(index, tmp_path / "shelf", [stale + _CHUNKS[20:50], _CHUNKS])
        assert "merge" in driver.seconds
        assert _content(index) == expected


@pytest.mark.parametrize("settings", [Settings(text_tags=False), Settings(language="german")])
def test_settings_count_in_workers(settings: Settings, tmp_path: Path):
    with HebbianIndex.open(":memory:", settings=settings) as plain:
        plain.add(_CHUNKS)
        with HebbianIndex.open(tmp_path / "index", settings=settings) as index:
            _built(index, tmp_path / "shelf", [_CHUNKS[50:], _CHUNKS[:50]])
            assert _content(index) == _content(plain)


def test_texts_kept_elsewhere_stay_there(tmp_path: Path):
    texts = {chunk.id: chunk.text for chunk in _CHUNKS}
    settings = Settings(keep_text=False)

    def source(ids: list[str]) -> dict[str, str]:
        return {id_: texts[id_] for id_ in ids}

    with HebbianIndex.open(":memory:", settings=settings, texts=source) as plain:
        plain.add(_CHUNKS)
        with HebbianIndex.open(tmp_path / "index", settings=settings, texts=source) as index:
            _built(index, tmp_path / "shelf", [_CHUNKS[50:], _CHUNKS[:50]])
            assert _content(index) == _content(plain)
    assert b"kept a ledger" not in (tmp_path / "index" / "truth.sqlite3").read_bytes()


def test_in_memory_too(tmp_path: Path, expected: object):
    with HebbianIndex.open(":memory:") as index:
        _built(index, tmp_path / "shelf", [_CHUNKS[50:], _CHUNKS[:50]])
        assert _content(index) == expected


def test_what_is_whole_is_not_repeated_and_what_is_damaged_is(tmp_path: Path, expected: object):
    parts, shelf = [_CHUNKS[:30], _CHUNKS[30:60], _CHUNKS[60:]], tmp_path / "shelf"
    with HebbianIndex.open(tmp_path / "first") as index:
        assert _built(index, shelf, parts).reused == 0
    made = sorted(path for path in shelf.iterdir() if path.name.startswith("propose"))
    assert [whole(path) is not None for path in made] == [True] * 3
    with (made[1] / "tokens.npy").open("r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(b"\xff\xff\xff\x7f")
    (made[2] / "rows.arrow").unlink()
    with HebbianIndex.open(tmp_path / "second") as index:
        driver = _built(index, shelf, parts)
        assert _content(index) == expected
    assert all(whole(path) is not None for path in made)  # the damaged ones were replaced
    kinds = [path.name.split("-")[0] for path in shelf.iterdir()]
    assert driver.reused == len(kinds) - 2 - kinds.count("vocabulary")


def test_a_shelf_without_a_manifest_is_erased_too(tmp_path: Path):
    """A build that was killed while it began: its texts lie in the index."""
    left = tmp_path / "index" / "build" / "propose-1"
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add([{"id": "kept", "text": "The Petrel."}])
        left.mkdir(parents=True)
        (left / "rows.arrow").write_text("an erased text")
        index.compact()
    assert not left.exists()


class _Interrupted(InProcessEngine):
    """An engine whose driver is stopped after some tasks."""

    def __init__(self, tasks: int) -> None:
        self.left = tasks

    def submit(self, function, /, *arguments):  # type: ignore[no-untyped-def]
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().submit(function, *arguments)


@pytest.mark.parametrize("tasks", [0, 2, 4, 7])
def test_a_build_that_was_stopped_anywhere_goes_on(tasks: int, tmp_path: Path, expected: object):
    parts = [_CHUNKS[:20], _CHUNKS[20:50], _CHUNKS[50:]]
    with (
        HebbianIndex.open(tmp_path / "index") as index,
        pytest.raises(KeyboardInterrupt),
    ):
        _built(index, tmp_path / "shelf", parts, _Interrupted(tasks))
    with HebbianIndex.open(tmp_path / "index") as index:
        _built(index, tmp_path / "shelf", parts)
        assert _content(index) == expected


class _Slow(list[Chunk]):
    """Chunks whose reading takes a while, so that a worker can be killed meanwhile."""

    def __iter__(self) -> Iterator[Chunk]:
        for chunk in super().__iter__():
            time.sleep(0.01)
            yield chunk


def test_workers_that_are_killed_are_replaced(tmp_path: Path, expected: object):
    engine = Processes(2)

    def kill() -> None:
        while engine._pool is None or not engine._pool._processes:
            time.sleep(0.05)
        os.kill(next(iter(engine._pool._processes)), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    try:
        with HebbianIndex.open(tmp_path / "index") as index:
            killer.start()
            _built(index, tmp_path / "shelf", [_Slow(_CHUNKS[:50]), _Slow(_CHUNKS[50:])], engine)
            assert _content(index) == expected
    finally:
        killer.join()
        engine.close()
    assert engine._generation > 0


def test_add_with_workers(tmp_path: Path, expected: object):
    with HebbianIndex.open(tmp_path / "index") as index:
        told: list[int] = []
        report = index.add(
            [chunk.model_dump() for chunk in _CHUNKS],
            workers=1,
            on_progress=lambda done, total: told.append(done),
        )
        assert (report.added, told[-1]) == (90, 90)
        assert _content(index) == expected
        assert index.add(iter(_CHUNKS), workers=1).unchanged == 90
        skipped = index.add([5, "More text."], workers=1, on_error="skip")
        assert [one.position for one in skipped.failed] == [0]
        with pytest.raises(InvalidChunkError, match="position 1"):
            index.add(["Fine.", 5], workers=1)
        with pytest.raises(ParameterError, match="positive int"):
            index.add(_CHUNKS, workers=0)
    assert list((tmp_path / "index").glob("build-*")) == []


def test_workers_refuse_what_only_this_process_can_do() -> None:
    with (
        HebbianIndex.open(":memory:", tagger=lambda chunk: ()) as index,
        pytest.raises(ParameterError, match="retag"),
    ):
        index.add(_CHUNKS, workers=1)
    with (
        HebbianIndex.open(":memory:", settings=Settings(keep_versions=True)) as index,
        pytest.raises(ParameterError, match="keep_versions"),
    ):
        index.add(_CHUNKS, workers=1)


def test_workers_where_no_system_tells_which_processors_are_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert engine_named("processes").workers == 3
