"""The store of recent recalls: best effort, for each namespace by itself."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from hebbgraph import Chunk, HebbianIndex, Hit, NotFoundError, PathStep, Recall
from hebbgraph.store.recalls import RecallStore

RECALL = Recall(id="r", namespace="one", strategy="spreading", query="Who?")


def _asked(id_: str, namespace: str) -> Recall:
    return RECALL.model_copy(update={"id": id_, "namespace": namespace})


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


@pytest.mark.parametrize("damage", [lambda old: b"no database" * 99, lambda old: old[:1500]])
def test_a_damaged_store_is_begun_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "recalls.sqlite3"
    store = RecallStore(path, 10)
    store.put(RECALL)
    store.close()
    path.write_bytes(damage(path.read_bytes()))
    with caplog.at_level(logging.WARNING):
        store = RecallStore(path, 10)
    assert "damaged" in caplog.text
    store.put(RECALL)
    assert store.get("one", "r") == RECALL
    store.close()


def test_a_vector_comes_back_bit_for_bit(tmp_path: Path) -> None:
    vector = tuple(np.random.default_rng(1).standard_normal(384).astype(np.float32).tolist())
    asked = RECALL.model_copy(update={"vector": vector})
    store = RecallStore(tmp_path / "recalls.sqlite3", 10)
    store.put(asked)
    assert store.get("one", "r") == asked
    store.close()


def test_a_store_that_does_not_say_whose_recalls_it_holds_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "recalls.sqlite3"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE recalls (number INTEGER PRIMARY KEY AUTOINCREMENT, namespace TEXT, "
            "id TEXT, body TEXT, vector BLOB, UNIQUE (namespace, id))"
        )
        connection.execute(
            "INSERT INTO recalls (namespace, id, body) VALUES ('one', 'r', ?)",
            (RECALL.model_dump_json(),),
        )
    for _ in range(2):
        store = RecallStore(path, 10, database_id="mine")
        assert store.get("one", "r") is None
        store.put(RECALL.model_copy(update={"id": "new"}))
        assert store.get("one", "new") is not None
        store.close()


def test_databases_that_share_a_store_do_not_see_each_other(tmp_path: Path) -> None:
    mine, theirs = (
        RecallStore(tmp_path / "recalls.sqlite3", 10, database_id=name) for name in "ab"
    )
    mine.put(RECALL)
    assert theirs.get("one", "r") is None
    theirs.put(RECALL.model_copy(update={"query": "Whose?"}))
    assert mine.get("one", "r") == RECALL
    theirs.discard("one", ["r"])
    theirs.erase("one")
    assert mine.get("one", "r") == RECALL
    for store in (mine, theirs):
        store.close()


def test_what_is_closed_meanwhile_keeps_nothing_and_says_nothing() -> None:
    store = RecallStore(None, 10)
    store.close()
    store.put(RECALL)
    assert store.get("one", "r") is None
    store.discard("one", ["r"])
    store.erase("one")
    store.close()


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


class Files(NamedTuple):
    """The bytes of a store: its database, and its write-ahead log."""

    database: bytes
    log: bytes

    @classmethod
    def of(cls, path: Path) -> Files:
        log = path.with_name(path.name + "-wal")
        return cls(path.read_bytes(), log.read_bytes() if log.exists() else b"")

    def laid(self, path: Path) -> None:
        path.parent.mkdir(parents=True)
        path.write_bytes(self.database)
        path.with_name(path.name + "-wal").write_bytes(self.log)


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> list[Files]:
    """The files as a power cut may find them: after each recall, checkpoints in between."""
    path = tmp_path_factory.mktemp("live") / "recalls.sqlite3"
    store = RecallStore(path, 10)
    assert store._connection is not None
    found = []
    for number in range(12):
        store.put(_recall(number))
        store.flush()
        found.append(Files.of(path))
        if number in (3, 7):
            store._connection.execute("PRAGMA wal_checkpoint(RESTART)")
            found.append(Files.of(path))
    store.close()
    return found


def _torn(whole: bytes) -> Iterator[bytes]:
    """A file with some of its sectors as they were not: cut off, zeros, garbage, doubled."""
    garbage = np.random.default_rng(7).integers(0, 256, 512, dtype=np.uint8).tobytes()
    for start in range(0, len(whole), 3584):
        yield whole[:start]
        for sector in (bytes(512), garbage, whole[start - 512 : start]):
            yield whole[:start] + sector + whole[start + 512 :]
    for start in range(0, len(whole), 4096):  # a whole page was never written
        yield whole[:start] + bytes(4096) + whole[start + 4096 :]


def _images(states: list[Files]) -> Iterator[Files]:
    last = states[-1]
    yield from (Files(torn, last.log) for torn in _torn(last.database))
    yield from (Files(last.database, torn) for torn in _torn(last.log))
    # Without syncs, either file may be on the disk as it was at any time.
    for one in states:
        for other in states[::4]:
            yield Files(one.database, other.log)
        yield Files(one.database, b"")


def test_whatever_a_power_cut_leaves_new_recalls_are_found(
    tmp_path: Path, states: list[Files], caplog: pytest.LogCaptureFixture
) -> None:
    """Each image is read on, or noticed and made anew; none comes back as another text."""
    n_images = n_repaired = 0
    for n_images, image in enumerate(_images(states), start=1):
        path = tmp_path / str(n_images) / "recalls.sqlite3"
        image.laid(path)
        store = RecallStore(path, 10)
        for number in range(12):
            assert store.get("one", f"r{number}") in (None, _recall(number)), n_images
        for number in range(20, 32):
            store.put(_recall(number))
            assert store.get("one", f"r{number}") == _recall(number), n_images
        store.discard("one", ["r30"])
        assert store.get("one", "r30") is None
        assert list(store.problems()) == [], n_images
        n_repaired += bool(store.repairs)
        store.close()
        store = RecallStore(path, 10)
        assert store.get("one", "r31") == _recall(31), n_images
        assert not store.repairs
        store.close()
    assert n_images > 120
    assert n_repaired > n_images // 10
    assert caplog.text.count("damaged") >= n_repaired
    assert "Who was number" not in caplog.text  # questions are never logged


def test_writes_are_in_order_on_the_disk(tmp_path: Path) -> None:
    """Without, a checkpoint may reach the disk before the log that it is made from."""
    store = RecallStore(tmp_path / "recalls.sqlite3", 10)
    assert store._connection is not None
    assert store._connection.execute("PRAGMA synchronous").fetchone() == (1,)  # NORMAL
    store.close()


def test_late_feedback_goes_on_when_the_store_is_ruined(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    index = make_index()
    before = index.recall("Who built the Petrel?", id="before", k=3)
    index.parts.recalls.flush()
    for file in ("recalls.sqlite3", "recalls.sqlite3-wal"):
        path = tmp_path / "index" / file
        with path.open("r+b") as stream:
            stream.write(b"\x55" * path.stat().st_size)
    other = open_index()  # it is the one to notice, and the first goes on with the new store
    after = index.recall("Where was Ida Moss born?", id="after", k=3)
    other.parts.recalls.flush()
    for one in (index, other):
        assert one.find_recall("before") is None
        assert one.find_recall("after") == after
    other.reinforce(before, ["petrel"])  # handed over as it is, it needs no store
    other.reinforce("after", ["moss"])
    assert index.parts.log.count() == 2
    assert "damaged" in caplog.text
    assert any("recent recalls was damaged" in one for one in other.repairs)
    assert index.doctor().ok


def test_others_that_have_it_open_go_on_with_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "recalls.sqlite3"
    one, other = RecallStore(path, 10), RecallStore(path, 10)
    other.put(_recall(1))
    other.flush()
    one.start_over()
    # What it has open is no longer there; it must not take the new log with it either.
    one.put(_recall(2))
    one.flush()
    assert other.get("one", "r2") == _recall(2)
    other.put(_recall(3))
    other.flush()
    assert one.get("one", "r3") == _recall(3)
    assert one.get("one", "r1") is None
    one.close()
    other.close()
    again = RecallStore(path, 10)
    assert [again.get("one", f"r{n}") is not None for n in (1, 2, 3)] == [False, True, True]
    again.close()


def test_the_doctor_names_a_changed_row_and_mends_it(
    make_index: Callable[..., HebbianIndex], tmp_path: Path
) -> None:
    index = make_index()
    index.recall("Who built the Petrel?", id="r", k=3)
    index.parts.recalls.flush()
    with closing(sqlite3.connect(tmp_path / "index" / "recalls.sqlite3")) as connection, connection:
        connection.execute("UPDATE recalls SET body = replace(body, 'Petrel', 'Heron')")
    (finding,) = index.doctor().findings
    assert (finding.part, finding.repaired) == ("recalls", False)
    assert index.doctor(repair=True).ok
    assert index.doctor().findings == ()
    assert index.find_recall("r") is None


# -- what is gone is not shown -------------------------------------------------------------


@pytest.mark.every_database
def test_a_recall_that_is_looked_up_shows_no_text_that_is_gone(
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


@pytest.mark.every_database
def test_no_text_is_kept_a_second_time(
    make_index: Callable[..., HebbianIndex], tmp_path: Path
) -> None:
    index = make_index()
    index.recall("Who built the Petrel?", k=8)
    index.parts.recalls.flush()
    files = list((tmp_path / "index").glob("recalls.sqlite3*"))
    assert files
    for file in files:
        assert b"ice trade" not in file.read_bytes()


def test_tenants_and_processes_keep_their_own(tmp_path: Path) -> None:
    """Neither a busy tenant nor a process that keeps few evicts what another means to keep."""
    few, many = (RecallStore(tmp_path / "recalls.sqlite3", keep) for keep in (3, 500))
    many.put(_asked("old", "quiet"))
    many.put(_asked("old", "busy"))
    for n in range(200):
        few.put(_asked(f"r{n}", "busy"))
    assert many.get("quiet", "old") is not None
    assert many.get("busy", "old") is not None
    kept = [n for n in range(200) if few.get("busy", f"r{n}") is not None]
    assert kept[-3:] == [197, 198, 199]
    assert len(kept) <= 6
    for n in range(600):
        many.put(_asked(f"m{n}", "busy"))
    assert many.get("busy", "old") is None
    assert many.get("quiet", "old") is not None
    few.close()
    many.close()


def test_a_store_without_the_number_to_keep_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "recalls.sqlite3"
    store = RecallStore(path, 100)
    store.put(_asked("old", "default"))
    store.close()
    with closing(sqlite3.connect(path)) as earlier, earlier:
        earlier.execute("DROP INDEX recalls_by_age")
        earlier.execute("ALTER TABLE recalls DROP COLUMN keep")
    store = RecallStore(path, 100)
    assert store.get("default", "old") is not None
    store.put(_asked("new", "default"))
    assert store.get("default", "new") is not None
    assert store.repairs == []
    store.close()


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
        with pytest.raises(NotFoundError, match=r"no recall .* is kept.*keep_recalls\(\)"):
            index.reinforce(recall.id, ["petrel"])
        assert index.find_recall(recall.id) is None
        copy = Recall.model_validate_json(recall.model_dump_json())
        assert index.reinforce(copy, [copy.hits[0].chunk.id]).recall_id == recall.id


@pytest.mark.sqlite_only
def test_what_was_asked_for_is_known_to_other_processes(
    tmp_path: Path, corpus: list[Chunk]
) -> None:
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(corpus)
        index.keep_recalls()
        recalls = [index.recall("Who built the Petrel?", k=3) for _ in range(40)]
        assert [index.find_recall(recall.id) for recall in recalls] == recalls
    with HebbianIndex.open(tmp_path / "index") as other:
        feedback = other.reinforce(recalls[0].id, [recalls[0].hits[0].chunk.id])
    assert feedback.recall_id == recalls[0].id
