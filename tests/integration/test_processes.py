"""Two processes, many threads and an event loop on one index."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import hebbgraph
from hebbgraph import Chunk, HebbianIndex, Recall, Settings
from hebbgraph.derived.lexical import LexicalIndex
from hebbgraph.derived.steps import Steps
from hebbgraph.hebbian_index import MovedMethod
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.recall.strategies.spreading import Spreading
from hebbgraph.store.truth import ChunkWrite

COUNT = 10


@contextmanager
def _writer(place: Path, name: str, count: int = COUNT) -> Iterator[subprocess.Popen[str]]:
    """A process that opens the index, and writes once it is told to."""
    process = subprocess.Popen(
        [
            sys.executable,
            str(Path(__file__).with_name("worker.py")),
            "write",
            str(place),
            name,
            str(count),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(hebbgraph.__file__).parents[1])},
    )
    try:
        yield process
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()


def _go(process: subprocess.Popen[str], *, through: bool = True) -> None:
    """Let it begin once it has opened the index; and delete when it has added all."""
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    _say_go(process)
    if through:
        _say_go(process)


def _say_go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def test_a_reader_sees_each_acknowledged_change(
    make_index: Callable[..., HebbianIndex],
    tmp_path: Path,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    index = make_index()
    with _writer(tmp_path / "index", "tern") as process:
        _go(process, through=False)
        assert process.stdout is not None
        deleted: set[str] = set()
        n_changes = 0
        for line in process.stdout:  # the writer does not wait for us
            verb, id_ = line.split()
            n_changes += 1
            recall = index.recall(f"pilot {id_}", k=100)
            held = {hit.chunk.id for hit in recall.hits}
            if verb == "added":
                assert id_ in held
                if n_changes == COUNT:
                    _say_go(process)
            else:
                deleted.add(id_)
            assert not deleted & held
            assert recall.cues == () or recall.hits[0].score > 0
    assert n_changes == COUNT + COUNT // 2
    assert_like_rebuilt(index)
    assert index.stats().chunks == 8 + COUNT // 2


def test_two_writers_and_one_reader(
    make_index: Callable[..., HebbianIndex],
    tmp_path: Path,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    index = make_index()
    with ExitStack() as stack:
        writers = [stack.enter_context(_writer(tmp_path / "index", n)) for n in ("auk", "tern")]
        for process in writers:
            _go(process)
        generation = 0
        while any(process.poll() is None for process in writers):
            recall = index.recall("Ida Moss at dawn", k=50)
            assert recall.generation >= generation
            generation = recall.generation
    assert_like_rebuilt(index)
    assert index.stats().chunks == 8 + COUNT
    index.close()
    with HebbianIndex.open(tmp_path / "index") as again:
        assert_like_rebuilt(again)


def test_processes_that_make_the_same_index_at_once(
    tmp_path: Path, assert_like_rebuilt: Callable[[HebbianIndex], None]
) -> None:
    place = tmp_path / "new"
    with ExitStack() as stack:
        writers = [stack.enter_context(_writer(place, name, 2)) for name in ("auk", "tern", "gull")]
        for process in writers:
            _go(process)
    with HebbianIndex.open(place) as index:
        assert index.stats().chunks == 3
        assert_like_rebuilt(index)


def test_one_process_compacts_under_another(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    first, second = make_index(), open_index()
    second.recall("Petrel")
    first.delete(["heron"])
    first.compact()
    assert {hit.chunk.id for hit in second.recall("Heron slate", k=8).hits} == {
        "petrel", "moss", "vale", "bay", "point", "knots", "bare",
    }  # fmt: skip
    second.add([{"id": "late", "title": "Chapel", "text": "A late word."}])
    for index in (first, second):
        assert index.recall("late word", k=1).hits[0].chunk.id == "late"
        assert_like_rebuilt(index)


# -- threads -------------------------------------------------------------------------------


def test_eight_threads_recall_while_one_adds(
    make_index: Callable[..., HebbianIndex],
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    index = make_index()
    ready = threading.Barrier(9, timeout=60)
    done = threading.Event()
    errors: list[BaseException] = []
    recalls: list[Recall] = []

    def read() -> None:
        try:
            ready.wait()
            while not done.is_set():
                recall = index.recall("Where was the builder of the Petrel born?", k=8)
                assert len(recall.hits) == 8
                assert recall.hit("petrel") is not None
                recalls.append(recall)
        except BaseException as error:
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    ready.wait()
    try:
        for n in range(8):
            index.add([{"id": f"new{n}", "title": f"Ida {n}", "text": f"Pilot {n} met Ida Moss."}])
            if n % 3 == 2:
                index.delete([f"new{n - 1}"])
    finally:
        done.set()
        for reader in readers:
            reader.join(60)
    assert not errors
    assert not any(reader.is_alive() for reader in readers)
    assert {recall.generation for recall in recalls} <= set(range(1, 13))
    assert_like_rebuilt(index)


def test_threads_may_write_at_once(
    make_index: Callable[..., HebbianIndex],
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    index = make_index()
    errors: list[BaseException] = []

    def write(name: str) -> None:
        try:
            for n in range(3):
                index.add([{"id": f"{name}{n}", "title": f"Captain {name}", "text": "Ida Moss."}])
            index.delete([f"{name}0"])
        except BaseException as error:
            errors.append(error)

    writers = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert not errors
    assert index.stats().chunks == 8 + 8
    assert_like_rebuilt(index)


def test_recalls_go_on_while_a_batch_is_derived(
    make_index: Callable[..., HebbianIndex],
    monkeypatch: pytest.MonkeyPatch,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    """With what was acknowledged before; and when the add returns, with all of it."""
    index = make_index(settings=Settings(batch_size=2))
    index.recall("Petrel")
    inside, go_on = threading.Event(), threading.Event()
    update = LexicalIndex.update

    def slow(self: LexicalIndex, *args: Any, **options: Any) -> None:
        inside.set()
        assert go_on.wait(60)
        update(self, *args, **options)

    monkeypatch.setattr(LexicalIndex, "update", slow)
    more = [{"id": f"new{n}", "text": f"Pilot {n} met Ida Moss."} for n in range(6)]
    adding = threading.Thread(target=index.add, args=(more,))
    adding.start()
    try:
        assert inside.wait(60)
        recall = index.recall("Who met Ida Moss?", k=20)  # it hangs if it has to wait
        assert len(recall.hits) == 8
        assert recall.generation == 4
        assert index.stats().chunks == 8
        assert adding.is_alive()
    finally:
        go_on.set()
        adding.join(60)
    assert len(index.recall("Who met Ida Moss?", k=20).hits) == 14
    assert_like_rebuilt(index)


def test_nothing_new_is_learned_while_a_recall_ranks(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Learned rows are read while activation spreads, and number the nodes known until then."""
    question = "Where was the builder of the Petrel born?"
    index, other = make_index(), open_index()
    before = index.recall(question, k=8)
    index.reinforce(before, [before.hits[0].chunk.id], trusted=True)
    learning: list[threading.Thread] = []
    rank = Spreading.rank

    def disturbed(self: Spreading, request: Request) -> Ranking:
        if not learning:
            cited = [hit.chunk.id for hit in before.hits[4:]]
            other.reinforce(before, cited, trusted=True, actor="ann")
            learning.append(threading.Thread(target=index.recall, args=(question,)))
            learning[0].start()
            learning[0].join(0.3)  # it waits, or has learned
        return rank(self, request)

    monkeypatch.setattr(Spreading, "rank", disturbed)
    assert len(index.recall(question, k=8).hits) == 8
    learning[0].join(60)
    assert len(index.parts.memory.events) == 2


def test_a_change_of_another_process_is_not_taken_for_an_open_call(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
) -> None:
    """It was acknowledged, so a reader waits for it, and gets the open call's batches too."""
    index, other = make_index(), open_index()
    with index.parts.truth.acknowledging_at_the_end():
        index.parts.truth.apply([ChunkWrite(Chunk(id="mine", text="Ida"), {})])
        assert len(index.recall("Ida", k=20).hits) == 8
        other.add([{"id": "theirs", "text": "Ida"}])
        assert len(index.recall("Ida", k=20).hits) == 10
    assert len(index.recall("Ida", k=20).hits) == 10


def test_a_reader_that_finds_the_graph_gone_does_not_lock_out_a_writer(
    make_index: Callable[..., HebbianIndex], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of the two locks: whoever refreshes takes the graph's last."""
    index = make_index()
    derived = index.parts.derived
    keep_up = derived.keep_up
    n_calls = 0
    holds, let_go = threading.Event(), threading.Event()

    def refresher() -> None:
        with derived._refreshing:
            holds.set()
            assert let_go.wait(60)
            with derived.lock.held():
                pass

    def lost_meanwhile() -> int:
        nonlocal n_calls
        n_calls += 1
        generation = keep_up()
        if n_calls == 1:
            derived._parts = None  # as a step of another thread that fails leaves it
            thread.start()
            assert holds.wait(60)
            threading.Timer(0.05, let_go.set).start()
        return generation

    thread = threading.Thread(target=refresher)
    monkeypatch.setattr(derived, "keep_up", lost_meanwhile)
    with derived.reading() as generation:
        assert generation == 1
        assert derived.graph.n_chunks == 8
    thread.join(60)
    assert not thread.is_alive()
    assert n_calls == 2


def test_readers_wait_until_parts_that_are_loaded_again_have_caught_up(
    make_index: Callable[..., HebbianIndex], monkeypatch: pytest.MonkeyPatch
) -> None:
    index = make_index()
    derived = index.parts.derived
    assert len(index.recall("Petrel", k=20).hits) == 8
    loaded, go_on = threading.Event(), threading.Event()
    catch_up = Steps.catch_up

    def slow(self: Steps, *parts: Any, **options: Any) -> Any:
        loaded.set()
        assert go_on.wait(60)
        return catch_up(self, *parts, **options)

    monkeypatch.setattr(Steps, "catch_up", slow)
    derived._drop()  # as after an error; no snapshot was saved
    with ThreadPoolExecutor(2) as pool:
        refreshed = pool.submit(derived.refresh)
        assert loaded.wait(60)
        recalled = pool.submit(index.recall, "Petrel", k=20)
        with suppress(TimeoutError):
            recalled.result(0.2)
        go_on.set()
        assert len(recalled.result(60).hits) == 8
        assert refreshed.result(60) == 1


def test_a_busy_folder_gives_an_older_answer_and_no_error(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
    caplog: pytest.LogCaptureFixture,
) -> None:
    index = make_index(settings=Settings(write_wait_seconds=0.1))
    index.recall("Petrel")
    other = open_index()
    with other.parts.derived.locked():
        other.put_document("new", None, ["Slate from the north."])
        assert len(index.recall("Slate", k=20).hits) == 8
        assert "an older generation answers" in caplog.text
        other.parts.truth.apply(delete_ids=["bare"], delete_documents=["new"])
        with pytest.raises(hebbgraph.IndexLockedError, match="try again"):
            index.recall("Slate", k=20)
    assert len(index.recall("Slate", k=20).hits) == 7


# -- forks -------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_an_index_opened_before_a_fork_says_so_in_the_child(
    make_index: Callable[..., HebbianIndex],
    tmp_path: Path,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    index = make_index()
    recall = index.recall("Petrel")
    child = os.fork()
    if not child:
        status = 1
        try:
            with pytest.raises(hebbgraph.ClosedIndexError, match="forked; open another one"):
                index.recall("Petrel")
            index.close()
            gc.collect()
            with HebbianIndex.open(tmp_path / "index") as own:
                own.add([{"id": "child", "text": "Ida Moss had a child."}])
                own.reinforce(recall, ["petrel"])
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert index.add([{"id": "parent", "text": "Ida Moss was a parent."}]).added == 1
    assert len(index.recall("Ida Moss", k=20).hits) == 10
    assert index.parts.log.count() == 1
    assert_like_rebuilt(index)


# -- an event loop ---------------------------------------------------------------------------


async def test_the_async_twins_leave_the_loop_alone(tmp_path: Path, corpus: list[Chunk]) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def slow(chunk: Chunk) -> list[str]:
        if chunk.id == "knots":
            inside.set()
            assert go_on.wait(60)  # until the loop has ticked: it deadlocks if aadd blocks it
        return []

    async with await HebbianIndex.aopen(tmp_path / "index", tagger=slow) as index:
        adding = asyncio.create_task(index.aadd(corpus))
        while not inside.is_set():
            await asyncio.sleep(0.001)
        for _ in range(10):  # heartbeats while aadd is at work
            await asyncio.sleep(0)
        assert not adding.done()
        assert (await index.arecall("Petrel")).hits == ()  # nor does it block a reader
        go_on.set()
        report = await adding
        assert report.added == 8
        await index.akeep_recalls()
        recalls = await asyncio.gather(*(index.arecall("Petrel", k=3) for _ in range(12)))
        assert all(recall.hits == recalls[0].hits for recall in recalls)
        assert (await index.astats()).chunks == 8
        assert (await index.afind_recall(recalls[0].id)) == recalls[0]
        assert (await index.aexplain(recalls[0], "petrel")).rank == 1
        assert (await index.inspect.ato_networkx()).number_of_nodes() > 0
        assert await index.adelete(["petrel"]) == 1
        await index.acompact()
    with pytest.raises(hebbgraph.ClosedIndexError):
        await index.arecall("Petrel")


def test_every_blocking_method_has_its_twin() -> None:
    public = {
        name
        for kind in HebbianIndex.__mro__
        for name, value in vars(kind).items()
        if name[0] != "_" and not isinstance(value, property | cached_property | MovedMethod)
    }
    blocking = {name for name in public if not (name[0] == "a" and name[1:] in public)}
    assert {"add", "recall", "restore", "document_fingerprints"} <= blocking
    for name in blocking:
        twin = getattr(HebbianIndex, f"a{name}")
        assert asyncio.iscoroutinefunction(twin), name
        assert twin.__doc__ is not None
