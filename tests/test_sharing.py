"""One index shared by threads, namespaces and forked processes.

With ``HEBBGRAPH_SOAK=1``: 40 forks instead of 6, and threads that go on for 60 rounds
instead of 3.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from children import python
from dump import assert_sound
from ships import CORPUS, QUESTIONS, ByNumber, random_chunks

import hebbgraph.ingest.loading
import hebbgraph.store.database
import hebbgraph.store.vectors
from hebbgraph import HebbianIndex, Ranking, Request, Settings
from hebbgraph.access import Namespaces
from hebbgraph.errors import ClosedIndexError, StorageError


def _in_child(do: Callable[[], object], seconds: float = 60.0) -> None:
    """Fork, do something in the child, and check that it ends well and in time."""
    child = os.fork()
    if not child:
        code = 1
        try:
            do()
            code = 0
        finally:
            os._exit(code)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert status == 0
            return
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


def _use(index: HebbianIndex, id_: str) -> None:
    assert len(index.recall("Who built the Petrel 7?", k=5)) == 5
    index.add([{"id": id_, "text": f"The child of a fork, number {id_}."}])
    assert id_ in index.ids()
    index.delete(id_)


@contextmanager
def _threads(n: int, do: Callable[[], object]) -> Iterator[list[BaseException]]:
    """Do something again and again in n threads; collect what they raise."""
    stop, errors = threading.Event(), []

    def loop() -> None:
        try:
            while not stop.is_set():
                do()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=loop, daemon=True) for _ in range(n)]
    for thread in threads:
        thread.start()
    try:
        yield errors
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)


@pytest.mark.parametrize("embedder", [None, ByNumber()], ids=["words", "vectors"])
def test_child_and_parent_go_on_after_a_fork_beside_recalling_threads(
    tmp_path: Path, embedder: ByNumber | None, soak: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hebbgraph.store.vectors, "_FEW", 20)
    settings = Settings(wait=5.0)
    with HebbianIndex.open(tmp_path, embedder=embedder, settings=settings) as index:
        index.add([*CORPUS, *random_chunks(random.Random(1), map(str, range(50)))])
        others = Namespaces(index.in_namespace("other"), most=0)
        asked = "default", "Who built the Petrel 7?", 5
        with _threads(3, lambda: (index.recall(asked[1]), others.recall(*asked))) as errors:
            for n in range(40 if soak else 6):
                _in_child(lambda n=n: (_use(index, f"f{n}"), others.recall(*asked)))
                index.add([{"id": "again", "text": f"Something new {n}."}])
        assert errors == []
        assert_sound(index)


class _Waits:
    """A strategy that waits within the transaction of its recall."""

    name = "waits"

    def __init__(self, go_on: threading.Event) -> None:
        self.inside, self._go_on = threading.Event(), go_on

    def rank(self, request: Request) -> Ranking:
        self.inside.set()
        self._go_on.wait(60)
        rows, scores = request.question.search.best(5)
        return Ranking(rows, scores)


def test_child_reads_and_writes_although_a_thread_of_the_parent_was_reading(
    tmp_path: Path,
) -> None:
    go_on = threading.Event()
    with HebbianIndex.open(tmp_path, settings=Settings(wait=2.0)) as index:
        index.add(CORPUS)
        strategy = _Waits(go_on)
        with ThreadPoolExecutor(1) as pool:
            recall = pool.submit(index.recall, "Petrel", strategy=strategy)
            assert strategy.inside.wait(30)
            threading.Timer(0.5, go_on.set).start()
            _in_child(lambda: _use(index, "f"))
            assert recall.result(60)[0].id == "petrel"
        assert_sound(index)


def test_child_writes_although_a_thread_of_the_parent_was_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the fork, the writer of the parent holds the database's lock."""
    inside, go_on, parent = threading.Event(), threading.Event(), os.getpid()
    write_batch = hebbgraph.ingest.loading.write_batch

    def slow(*arguments: object) -> object:
        if os.getpid() == parent and not go_on.is_set():
            inside.set()
            go_on.wait(60)
        return write_batch(*arguments)

    with HebbianIndex.open(tmp_path, settings=Settings(wait=5.0)) as index:
        index.add(CORPUS)
        monkeypatch.setattr(hebbgraph.ingest.loading, "write_batch", slow)
        with ThreadPoolExecutor(1) as pool:
            adding = pool.submit(index.add, ["Something of the parent."])
            assert inside.wait(30)
            threading.Timer(0.5, go_on.set).start()
            _in_child(lambda: _use(index, "f"))
            assert adding.result(60).added == 1
        assert_sound(index)


def test_child_can_search_vectors_although_a_thread_was_reading_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the fork, a thread of the parent is making the file of vectors."""
    inside, go_on, parent = threading.Event(), threading.Event(), os.getpid()
    fill = hebbgraph.store.vectors._fill

    def slow(*arguments: object) -> object:
        if os.getpid() == parent:
            inside.set()
            go_on.wait(60)
        return fill(*arguments)

    with HebbianIndex.open(tmp_path, embedder=ByNumber()) as writer:
        writer.add([*CORPUS, *random_chunks(random.Random(1), map(str, range(20)))])
    monkeypatch.setattr(hebbgraph.store.vectors, "_FEW", 5)
    monkeypatch.setattr(hebbgraph.store.vectors, "_fill", slow)
    with (
        HebbianIndex.open(tmp_path, embedder=ByNumber()) as index,
        ThreadPoolExecutor(1) as pool,
    ):
        recall = pool.submit(index.recall, "Petrel 7")
        assert inside.wait(30)
        threading.Timer(0.5, go_on.set).start()
        _in_child(lambda: index.recall("Petrel 7"), seconds=10)
        assert recall.result(60)


def test_what_a_child_was_acknowledged_outlives_the_index_of_its_parent(tmp_path: Path) -> None:
    """The parent closes its index, as the last one as far as its locks tell."""
    from_child, to_parent = os.pipe()
    from_parent, to_child = os.pipe()
    index = HebbianIndex.open(tmp_path)
    index.add(["Something of the parent."])
    child = os.fork()
    if not child:
        index.add([{"id": "first", "text": "The child writes."}])
        os.write(to_parent, b"x")
        os.read(from_parent, 1)
        index.add([{"id": "second", "text": "The child writes again."}])
        index.close()
        os._exit(0)
    os.read(from_child, 1)
    index.close()
    os.write(to_child, b"x")
    assert os.waitpid(child, 0)[1] == 0
    with HebbianIndex.open(tmp_path) as index:
        assert {"first", "second"} < set(index.ids())
        assert_sound(index)


def test_a_strategy_may_fork(tmp_path: Path) -> None:
    """The thread that forks is reading itself, so nobody can wait for it."""

    class Forks(_Waits):
        def rank(self, request: Request) -> Ranking:
            _in_child(lambda: None)
            return super().rank(request)

    go_on = threading.Event()
    go_on.set()
    with HebbianIndex.open(tmp_path) as index:
        index.add(CORPUS)
        assert index.recall("Petrel", strategy=Forks(go_on))[0].id == "petrel"


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
@pytest.mark.parametrize("cache", [32 << 20, 30_000], ids=["cached", "tiny cache"])
def test_32_threads_recall_from_several_namespaces_while_one_writes(
    tmp_path: Path, soak: bool, cache: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hebbgraph.store.database, "_CACHED_BYTES", cache)
    rounds, names = (60 if soak else 3), ["anna", "ben", "cleo", "dora"]
    before = _descriptors()
    opened = {
        name: HebbianIndex.open(
            tmp_path, namespace=name, embedder=ByNumber(), settings=Settings(stop_tags=["yard"])
        )
        for name in names
    }
    for name, index in opened.items():
        index.add(random_chunks(random.Random(name), (f"{name}{n}" for n in range(40))))
    choose = random.Random(7)

    def ask() -> None:
        name = choose.choice(names)
        recall = opened[name].recall(choose.choice(QUESTIONS), k=10)
        assert all(hit.id.startswith(name) for hit in recall)
        assert len({hit.id for hit in recall}) == 10

    with _threads(32, ask) as errors:
        for n in range(rounds):
            name = names[n % len(names)]
            opened[name].add(random_chunks(random.Random(n), [f"{name}{n % 50}"]))
            if n % 5 == 0:
                opened[name].delete(f"{name}{(n + 7) % 50}")
    assert errors == []
    # Four connections are kept, each with a log; SQLite keeps the file open for each that was used
    # at once, and uses it again.
    assert _descriptors() - before <= len(names) * (4 + 4 + 32)
    for index in opened.values():
        assert_sound(index)
        index.close()
    assert _descriptors() - before <= len(names)  # files of vectors may stay mapped


def test_caches_never_mix_states(tmp_path: Path) -> None:
    """A recall sees one state: readers beside a writer get answers of before or after."""
    with HebbianIndex.open(tmp_path) as index, HebbianIndex.open(tmp_path) as writer:
        index.add({"id": f"c{n}", "text": f"ship zero {n}"} for n in range(20))

        def ask() -> None:
            hits = index.recall("zero one two three", k=50)
            kinds = {hit.text.split()[1] for hit in hits if hit.id != "x"}
            assert len(kinds) == 1, kinds
            assert len(hits) == 20

        with _threads(8, ask) as errors:
            for word in ("one", "two", "three", "zero") * 3:
                writer.add({"id": f"c{n}", "text": f"ship {word} {n}"} for n in range(20))
        assert errors == []


def test_chunks_are_found_by_their_vectors_beside_readers(tmp_path: Path) -> None:
    """Two processes read while a third adds chunk by chunk; all of them may write the file."""
    script = (
        "import os, sys; import hebbgraph.store.vectors as v; from ships import ByNumber\n"
        "from hebbgraph import HebbianIndex\n"
        "v._FEW = 5\n"
        "with HebbianIndex.open(sys.argv[1], embedder=ByNumber()) as index:\n"
        "    while not os.path.exists(sys.argv[2]): index.recall('alpha 5', k=3)\n"
    )
    stop, settings = tmp_path / "stop", Settings(vectors=1.0, graph=0.0)
    with HebbianIndex.open(tmp_path / "index", embedder=ByNumber()) as index:
        index.add({"id": f"c{n}", "text": f"alpha {n}"} for n in range(40))
        readers = [python(script, str(tmp_path / "index"), str(stop)) for _ in range(2)]
        for n in range(40, 140):
            index.add([{"id": f"c{n}", "text": f"alpha {n}"}])
        stop.touch()
        assert [reader.wait(60) for reader in readers] == [0, 0]
    with HebbianIndex.open(tmp_path / "index", embedder=ByNumber(), settings=settings) as index:
        for n in range(140):
            assert index.recall("?", vector=ByNumber().vector(str(n)), k=1)[0].id == f"c{n}"


def test_log_stays_bounded_beside_overlapping_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is always a reader, but none stays: the log must not grow with every write."""
    monkeypatch.setattr("hebbgraph.store.sqlite._LARGE_LOG", 1 << 20)
    with HebbianIndex.open(tmp_path) as index:
        index.add({"id": f"c{n}", "text": f"rope {n} of the yard"} for n in range(300))
        rng = np.random.default_rng(1)

        def ask() -> None:
            index.get(index.ids())

        largest = 0
        with _threads(4, ask) as errors:
            for n in range(8):
                noise = " ".join(map(str, rng.integers(0, 10**9, 2000)))
                index.add([{"id": f"w{n % 5}", "text": noise}])
                largest = max(largest, (tmp_path / "default.sqlite3-wal").stat().st_size)
        assert errors == []
        assert largest < 8 << 20


def test_a_file_that_was_removed_or_replaced_takes_no_writes(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(["A first text."])
        shutil.rmtree(tmp_path / "index")
        with pytest.raises(StorageError, match="removed or replaced"):
            index.add(["Into the void."])
    with HebbianIndex.open(tmp_path / "index") as index:
        assert index.ids() == []


@pytest.mark.parametrize("place", ["index", ":memory:"])
def test_an_index_may_be_closed_while_threads_ask(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(3):
        index = HebbianIndex.open(place)
        index.add([f"rope {n}" for n in range(100)])
        with _threads(4, lambda index=index: index.recall("rope 7")) as errors:
            time.sleep(0.1)
            index.close()
            time.sleep(0.1)
        assert {type(error) for error in errors} == {ClosedIndexError}


def test_a_relative_path_means_the_same_after_the_process_changed_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with HebbianIndex.open("index", embedder=ByNumber(), cache_dir="cache") as index:
        index.add(CORPUS)
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert index.recall("Petrel", k=1)[0].id == "petrel"
        with index.in_namespace("other") as other:
            other.add(["Something else."])
        assert index.namespaces() == ["default", "other"]
    assert os.listdir(tmp_path / "elsewhere") == []


def test_long_filters_take_part_in_the_bound_of_the_cache(
    memory: HebbianIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader may send a new one with every question."""
    monkeypatch.setattr(hebbgraph.store.database, "_CACHED_BYTES", 1 << 20)
    memory.add(CORPUS)
    memory.recall("rope")
    tracemalloc.start()
    for n in range(60):
        memory.recall("rope", where={"kind": {"$in": [f"{n}-{at}" * 20 for at in range(1000)]}})
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 4 << 20
