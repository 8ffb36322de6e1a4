"""Recent recalls, kept by namespace."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Timer

import numpy as np
import pytest

from hebbgraph import Chunk, HebbianIndex, Hit, NotFoundError, PathStep, RankStep, Recall, Settings
from hebbgraph.store.recalls import RecallLog

RECALL = Recall(id="r", namespace="one", strategy="spreading", query="Who?")


def _asked(id_: str) -> Recall:
    return RECALL.model_copy(update={"id": id_})


def test_compacting_one_namespace_leaves_the_recalls_of_others(
    open_index: Callable[..., HebbianIndex],
) -> None:
    one, other = open_index(namespace="one"), open_index(namespace="other")
    for index in (one, other):
        index.add(["Owls hunt at night."])
        index.recall("Who hunts?", id="r")
    one.compact()
    assert one.find_recall("r") is None
    assert other.find_recall("r") is not None


# -- damage --------------------------------------------------------------------------------


def _recall(number: int) -> Recall:
    """A recall that takes some pages, its vector included; it has no texts, as it is kept."""
    vector = np.random.default_rng(number).standard_normal(384).astype(np.float32)
    hits = tuple(
        Hit(
            chunk=Chunk(id=f"c{number}-{rank}" * 9, text=""),
            score=0.5,
            rank=rank,
            text_hash=f"{number:08x}{rank:08x}",
            path=tuple(PathStep(kind="tag", value=f"tag {number} {rank}") for _ in range(5)),
        )
        for rank in range(1, 9)
    )
    return Recall(
        id=f"r{number}",
        namespace="one",
        strategy="spreading",
        query=f"Who was number {number}?",
        hits=hits,
        vector=tuple(vector.tolist()),
    )


# -- what is gone is not shown -------------------------------------------------------------


@pytest.mark.every_database
def test_a_recall_found_by_id_shows_no_deleted_text(
    make_index: Callable[..., HebbianIndex],
) -> None:
    index = make_index()
    recall = index.recall("Who built the Petrel?", id="r", k=3)
    assert index.find_recall("r") == recall
    ids = [hit.chunk.id for hit in recall.hits]
    index.delete(["petrel"])
    index.add([{"id": "moss", "title": "Ida Moss", "text": "Another text about Ida Moss."}])
    found = index.find_recall("r")
    assert found is not None
    assert [hit.chunk.id for hit in found.hits] == ids
    assert {"petrel", "moss"} <= set(ids)
    for hit, was in zip(found.hits, recall.hits, strict=True):
        gone = hit.chunk.id in ("petrel", "moss")
        assert hit.lacks_text == gone
        assert hit.chunk == (Chunk.model_construct(id=hit.chunk.id, text="") if gone else was.chunk)
        assert (hit.rank, hit.score) == (was.rank, was.score)
    assert "schooner" not in found.model_dump_json()
    assert "deleted or replaced since" in found.notes[-1]
    assert Recall.model_validate_json(found.model_dump_json()) == found
    # It can teach all the same.
    feedback = index.reinforce("r", ["moss"])
    assert [one.text_hash for one in feedback.shown] == [hit.hash_of_text for hit in recall.hits]


# -- what is kept, and for how long --------------------------------------------------------


def _log(index: HebbianIndex, keep: int) -> RecallLog:
    return RecallLog(index.parts.database, index.namespace, keep)


@pytest.mark.every_database
def test_a_vector_comes_back_bit_for_bit(make_index: Callable[..., HebbianIndex]) -> None:
    log = _log(make_index(), 10)
    log.start()
    for flushed in (False, True):  # what waits is found, too
        log.put(_recall(1))
        if flushed:
            log.flush()
        assert log.get("r1") == _recall(1)
        log.discard(["r1"])
        assert log.get("r1") is None


@pytest.mark.every_database
def test_tenants_and_processes_keep_their_own(make_index: Callable[..., HebbianIndex]) -> None:
    """A busy tenant, or a process that keeps few recalls, evicts none of another."""
    database = make_index().parts.database
    for name in ("quiet", "busy"):
        make_index(namespace=name).make_namespace()
    quiet, few, many = (
        RecallLog(database, *of) for of in (("quiet", 500), ("busy", 3), ("busy", 500))
    )
    for log in (quiet, many):
        log.put(_asked("old"))
        log.flush()
    for n in range(20):
        few.put(_asked(f"r{n}"))
        few.flush()
    assert [n for n in range(20) if few.get(f"r{n}")] == [17, 18, 19]
    assert quiet.get("old") is not None
    assert many.get("old") is not None
    for n in range(600):
        many.put(_asked(f"m{n}"))
        if n % 100 == 99:
            many.flush()
    assert many.get("old") is None
    assert many.get("m599") is not None
    assert quiet.get("old") is not None
    quiet.erase()
    assert quiet.get("old") is None
    assert many.get("m599") is not None


@pytest.mark.sqlite_only
def test_a_recall_waits_while_the_database_is_locked(
    tmp_path: Path, corpus: list[Chunk], caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(keep_recalls=5, write_wait_seconds=0.05)
    with HebbianIndex.open(tmp_path / "index", settings=settings) as index:
        index.add(corpus)
        with closing(sqlite3.connect(tmp_path / "index" / "truth.sqlite3")) as writer:
            writer.execute("BEGIN IMMEDIATE")
            recall = index.recall("Who built the Petrel?", k=3)
            index.parts.recalls.flush()
            assert "could not be written" in caplog.text
            assert index.find_recall(recall.id) == recall
        index.parts.recalls.flush()
    with HebbianIndex.open(tmp_path / "index") as other:
        assert other.find_recall(recall.id) == recall


@pytest.mark.sqlite_only
def test_a_locked_database_delays_no_other(tmp_path: Path, corpus: list[Chunk]) -> None:
    settings = Settings(keep_recalls=9)
    with (
        HebbianIndex.open(tmp_path / "locked", settings=settings) as locked,
        HebbianIndex.open(tmp_path / "free", settings=settings) as free,
        closing(sqlite3.connect(tmp_path / "free" / "truth.sqlite3")) as rows,
    ):
        for index in (locked, free):
            index.add(corpus)
        with closing(sqlite3.connect(tmp_path / "locked" / "truth.sqlite3")) as writer, writer:
            writer.execute("BEGIN IMMEDIATE")
            locked.recall("Who built the Petrel?")
            time.sleep(0.1)  # a thread tries to write it
            free.recall("Who built the Petrel?")
            until = time.monotonic() + settings.write_wait_seconds / 2
            while rows.execute("SELECT count(*) FROM recalls").fetchone() == (0,):
                assert time.monotonic() < until
                time.sleep(0.02)


@pytest.mark.sqlite_only
def test_a_program_that_closes_nothing_keeps_its_last_recall(tmp_path: Path) -> None:
    program = f"""
from hebbgraph import HebbianIndex, Settings
index = HebbianIndex.open({str(tmp_path / "index")!r}, settings=Settings(keep_recalls=9))
index.add([{{"id": "a", "text": "Who built the Petrel."}}])
for number in range(9):
    index.recall("Who built the Petrel?", id=f"r{{number}}")
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    with HebbianIndex.open(tmp_path / "index") as index:
        assert [index.find_recall(f"r{number}") is not None for number in range(9)] == [True] * 9


@pytest.mark.sqlite_only
def test_a_damaged_row_is_named_and_mended(
    make_index: Callable[..., HebbianIndex], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index = make_index()
    index.recall("Who built the Petrel?", id="r", k=3)
    index.parts.recalls.flush()
    with closing(sqlite3.connect(tmp_path / "index" / "truth.sqlite3")) as connection, connection:
        connection.execute("UPDATE recalls SET checksum = checksum + 1")
    assert index.find_recall("r") is None
    assert "Petrel" not in caplog.text  # questions are never logged
    (finding,) = index.doctor().findings
    assert (finding.part, finding.repaired) == ("recalls", False)
    assert index.doctor(repair=True).ok
    assert index.doctor().findings == ()


@pytest.mark.sqlite_only
def test_the_file_of_earlier_versions_is_removed(tmp_path: Path, corpus: list[Chunk]) -> None:
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(corpus)
    for name in ("recalls.sqlite3", "recalls.sqlite3-wal", "recalls.lock"):
        (tmp_path / "index" / name).write_bytes(b"Who hunts?")
    with HebbianIndex.open(tmp_path / "index"):
        assert not list((tmp_path / "index").glob("recalls*"))


@pytest.mark.sqlite_only
def test_a_backup_holds_no_recall(tmp_path: Path, corpus: list[Chunk]) -> None:
    with HebbianIndex.open(tmp_path / "index", settings=Settings(keep_recalls=9)) as index:
        index.add(corpus)
        index.recall("Who keeps the xylophone?")
        index.parts.recalls.flush()
        index.maintenance.backup(tmp_path / "copy")
    with closing(sqlite3.connect(tmp_path / "copy" / "truth.sqlite3")) as copy:
        assert copy.execute("SELECT count(*) FROM recalls").fetchone() == (0,)


# -- who asks for them -----------------------------------------------------------------------


def _written(place: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in place.rglob("*")
        if path.is_file() and not path.name.endswith("-shm")
    }


@pytest.mark.sqlite_only
def test_a_question_writes_nothing(tmp_path: Path, corpus: list[Chunk]) -> None:
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(corpus)
        index.recall("Petrel")
    with HebbianIndex.open(tmp_path / "index") as index:
        index.recall("Petrel")
        before = _written(tmp_path)
        recall = index.recall("Who built the Petrel?", k=3)
        assert _written(tmp_path) == before
        with pytest.raises(NotFoundError, match=r"no recall .* is kept.*keep_recalls"):
            index.reinforce(recall.id, ["petrel"])
        assert index.find_recall(recall.id) is None
        assert index.reinforce(recall, [recall.hits[0].chunk.id]).recall_id == recall.id


@pytest.mark.sqlite_only
def test_kept_recalls_are_known_to_other_processes(tmp_path: Path, corpus: list[Chunk]) -> None:
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(corpus)
        index.keep_recalls()
        recalls = [index.recall("Who built the Petrel?", k=3) for _ in range(40)]
        assert [index.find_recall(recall.id) for recall in recalls] == recalls
    with HebbianIndex.open(tmp_path / "index") as other:
        feedback = other.reinforce(recalls[0].id, [recalls[0].hits[0].chunk.id])
    assert feedback.recall_id == recalls[0].id


@pytest.mark.sqlite_only
def test_recalls_that_follow_each_other_are_written_together(
    tmp_path: Path, corpus: list[Chunk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hebbgraph.store.recalls._GATHER_SECONDS", 2.0)
    seen = {0}
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(corpus)
        index.keep_recalls()
        for _ in range(5):
            index.recall("Who built the Petrel?")
        until = time.monotonic() + 30
        with closing(sqlite3.connect(tmp_path / "index" / "truth.sqlite3")) as other:
            while max(seen) < 5 and time.monotonic() < until:
                seen |= set(other.execute("SELECT count(*) FROM recalls").fetchone())
                time.sleep(0.01)
    assert seen == {0, 5}


class _Odd(RankStep):
    """Adds a note that no row can hold."""

    def finish(self, recall: Recall, k: int) -> Recall:
        return recall.model_copy(update={"notes": (ValueError("odd"),)})


def test_a_recall_that_cannot_be_kept_does_not_affect_others(
    tmp_path: Path, corpus: list[Chunk], caplog: pytest.LogCaptureFixture
) -> None:
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(corpus)
        index.keep_recalls()
        index.recall("Who?", id="odd", steps=[_Odd()])
        index.recall("Who built the Petrel?", id="kept")
    assert "recall 'odd' cannot be kept" in caplog.text
    with HebbianIndex.open(tmp_path / "index") as index:
        assert index.find_recall("odd") is None
        assert index.find_recall("kept") is not None


def test_another_index_on_the_same_directory_knows_a_recall_at_once(
    tmp_path: Path, corpus: list[Chunk]
) -> None:
    with (
        HebbianIndex.open(tmp_path / "index") as one,
        HebbianIndex.open(tmp_path / "index") as other,
    ):
        one.add(corpus)
        one.keep_recalls()
        for _ in range(20):
            recall = one.recall("Who built the Petrel?", k=2)
            assert other.reinforce(recall.id, [recall.hits[0].chunk.id]).recall_id == recall.id


_REINFORCES = """
import sys
from hebbgraph import HebbianIndex
with HebbianIndex.open(sys.argv[1]) as index:
    index.recall("Who built the Petrel?")
    print("ready", flush=True)
    for line in sys.stdin:
        recall_id, chunk = line.split()
        print(index.reinforce(recall_id, [chunk]).recall_id, flush=True)
"""


@contextmanager
def _other_process(directory: Path) -> Iterator[Callable[[Recall], str]]:
    """Start a process that reinforces a recall by its id, and says which."""
    with subprocess.Popen(
        [sys.executable, "-c", _REINFORCES, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"

        def reinforced(recall: Recall) -> str:
            print(recall.id, recall.hits[0].chunk.id, file=other.stdin, flush=True)
            return other.stdout.readline().strip()

        yield reinforced
        other.stdin.close()


def test_another_process_knows_a_recall_at_once(tmp_path: Path, corpus: list[Chunk]) -> None:
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(corpus)
        index.keep_recalls()
        with _other_process(tmp_path / "index") as reinforced:
            for _ in range(20):
                recall = index.recall("Who built the Petrel?", k=2)
                assert reinforced(recall) == recall.id


@pytest.mark.sqlite_only
def test_another_process_waits_for_a_recall_that_a_writer_holds_up(
    tmp_path: Path, corpus: list[Chunk]
) -> None:
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(corpus)
        index.keep_recalls()
        with (
            _other_process(tmp_path / "index") as reinforced,
            closing(
                sqlite3.connect(tmp_path / "index" / "truth.sqlite3", check_same_thread=False)
            ) as writer,
        ):
            writer.execute("BEGIN IMMEDIATE")
            recall = index.recall("Who built the Petrel?", k=2)
            Timer(0.35, writer.rollback).start()
            assert reinforced(recall) == recall.id
