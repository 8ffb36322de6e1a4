"""What was deleted is in no file of the index: texts, titles, words and vectors."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from ships import CORPUS, ByNumber

import hebbgraph.store.vectors
from hebbgraph import HebbianIndex, Ranking, Request, Settings
from hebbgraph.store.vectors import VectorCache

_SECRET = {
    "id": "secret-zorvane",
    "title": "Quillobert Zandt",
    "text": "Xylophonequartz was hidden under the plinthgarden by Quillobert Zandt 77.",
    "metadata": {"keeper": "Brundlewick"},
    "document_id": "doc-yttria",
    "tags": ["Oskopnir"],
}
_TRACES = [b"xylophonequartz", b"quillobert", b"zandt", b"plinthgarden", b"brundlewick",
           b"zorvane", b"yttria", b"oskopnir"]  # fmt: skip


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hebbgraph.store.vectors, "_FEW", 20)


def _vector_bytes(embedder: ByNumber) -> bytes:
    vector = np.array(embedder.vector(_SECRET["text"]), np.float32)
    unit: np.ndarray = vector / np.linalg.norm(vector)
    return unit.astype("<f4").tobytes()[4:60]  # without an end, where rounding may differ


def _traces(folder: Path) -> list[tuple[str, bytes]]:
    """Return the files that hold anything of the secret, and what."""
    wanted = [*_TRACES, _vector_bytes(ByNumber())]
    found = []
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        found += [(path.name, trace) for trace in wanted if trace in data or trace in data.lower()]
    return found


def _open(folder: Path, **options: object) -> HebbianIndex:
    return HebbianIndex.open(folder, embedder=ByNumber(), settings=Settings(wait=0.3), **options)


def _filled(folder: Path) -> HebbianIndex:
    index = _open(folder)
    index.add([*CORPUS, *(f"rope number {n}" for n in range(60)), _SECRET])
    index.recall("Who hid the xylophonequartz?")
    assert {name.rpartition(".")[2] for name, _ in _traces(folder)} >= {"vectors"}
    return index


_DELETES: dict[str, Callable[[HebbianIndex], object]] = {
    "by id": lambda index: index.delete(_SECRET["id"]),
    "by document": lambda index: index.delete(document_id=_SECRET["document_id"]),
    "by filter": lambda index: index.delete(where={"keeper": "Brundlewick"}),
    "refresh": lambda index: index.refresh(
        [{"id": "other", "text": "Nothing.", "document_id": _SECRET["document_id"]}]
    ),
}


@pytest.mark.parametrize("way", ["by id", "by filter"])
def test_nothing_is_left_after_delete(tmp_path: Path, way: str) -> None:
    with _filled(tmp_path) as index:
        report = _DELETES[way](index)
        assert (report.deleted, report.erased) == (1, True)
        assert _traces(tmp_path) == []
        assert index.doctor() == []
    assert _traces(tmp_path) == []


@pytest.mark.parametrize("way", ["by document", "refresh"])
def test_only_the_new_chunk_names_the_document(tmp_path: Path, way: str) -> None:
    with _filled(tmp_path) as index:
        _DELETES[way](index)
        left = {trace for _, trace in _traces(tmp_path)}
        assert left <= ({b"yttria"} if way == "refresh" else set())


def test_replaced_by_refresh_leaves_no_trace(tmp_path: Path) -> None:
    with _filled(tmp_path) as index:
        index.refresh([{"id": _SECRET["id"], "text": "A new text 78.", "document_id": "new"}])
        assert {trace for _, trace in _traces(tmp_path)} <= {b"zorvane"}


class _Held:
    """A strategy that keeps its recall, and so its state of the database, open."""

    name = "held"

    def __init__(self) -> None:
        self.reading, self.release = threading.Event(), threading.Event()

    def rank(self, request: Request) -> Ranking:
        self.reading.set()
        self.release.wait(60)
        return Ranking(np.empty(0, np.int64), np.empty(0))


@pytest.fixture
def held() -> Iterator[_Held]:
    """A strategy whose recall ends with the test at the latest."""
    strategy = _Held()
    yield strategy
    strategy.release.set()


def test_open_reader_delays_erasing_and_the_report_says_so(tmp_path: Path, held: _Held) -> None:
    with _filled(tmp_path) as index, _open(tmp_path) as reader:
        thread = threading.Thread(target=reader.recall, args=("?",), kwargs={"strategy": held})
        thread.start()
        assert held.reading.wait(30)
        report = index.delete(_SECRET["id"])
        assert (report.deleted, report.erased) == (1, False)
        assert index.ids() == reader.ids()
        held.release.set()
        thread.join()
        index.add(["Another chunk 99."])
        report = index.delete(index.ids({"$id": {"$in": ["bare"]}}))
        assert (report.deleted, report.erased) == (1, True)
        assert _traces(tmp_path) == []


def test_delete_says_whether_something_older_is_still_there(tmp_path: Path, held: _Held) -> None:
    """Asking again, with nothing to delete, erases what a reader kept."""
    with _filled(tmp_path) as index, _open(tmp_path) as reader:
        thread = threading.Thread(target=reader.recall, args=("?",), kwargs={"strategy": held})
        thread.start()
        assert held.reading.wait(30)
        assert not index.delete(_SECRET["id"]).erased
        assert not index.delete(_SECRET["id"]).erased
        held.release.set()
        thread.join()
        assert index.delete(_SECRET["id"]).erased
        assert _traces(tmp_path) == []


def _without_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> HebbianIndex:
    """Return an index whose file of vectors is due, but not written yet."""
    monkeypatch.setattr(hebbgraph.store.vectors, "_FEW", 1000)
    index = _open(folder)
    index.add([*(f"rope number {n}" for n in range(60)), _SECRET])
    monkeypatch.setattr(hebbgraph.store.vectors, "_FEW", 20)
    return index


def test_file_of_vectors_that_a_reader_is_writing_holds_nothing_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader began before the delete, and puts its file in place after it."""
    index = _without_file(tmp_path, monkeypatch)
    reached, go_on = threading.Event(), threading.Event()
    replace = os.replace

    def waits(source: str, target: str) -> None:
        reached.set()
        go_on.wait(60)
        replace(source, target)

    monkeypatch.setattr(os, "replace", waits)
    with index, _open(tmp_path) as reader:
        thread = threading.Thread(target=reader.recall, args=("rope",))
        thread.start()
        assert reached.wait(30)
        report = index.delete(_SECRET["id"])
        go_on.set()
        thread.join()
        if not report.erased:
            assert index.delete(index.ids()[:1]).erased
        assert _traces(tmp_path) == []


def test_file_of_vectors_of_a_killed_reader_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was not yet in place, so nobody would look at it again."""
    index = _without_file(tmp_path, monkeypatch)

    def dies(*_: object) -> None:
        os._exit(9)

    child = os.fork()
    if not child:
        monkeypatch.setattr(os, "replace", dies)
        with _open(tmp_path) as reader:
            reader.recall("rope")
        os._exit(0)
    assert os.waitpid(child, 0)[1] >> 8 == 9
    with index:
        index.recall("rope")
        index.delete(_SECRET["id"])
        assert _traces(tmp_path) == []


@pytest.mark.parametrize("everything", [False, True])
def test_asking_again_ends_what_a_killed_process_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, everything: bool
) -> None:
    """It deleted, and died before the file of vectors was overwritten."""
    _filled(tmp_path).close()
    child = os.fork()
    if not child:
        monkeypatch.setattr(VectorCache, "erase", lambda *_: os._exit(9))
        with _open(tmp_path) as index:
            index.delete(index.ids() if everything else _SECRET["id"])
        os._exit(0)
    assert os.waitpid(child, 0)[1] >> 8 == 9
    assert [name.rpartition(".")[2] for name, _ in _traces(tmp_path)] == ["vectors"]
    with _open(tmp_path) as index:
        assert index.delete(_SECRET["id"]).erased
        assert _traces(tmp_path) == []


def test_kept_recalls_hold_no_title_of_what_was_deleted(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path) as index:
        index.add([_SECRET, "Tessel Bay is cold."])
        recall = index.recall("Who is under the plinthgarden?")
        assert recall[0].id == _SECRET["id"]
        index.keep(recall)
        index.delete(_SECRET["id"])
        kept = {b"zorvane", b"yttria", b"plinthgarden"}  # ids and the question
        assert {trace for _, trace in _traces(tmp_path)} <= kept


def test_a_backup_holds_nothing_deleted(tmp_path: Path) -> None:
    """SQLite leaves copies of rows where it moves them: about one deleted chunk in 200 has one."""
    rng = random.Random(1)

    def chunk(n: int) -> dict[str, str]:
        words = " ".join(f"w{rng.randrange(500)}" for _ in range(rng.choice([10, 50, 100])))
        return {"id": f"c{n}", "title": f"Secret{n} Zandt", "text": f"secret{n}. {words}"}

    def traces(path: Path) -> set[bytes]:
        data = b"".join(file.read_bytes().lower() for file in path.parent.glob(path.name + "*"))
        return {b"secret%d" % n for n in gone if b"secret%d" % n in data}

    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(chunk(n) for n in range(1000, 1600))
        gone = rng.sample(range(1000, 1600), 400)
        index.delete([f"c{n}" for n in gone])
        assert traces(tmp_path / "index" / "default.sqlite3")
        index.backup(tmp_path / "copy.sqlite3")
    assert traces(tmp_path / "copy.sqlite3") == set()
    (tmp_path / "copy.sqlite3").replace(tmp_path / "index" / "default.sqlite3")
    with HebbianIndex.open(tmp_path / "index") as index:
        assert len(index.ids()) == 200
        assert index.doctor() == []
    assert traces(tmp_path / "index" / "default.sqlite3") == set()


def test_a_backup_is_a_file_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite reads "file:" at the start of a name as the start of a URL."""
    monkeypatch.chdir(tmp_path)
    with HebbianIndex.open(":memory:") as index:
        index.add(["Tessel Bay is cold."])
        index.backup("file:a?mode=memory")
    assert Path("file:a?mode=memory").stat().st_size
