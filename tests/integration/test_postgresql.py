"""PostgreSQL as the truth: commit order, several servers, and connections that are lost."""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pg_server import PostgresServer

import hebbgraph
from hebbgraph import (
    Chunk,
    HebbianIndex,
    IndexLockedError,
    NotAnIndexError,
    ParameterError,
    Settings,
    StorageError,
)
from hebbgraph.errors import ConnectionLostError, MissingExtraError
from hebbgraph.store.history import NOTHING

psycopg = pytest.importorskip("psycopg", reason="needs the extra hebbgraph[postgres]")
postgresql = pytest.importorskip("hebbgraph_scale.postgresql")
PostgresConnection, PostgresDriver = postgresql.PostgresConnection, postgresql.PostgresDriver

OpenServer = Callable[..., HebbianIndex]


@pytest.fixture
def open_server(postgres: PostgresServer, tmp_path: Path) -> Iterator[OpenServer]:
    """Open one application server after the other on one truth, each with its own cache."""
    url = postgres.url(postgres.new_schema())
    with ExitStack() as stack:

        def open_one(name: str, wait: float = 30.0, **options: Any) -> HebbianIndex:
            index = HebbianIndex.open(
                url,
                cache_dir=tmp_path / name,
                settings=Settings(write_wait_seconds=wait),
                **options,
            )
            stack.callback(index.close)
            return index

        yield open_one


def _ids(index: HebbianIndex) -> set[str]:
    return {hit.chunk.id for hit in index.recall("Ida Moss", k=100).hits}


# -- commit order --------------------------------------------------------------------------


@contextmanager
def _held_before_commit(index: HebbianIndex) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Stop the next write of an index just before it commits."""
    arrived, go_on = threading.Event(), threading.Event()
    driver = index.parts.database.driver
    commit = driver.commit

    def hold(connection: Any) -> None:
        arrived.set()
        assert go_on.wait(30)
        commit(connection)

    driver.commit = hold  # type: ignore[method-assign]
    try:
        yield arrived, go_on
    finally:
        go_on.set()
        driver.commit = commit  # type: ignore[method-assign]


def _in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_two_writers_interleaved_and_a_reader_that_skips_nothing(
    open_server: OpenServer,
    corpus: list[Chunk],
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    first, second, reader = (open_server(name) for name in ("first", "second", "reader"))
    first.add(corpus[:3])
    assert len(_ids(reader)) == 3
    before = reader.parts.truth.generation()
    with _held_before_commit(first) as (arrived, go_on):
        one = _in_thread(lambda: first.add([corpus[3]]))
        assert arrived.wait(30)
        # It holds rows and a generation that nobody sees yet; another one must not pass it.
        two = _in_thread(lambda: second.add([corpus[4]]))
        two.join(0.3)
        assert two.is_alive()
        assert len(_ids(reader)) == 3
        assert reader.parts.truth.generation() == before
        go_on.set()
        one.join(30)
    two.join(30)
    assert _ids(reader) == {chunk.id for chunk in corpus[:5]}
    assert reader.parts.truth.generation() == before + 2
    rows = reader.parts.truth.rows_of([corpus[3].id, corpus[4].id])
    assert rows[corpus[3].id] < rows[corpus[4].id]
    for index in (first, second, reader):
        assert_like_rebuilt(index)


def test_a_writer_that_fails_leaves_no_gap(
    open_server: OpenServer, corpus: list[Chunk], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = open_server("first"), open_server("second")

    def fail(connection: Any) -> None:
        raise psycopg.DataError("not today")

    with monkeypatch.context() as patch:
        patch.setattr(first.parts.database.driver, "commit", fail)
        with pytest.raises(StorageError, match="not today"):
            first.add([corpus[0]])
    assert second.add([corpus[1]]).generation == 1
    assert _ids(first) == _ids(second) == {corpus[1].id}


def test_feedback_is_numbered_in_commit_order(open_server: OpenServer, corpus: list[Chunk]) -> None:
    first, second, reader = (open_server(name) for name in ("first", "second", "reader"))
    first.add(corpus)
    recalls = [index.recall("Who built the Petrel?", k=3) for index in (first, second)]
    reader.recall("Petrel")
    with _held_before_commit(first) as (arrived, go_on):
        one = _in_thread(lambda: first.reinforce(recalls[0], ["petrel"]))
        assert arrived.wait(30)
        two = _in_thread(lambda: second.reinforce(recalls[1], ["petrel"]))
        two.join(0.2)
        assert two.is_alive()
        reader.recall("Petrel")
        go_on.set()
        one.join(30)
    two.join(30)
    reader.recall("Petrel")
    assert [event.recall_id for event in reader.parts.memory.events] == [
        recall.id for recall in recalls
    ]


def test_a_log_of_changes_read_at_random_instants_gives_what_is_there(
    open_server: OpenServer,
) -> None:
    writers = [open_server(f"writer{n}") for n in range(3)]
    reader = open_server("reader").parts.truth
    errors: list[BaseException] = []

    def churn(number: int) -> None:
        rng = random.Random(number)
        try:
            for step in range(12):
                ids = [f"c{rng.randrange(12)}" for _ in range(2)]
                if rng.random() < 0.3:
                    writers[number].delete(ids)
                else:
                    writers[number].add(
                        [{"id": id_, "text": f"{number} {step}"} for id_ in set(ids)]
                    )
        except BaseException as error:
            errors.append(error)

    threads = [_in_thread(lambda n=n: churn(n)) for n in range(3)]
    held: set[int] = set()
    commit, n_steps = NOTHING, 0
    while True:
        alive = any(thread.is_alive() for thread in threads)
        changes = reader.changes_since(commit)
        assert changes.complete
        assert held.isdisjoint(changes.added.tolist())
        held |= set(changes.added.tolist())
        held -= set(changes.removed.tolist())
        n_steps += changes.commit.generation > commit.generation
        commit = changes.commit
        if not alive:
            break
    assert not errors
    assert n_steps > 1
    assert held == set(reader.rows_by_id())


def test_a_second_writer_waits_and_then_says_so(
    open_server: OpenServer, corpus: list[Chunk]
) -> None:
    first, second = open_server("first"), open_server("second", wait=0.2)
    with _held_before_commit(first) as (arrived, go_on):
        one = _in_thread(lambda: first.add([corpus[0]]))
        assert arrived.wait(30)
        with pytest.raises(IndexLockedError, match=r"0\.2 s.*write_wait_seconds"):
            second.add([corpus[1]])
        go_on.set()
        one.join(30)
    assert second.add([corpus[1]]).added == 1


def test_namespaces_do_not_wait_for_each_other(
    open_server: OpenServer, corpus: list[Chunk]
) -> None:
    first, second = open_server("first"), open_server("second", wait=0.2, namespace="other")
    for index in (first, second):  # making one waits for others that are being made
        index.add([{"id": "made", "text": "Made."}])
    with _held_before_commit(first) as (arrived, go_on):
        one = _in_thread(lambda: first.add([corpus[0]]))
        assert arrived.wait(30)
        assert second.add([corpus[1]]).added == 1
        go_on.set()
        one.join(30)
    assert _ids(first) == {"made", corpus[0].id}
    assert _ids(second) == {"made", corpus[1].id}


# -- several processes ---------------------------------------------------------------------


def test_processes_with_their_own_derived_parts(
    postgres: PostgresServer,
    tmp_path: Path,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    """They also make the tables and the namespace, all at once."""
    url = postgres.url(postgres.new_schema())
    worker = str(Path(__file__).with_name("worker.py"))
    source = str(Path(hebbgraph.__file__).parents[1])
    processes = [
        subprocess.Popen(
            [sys.executable, worker, "write", url, name, "6"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": source, "HEBBGRAPH_CACHE": str(tmp_path / name)},
        )
        for name in ("auk", "tern")
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "open\n"
        process.stdin.write("go\ngo\n")
        process.stdin.flush()
    with HebbianIndex.open(url, cache_dir=tmp_path / "reader") as reader:
        while any(process.poll() is None for process in processes):
            _ids(reader)
        for process in processes:
            process.communicate()
            assert process.returncode == 0
        assert _ids(reader) == {f"{name}{n}" for name in ("auk", "tern") for n in (1, 3, 5)}
        assert_like_rebuilt(reader)


# -- lost connections ----------------------------------------------------------------------


def test_connections_cut_off_between_operations(
    open_server: OpenServer, postgres: PostgresServer, corpus: list[Chunk]
) -> None:
    index = open_server("one")
    for chunk in corpus:
        assert index.add([chunk]).added == 1
        assert postgres.cut_off_all() > 0
    recall = index.recall("Who built the Petrel?", k=8)
    postgres.cut_off_all()
    index.reinforce(recall, ["petrel"])
    postgres.cut_off_all()
    assert index.recall("Petrel", k=8).hits
    postgres.cut_off_all()
    assert index.delete(["bare"]) == 1
    assert len(_ids(index)) == 7
    assert index.parts.log.count() == 1


def test_a_query_that_fails_is_not_tried_on_every_idle_connection(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{postgres.url(postgres.new_schema())}%20-cstatement_timeout%3D1500"
    with HebbianIndex.open(url, cache_dir=tmp_path) as index:
        driver = index.parts.database.driver
        with ExitStack() as stack:
            for _ in range(3):
                stack.enter_context(driver.transaction(writing=False))
        tried: list[str] = []
        execute = PostgresConnection.execute

        def counted(self: Any, sql: str, *values: Any) -> Any:
            tried.append(sql)
            return execute(self, sql, *values)

        monkeypatch.setattr(PostgresConnection, "execute", counted)
        with pytest.raises(StorageError, match="statement timeout"):
            index.parts.database.ask("SELECT pg_sleep(30)")
        assert tried == ["SELECT pg_sleep(30)"]


def _operations(index: HebbianIndex, chunk: Chunk) -> dict[str, Callable[[], object]]:
    recall = index.recall("Who built the Petrel?", k=3)
    return {
        "recall": lambda: {hit.chunk.id for hit in index.recall("Petrel Ida", k=3).hits},
        "add": lambda: index.add([chunk]).model_dump(include={"added", "replaced", "deleted"}),
        "reinforce": lambda: index.reinforce(recall, ["petrel"]).cited,
        "forget": lambda: index.forget(everything=True),
        "delete": lambda: index.delete([chunk.id]),
        "compact": lambda: index.compact(),
    }


def test_connections_cut_off_within_operations(
    open_server: OpenServer,
    postgres: PostgresServer,
    corpus: list[Chunk],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At each statement in turn, and at each commit: nothing is lost, nothing twice."""
    index = open_server("one")
    index.add(corpus[:4])
    statements = cut_at = 0

    def cut_before(work: Callable[..., Any]) -> Callable[..., Any]:
        def cut(*arguments: Any) -> Any:
            nonlocal statements
            statements += 1
            if statements == cut_at:
                postgres.cut_off_all()
            return work(*arguments)

        return cut

    results: dict[str, list[object]] = {}
    for name in ("recall", "add", "reinforce", "forget", "delete", "compact"):
        cut_at, n_cuts = 1, 0
        while True:
            work = _operations(index, corpus[4])
            prepared = {"forget": "reinforce", "delete": "add"}.get(name)
            if prepared:
                work[prepared]()
            n_before = index.parts.log.count()
            statements = 0
            with monkeypatch.context() as patch:
                for owner, method in (
                    (PostgresConnection, "execute"),
                    (PostgresConnection, "executemany"),
                    (PostgresDriver, "commit"),
                ):
                    patch.setattr(owner, method, cut_before(getattr(owner, method)))
                result = work[name]()
            if name == "reinforce":
                assert index.parts.log.count() == n_before + 1
                index.forget(everything=True)
            assert index.parts.truth.count() == (5 if name == "add" else 4)
            if name == "add":
                index.delete([corpus[4].id])
            results.setdefault(name, []).append(result)
            if statements < cut_at:
                break
            n_cuts += 1
            # Each of the first few statements, then some of the others.
            cut_at += 1 if cut_at < 6 else 7
        assert n_cuts >= 2, name
        assert all(result == results[name][-1] for result in results[name]), name


@contextmanager
def _answer_lost_after_commit(index: HebbianIndex) -> Iterator[None]:
    """Let one commit succeed, and lose the connection before its answer comes."""
    driver = index.parts.database.driver
    commit = driver.commit
    n_lost = 0

    def lose(connection: Any) -> None:
        nonlocal n_lost
        commit(connection)
        if not n_lost:
            n_lost += 1
            connection.raw.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    driver.commit = lose  # type: ignore[method-assign]
    try:
        yield
    finally:
        driver.commit = commit  # type: ignore[method-assign]
    assert n_lost == 1


def test_the_answer_to_a_commit_is_lost(open_server: OpenServer, corpus: list[Chunk]) -> None:
    index = open_server("one")
    with _answer_lost_after_commit(index):
        report = index.add(corpus[:4])
    assert (report.added, report.replaced, report.generation) == (4, 0, 1)
    with _answer_lost_after_commit(index):
        report = index.add([corpus[0].model_copy(update={"text": "Ida Moss again."}), corpus[4]])
    assert (report.added, report.replaced, index.parts.truth.generation()) == (1, 1, 2)
    recall = index.recall("Who built the Petrel?", k=3)
    cited = [recall.hits[0].chunk.id]
    with _answer_lost_after_commit(index):
        feedback = index.reinforce(recall, cited)
    assert index.parts.log.count() == 1
    assert index.reinforce(recall, cited).id == feedback.id
    with _answer_lost_after_commit(index):
        assert index.delete([corpus[4].id]) == 1
    with _answer_lost_after_commit(index):
        assert index.forget(everything=True) == 1
    assert index.parts.truth.count() == 4


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["restart", "crash"])
def test_the_server_goes_and_comes_back(
    open_server: OpenServer, postgres: PostgresServer, corpus: list[Chunk], how: signal.Signals
) -> None:
    index = open_server("one")
    index.add(corpus[:4])
    recall = index.recall("Who built the Petrel?", k=3)
    postgres.stop(how)

    def come_back() -> None:
        time.sleep(0.5)  # so that some attempts fail
        postgres.start()

    starting = _in_thread(come_back)
    try:
        assert index.add(corpus[4:]).added == 4
    finally:
        starting.join(60)
    index.reinforce(recall, ["petrel"])
    assert index.parts.log.count() == 1
    assert len(_ids(index)) == 8


def test_a_server_that_stays_away(
    open_server: OpenServer,
    postgres: PostgresServer,
    corpus: list[Chunk],
    caplog: pytest.LogCaptureFixture,
) -> None:
    index = open_server("one", wait=1.0)
    index.add(corpus)
    recall = index.recall("Who built the Petrel?", k=3)
    postgres.stop()
    try:
        for work in (
            lambda: index.add([{"id": "late", "text": "late"}]),
            lambda: index.recall("Petrel"),
            lambda: index.reinforce(recall, ["petrel"]),
        ):
            with pytest.raises(ConnectionLostError, match="no connection to the database"):
                work()
        with pytest.raises(StorageError):
            open_server("two", wait=1.0)
        assert caplog.text.count("trying again for 1 s") == 2  # by each of the two once
    finally:
        postgres.start()
    index.reinforce(recall, ["petrel"])
    assert index.parts.log.count() == 1
    assert len(_ids(index)) == 8
    assert caplog.text.count("answers again") == 1


# -- places --------------------------------------------------------------------------------


def test_names_of_places_that_cannot_be() -> None:
    with pytest.raises(ParameterError, match=r"SQLite or PostgreSQL.*postgresql\+psycopg"):
        HebbianIndex.open("mssql://somewhere/db")
    with pytest.raises((ParameterError, MissingExtraError)):
        HebbianIndex.open("nonsense://somewhere")
    with pytest.raises(StorageError) as caught:
        HebbianIndex.open(
            "postgresql://ida:secret@/nowhere?host=/nonexistent",
            settings=Settings(write_wait_seconds=0.5),
        )
    assert "secret" not in str(caught.value)


def test_ids_order_by_their_bytes(open_server: OpenServer) -> None:
    """Whatever the collation of the server: ties are broken alike everywhere."""
    index = open_server("one")
    ids = ["b", "A", "ä", "a", "B", "Z", "é", "-", "_1", "10", "9"]
    index.add([{"id": id_, "text": "the same"} for id_ in ids])
    rows = list(index.parts.truth.rows_by_id())
    held = index.parts.truth.ids(rows)
    assert [held[row] for row in rows] == sorted(ids)


def test_compacting_has_deleted_rows_vacuumed(
    open_server: OpenServer,
    corpus: list[Chunk],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = open_server("one")
    index.add(corpus)
    statements: list[str] = []
    execute = PostgresConnection.execute

    def noted(connection: PostgresConnection, sql: str, *values: Any) -> Any:
        statements.append(sql)
        return execute(connection, sql, *values)

    monkeypatch.setattr(PostgresConnection, "execute", noted)
    with caplog.at_level(logging.WARNING, logger="hebbgraph"):
        index.delete(["petrel"], erase=True)
    (vacuum,) = (one for one in statements if one.startswith("VACUUM"))
    assert {"chunks", "feedback", "tag_answers"} <= set(vacuum.replace(",", "").split())
    assert not caplog.records


# -- opening -------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["restart", "crash"])
def test_opening_bridges_a_restart(
    postgres: PostgresServer, tmp_path: Path, how: signal.Signals
) -> None:
    url = postgres.url(postgres.new_schema())
    with HebbianIndex.open(url, cache_dir=tmp_path) as index:
        index.add(["The Petrel was built by Ida Moss."])
    postgres.stop(how)

    def come_back() -> None:
        time.sleep(0.5)  # so that some attempts fail
        postgres.start()

    starting = _in_thread(come_back)
    try:
        with HebbianIndex.open(url, cache_dir=tmp_path) as index:
            assert len(_ids(index)) == 1
    finally:
        starting.join(60)


@pytest.mark.parametrize(
    ("old", "new"), [("/postgres?", "/nothing?"), ("host=", "host=unknown.invalid&x=")]
)
def test_what_the_server_refuses_is_not_waited_for(
    postgres: PostgresServer, old: str, new: str
) -> None:
    url = postgres.url().replace(old, new, 1)
    if "&x=" in url:
        url = url.split("&x=")[0]
    started = time.monotonic()
    with pytest.raises(ConnectionLostError):
        HebbianIndex.open(url, settings=Settings(write_wait_seconds=600.0))
    assert time.monotonic() - started < 300  # a wait, not a speed


@pytest.mark.parametrize("table", ["documents", "meta", "chunks"])
def test_tables_of_another_application(postgres: PostgresServer, table: str) -> None:
    schema = postgres.new_schema()
    postgres.execute(f"CREATE TABLE {schema}.{table} (id integer, body text)")
    with pytest.raises(NotAnIndexError, match=r"another application.*"):
        HebbianIndex.open(postgres.url(schema))
    tables = postgres.execute(
        f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}'"
    )
    assert tables == [(table,)]


def test_tables_beside_ours_are_left_alone(postgres: PostgresServer) -> None:
    schema = postgres.new_schema()
    postgres.execute(f"CREATE TABLE {schema}.invoices (id integer)")
    with HebbianIndex.open(postgres.url(schema)) as index:
        index.add(["The Petrel."])
