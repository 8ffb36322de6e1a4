"""A namespace in PostgreSQL: the same results as in a file, apart from others, and durable.

``test_exact`` checks histories. With ``HEBBGRAPH_SOAK=1``: 60 kills instead of 6.
"""

from __future__ import annotations

import math
import multiprocessing
import random
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
from dump import assert_sound, differences, seen
from hypothesis import given
from hypothesis import strategies as st
from postgres import PostgresServer, add_batches
from ships import CORPUS, QUESTIONS, ByNumber, random_chunks
from storms import Storm

from hebbgraph import Chunk, HebbianIndex, Ranking, RankStep, Request, Settings
from hebbgraph.errors import (
    ConnectionLostError,
    DamagedIndexError,
    DiskFullError,
    IndexBusyError,
    MissingExtraError,
    NotAnIndexError,
    NotFoundError,
    ParameterError,
    ReadOnlyIndexError,
    StorageError,
)
from hebbgraph.store.postgres import PostgresDatabase, schema_name
from hebbgraph.store.postgres_server import PostgresSession


@pytest.fixture
def url(server: PostgresServer) -> str:
    """The URL of an empty database."""
    return server.new_database()


QUESTION = "Where did the builder of the Petrel live?"


def _hits(index: HebbianIndex) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in index.recall(QUESTION)]


# -- the same results as elsewhere -------------------------------------------------------------


def test_index_equals_one_in_memory(url: str, memory: HebbianIndex) -> None:
    with HebbianIndex.open(url) as index:
        index.add(CORPUS)
        memory.add(CORPUS)
        assert differences(index, memory) == []
        assert index.stats() == memory.stats() | {"changes": index.stats()["changes"]}
        assert index.to_networkx().adj == memory.to_networkx().adj
        index.rebuild()
        assert_sound(index)
    with HebbianIndex.open(url, read_only=True) as index:
        assert differences(index, memory) == []


HOSTILE = [
    Chunk(id="long", text="x " + "é" * 5000, title="y" * 3000, metadata={"s": "z" * 300 + "a" * 9}),
    Chunk(id="longer", text="x", metadata={"s": "z" * 300 + "b" * 90_000, "e": "w" * 9000}),
    Chunk(id="short", text="x", metadata={"s": "z" * 300, "%": 1, "a ? ${b}": "%s ? $chunk"}),
    Chunk(id="place", text="x", addresses=["é/" * 1000], references=["é/" * 1000]),
    Chunk(id="numbers", text="x", metadata={"n": 2**62 + 1, "m": 0.1, "o": 3.0, "huge": 10**400}),
    Chunk(id="number", text="x", metadata={"n": 2**62, "m": 0.1 + 0.2, "o": 3, "p": 1.5e300}),
    Chunk(id="nul", text="x\0y", title="\0", metadata={"k\0\ud800": "v\0\udfff", "l": ["\0"]}),
    Chunk(id="東" * 512, document_id="東" * 512, text="x"),
]
FILTERS: list[dict[str, Any]] = [
    {"s": "z" * 300},
    {"s": "z" * 300 + "b" * 90_000},
    {"s": {"$in": ["z" * 300, "z" * 300 + "a" * 9, 1, 0.5, True, None]}},
    {"s": {"$gt": "z" * 300}},
    {"s": {"$lte": "z" * 300 + "a" * 10}},
    {"s": {"$contains": "bbb"}},
    {"n": 2**62},
    {"n": {"$gt": 2**62}},
    {"n": {"$in": [2**62, 0.5]}},
    {"m": 0.1},
    {"m": {"$in": [0.1 + 0.2]}},
    {"m": {"$gt": 0.1, "$lt": 10**30}},
    {"o": 3},
    {"o": {"$in": [3.0, 10**30]}},
    {"huge": {"$gt": 10**30}},
    {"huge": 10**400},
    {"p": {"$gt": 1e300}},
    {"%": {"$exists": True}},
    {"a ? ${b}": "%s ? $chunk"},
    {"k\0\ud800": "v\0\udfff"},
    {"k\0\ud800": {"$exists": True}},
    {"l": {"$text_match": "\0"}},
    {"$id": {"$in": ["nul\0", "\ud800", "nul"]}},
    {"$document_id": {"$gt": "a"}},
]


def test_hostile_chunks_are_found_as_in_memory(url: str, memory: HebbianIndex) -> None:
    with HebbianIndex.open(url) as index:
        for one in (index, memory):
            one.add([*HOSTILE, *CORPUS])
        assert differences(index, memory) == []
        for where in FILTERS:
            assert index.ids(where) == memory.ids(where), where
            assert index.ids(where) or "\0" in str(where) or "$contains" in str(where), where
        for one in (index, memory):
            for call in (one.get, one.delete):
                call(["nul\0", "\ud800", "petre\0l"])
            assert one.tags("x\0\ud800") == []
            assert len(one.recall("\0 Petrel \ud800", seeds=[("nul\0", 1.0), ("bay", 0.5)])) == 10
        assert differences(index, memory) == []
        assert_sound(index)


def test_vectors_are_searched_as_in_memory(url: str) -> None:
    chunks = [Chunk(id=str(n), text=f"ship {n}") for n in range(40)]
    with (
        HebbianIndex.open(url, embedder=ByNumber()) as index,
        HebbianIndex.open(":memory:", embedder=ByNumber()) as memory,
    ):
        for one in (index, memory):
            one.add(chunks)
            one.delete(["3", "5"])
        assert index.recall("ship 7")[0].id == "7"
        assert differences(index, memory) == []


def test_lessons_teach_as_in_memory(url: str) -> None:
    chunks = random_chunks(random.Random(3), map(str, range(40)))
    with (
        HebbianIndex.open(url, embedder=ByNumber()) as index,
        HebbianIndex.open(":memory:", embedder=ByNumber()) as memory,
    ):
        for one in (index, memory):
            one.add(chunks)
        untaught = seen(memory)
        rng = random.Random(3)
        for n in range(30):
            question = f"{rng.choice(QUESTIONS)} {rng.randrange(3)}"
            ranks, actor = rng.sample(range(8), 2), rng.choice([f"actor {n}", None])
            for one in (index, memory):
                recall = one.recall(question, k=8)
                cited, rejected = (recall[rank].id for rank in ranks)
                wrong = [rejected] if n % 3 == 0 else []
                one.reinforce(recall, cited=[cited], rejected=wrong, actor=actor)
        assert seen(index) == seen(memory) != untaught
        assert index.forget(since=-math.inf, until=math.inf, dry_run=True) == 30
        index.rebuild()
        assert seen(index) == seen(memory)
        index.forget(everything=True)
        assert seen(index) == untaught


# -- apart from others ------------------------------------------------------------------------


def test_namespaces_never_mix(url: str) -> None:
    names = ["default", "Anna", "anna", "a_b", "a__b", 'x"; DROP SCHEMA public; --', "é" * 200]
    for n, name in enumerate(names):
        with HebbianIndex.open(url, namespace=name) as index:
            index.add([Chunk(id="a", text=f"Ida Moss kept ship {n}."), Chunk(id=name, text="y")])
    with HebbianIndex.open(url) as first:
        assert first.namespaces() == sorted(names)
        assert first.delete("a").deleted == 1
        assert first.ids() == ["default"]
        for n, name in enumerate(names[1:], start=1):
            with first.in_namespace(name) as other:
                assert other.ids() == sorted(["a", name])
                assert other.get("a")[0].text.endswith(f"ship {n}.")
                assert {hit.id for hit in other.recall("Who kept a ship?")} == {"a", name}


@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=80))
def test_schema_names_are_distinct_and_fit(one: str, other: str) -> None:
    one, other = (text.encode(errors="replace").decode() for text in (one, other))
    first, second = schema_name(one), schema_name(other)
    assert (first == second) == (one == other)
    assert len(first) <= 63
    assert first.isascii()
    assert first.replace("_", "").isalnum()


def test_search_path_changes_nothing(server: PostgresServer, url: str) -> None:
    """A pooler may lend a connection on which somebody has set another schema."""
    database = url.partition("@/")[2].partition("?")[0]
    with HebbianIndex.open(url, namespace="evil") as evil, HebbianIndex.open(url) as index:
        server.execute(f"ALTER DATABASE {database} SET search_path = hebbgraph_evil")
        index.add(CORPUS[:4])  # on connections from before
        server.cut_connections()
        index.add(CORPUS[4:])
        assert len(index.ids()) == len(CORPUS)
        assert len(_hits(index)) == len(CORPUS)
        assert evil.ids() == []
        with index.in_namespace("third") as third:
            assert third.ids() == []
        assert_sound(index)


def test_pooler_in_transaction_mode(server: PostgresServer, url: str, memory: HebbianIndex) -> None:
    """Each transaction may run on another of two connections, which all tenants share."""
    names = ["anna", "ben", "cleo", "dora"]
    memory.add(CORPUS)
    with server.pooler(2) as pooled:
        opened = [HebbianIndex.open(pooled(url), namespace=name) for name in names]

        def work(index: HebbianIndex) -> list[list[tuple[str, float]]]:
            index.add(CORPUS[:3])
            index.add(CORPUS)
            return [_hits(index) for _ in range(10)]

        with ThreadPoolExecutor(len(names)) as pool:
            assert list(pool.map(work, opened)) == [[_hits(memory)] * 10] * len(names)
        for index in opened:
            assert differences(index, memory) == []
            index.close()


def test_pgvector_serves_seeds_as_the_page_on_scale_shows(url: str) -> None:
    page = Path(__file__).parents[1] / "docs/scale.md"
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {"embed": lambda text: ByNumber(384).embed_query(text)}
    exec(block.replace("postgresql://localhost/hebbgraph", url), names)
    names["add"]([{"id": f"c{n}", "text": f"Number {n} is a heron."} for n in range(9)])
    names["add"]([{"id": "c1", "text": "Number 1 is an auk."}])
    names["index"].delete("c2")
    found = names["ask"]("Number 1 is an auk.")
    assert found[0].id == "c1"
    assert found[0].vectors == 1.0
    assert "c2" not in {hit.id for hit in found}
    names["index"].close()
    names["vectors"].close()


def test_texts_compare_by_bytes_and_blocks_are_not_compressed(
    server: PostgresServer, url: str
) -> None:
    database = url.partition("@/")[2].partition("?")[0]
    sql = "SELECT relname, attname FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid "
    sql += "LEFT JOIN pg_collation AS l ON attcollation = l.oid WHERE relkind = 'r' AND attnum > 0 "
    sql += "AND relnamespace = 'hebbgraph_default'::regnamespace"
    wrong = "(atttypid = 'text'::regtype AND collname IS DISTINCT FROM 'C' OR "
    wrong += "atttypid = 'bytea'::regtype AND attstorage <> 'e')"
    with HebbianIndex.open(url):
        assert server.execute(sql, database=database)
        assert server.execute(f"{sql} AND {wrong}", database=database) == []


def test_round_trips_of_a_recall_are_its_statements_and_two(url: str) -> None:
    """Statements are counted in ``test_word_search``; these two begin and end the transaction."""
    with HebbianIndex.open(url) as index:
        index.add(CORPUS)
        for most in (20, 6):  # and again
            with patch.object(psycopg.Connection, "execute", autospec=True) as execute:
                execute.side_effect = _execute
                index.recall(QUESTION)
            assert 0 < execute.call_count <= most


def test_schema_of_something_else_is_no_index(server: PostgresServer, url: str) -> None:
    database = url.partition("@/")[2].partition("?")[0]
    server.execute("CREATE SCHEMA hebbgraph_mine", database=database)
    with HebbianIndex.open(url, namespace="mine") as index:  # an empty one is filled
        assert index.add(CORPUS).added == len(CORPUS)
        server.execute("DROP SCHEMA hebbgraph_mine CASCADE", database=database)
        with pytest.raises(NotAnIndexError):
            index.ids()
    server.execute(
        "CREATE SCHEMA hebbgraph_default",
        "CREATE TABLE hebbgraph_default.meta(x int)",
        database=database,
    )
    with pytest.raises(NotAnIndexError, match="not hebbgraph's"):
        HebbianIndex.open(url)


# -- several at once --------------------------------------------------------------------------


def test_two_processes_that_write_equal_one(url: str) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=add_batches, args=(url, seed)) for seed in (1, 2)]
    for writer in writers:
        writer.start()
    with HebbianIndex.open(url, embedder=ByNumber()) as index:
        while any(writer.is_alive() for writer in writers):
            assert len(index.recall("Ida Moss", k=1000)) <= 2 * 30
            time.sleep(0.01)
        assert [writer.exitcode for writer in writers] == [0, 0]
        assert len(index.ids()) == 2 * 24
        assert_sound(index)


def test_reader_sees_one_state(url: str) -> None:
    with HebbianIndex.open(url) as index:
        index.add(CORPUS[:2])
        with index._database.read() as session:
            before = session.rows("SELECT id FROM $chunk"), dict(session.meta)
            index.add(CORPUS)
            index.delete("petrel")
            assert (session.rows("SELECT id FROM $chunk"), session.meta) == before
        assert len(index.ids()) == len(CORPUS) - 1


def test_writer_waits_for_another_and_then_gives_up(url: str) -> None:
    other = f"{url}&application_name=other"  # as another process, with connections of its own
    with (
        HebbianIndex.open(url) as index,
        HebbianIndex.open(other, settings=Settings(wait=0.2)) as impatient,
        HebbianIndex.open(other, settings=Settings(wait=30)) as patient,
    ):
        with index._database.write():
            with pytest.raises(IndexBusyError):
                impatient.add(CORPUS[:1])
            assert impatient.ids() == []
            waiting = threading.Thread(target=patient.add, args=(CORPUS,))
            waiting.start()
            time.sleep(0.05)
        waiting.join(30)
        assert len(impatient.ids()) == len(CORPUS)
        with (
            HebbianIndex.open(url, settings=Settings(wait=0.05)) as here,
            index._database.write(),
            pytest.raises(IndexBusyError),
        ):
            here.add(CORPUS[:1])


def test_more_threads_than_connections(server: PostgresServer, url: str) -> None:
    with HebbianIndex.open(url) as index:
        index.add(CORPUS)
        expected, found = _hits(index), []

        def work(n: int) -> None:
            index.add([Chunk(id=f"new {n}", text="rope")])
            found.append(_hits(index)[:3])

        threads = [threading.Thread(target=work, args=(n,)) for n in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [[id_ for id_, _ in hits] for hits in found] == [[i for i, _ in expected[:3]]] * 40
        assert len(index.ids()) == len(CORPUS) + 40
        assert_sound(index)
        assert 0 < _connections(server) <= 16
    _wait_for_no_connection(server)


def _connections(server: PostgresServer) -> int:
    sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hebbgraph'"
    return int(server.execute(sql)[0][0])


def _wait_for_no_connection(server: PostgresServer) -> None:
    deadline = time.monotonic() + 30
    while n := _connections(server):
        assert time.monotonic() < deadline, f"{n} connections are open"
        time.sleep(0.01)


def test_a_schema_that_is_made_anew_is_read_anew(server: PostgresServer, url: str) -> None:
    """By as many changes as before: what an open index knows is of another state."""
    with HebbianIndex.open(url) as index:
        index.add(CORPUS)
        _hits(index)
        database = url.partition("@/")[2].partition("?")[0]
        server.execute("DROP SCHEMA hebbgraph_default CASCADE", database=database)
        with HebbianIndex.open(f"{url}&application_name=other") as other:
            other.add(reversed(CORPUS[1:]))
            assert _hits(index) == _hits(other)


def test_erasing_again_waits_for_no_recall(url: str, tmp_path: Path) -> None:
    erased = []
    with (
        patch("hebbgraph.store.postgres_server._MOST", 1),
        patch("hebbgraph.store.vectors._FEW", 0),
        HebbianIndex.open(url, embedder=ByNumber(), cache_dir=tmp_path) as index,
    ):
        index.add(CORPUS)
        assert list(tmp_path.glob("*.vectors"))
        with index._database.read() as session:  # the only connection
            thread = threading.Thread(target=lambda: erased.append(index._vectors.erase([])))
            thread.start()
            time.sleep(0.1)
            assert index._vectors.search(session) is not None
        thread.join(60)
    assert erased == [None]


# -- lost connections, kills and forks --------------------------------------------------------


class _Failing(RankStep):
    """A step that fails the recall that it belongs to, some times."""

    def __init__(self, times: int, fail: Callable[[], object]) -> None:
        self.left, self.fail = times, fail

    def rank(self, request: Request, ranking: Ranking) -> Ranking:
        self.left -= 1
        if self.left >= 0:
            self.fail()
        return ranking


def test_connection_cut_in_a_recall(server: PostgresServer, url: str) -> None:
    with HebbianIndex.open(url) as index:
        index.add(CORPUS)
        plain, seeded = _hits(index), index.recall(QUESTION, seeds=[("bay", 1.0)])
        cutting = _Failing(1, server.cut_connections)
        seeds = iter([("bay", 1.0)])  # which can be read once
        assert index.recall(QUESTION, seeds=seeds, steps=[cutting]).hits == seeded.hits
        cutting = _Failing(2, server.cut_connections)
        with pytest.raises(ConnectionLostError):
            index.recall(QUESTION, steps=[cutting])
        assert cutting.left == 0
        server.cut_connections()  # while none is in use
        assert _hits(index) == plain


def test_recall_that_a_replica_cancels_is_asked_again(url: str) -> None:
    """What it read was removed on the primary: SQLSTATE 40001."""

    def cancel() -> None:
        raise psycopg.errors.SerializationFailure("conflict with recovery")

    with HebbianIndex.open(url) as index:
        index.add(CORPUS)
        hits = [(hit.id, hit.score) for hit in index.recall(QUESTION, steps=[_Failing(1, cancel)])]
        assert hits == _hits(index)


_execute = psycopg.Connection.execute


@contextmanager
def _commit(do: Callable[[psycopg.Connection[Any]], None]) -> Iterator[None]:
    """Do something instead of the next COMMIT."""
    left = [do]

    def execute(self: psycopg.Connection[Any], query: Any, *rest: Any, **options: Any) -> Any:
        if query == b"COMMIT" and left:
            return left.pop()(self)
        return _execute(self, query, *rest, **options)

    with patch.object(psycopg.Connection, "execute", execute):
        yield


def test_write_that_was_committed_before_the_connection_broke_is_done(
    server: PostgresServer, url: str
) -> None:
    def commit_and_break(connection: psycopg.Connection[Any]) -> None:
        _execute(connection, b"COMMIT")
        server.cut_connections()
        _execute(connection, b"SELECT 1")

    with HebbianIndex.open(url) as index:
        with _commit(commit_and_break):
            assert index.add(CORPUS).added == len(CORPUS)
        recall = index.recall(QUESTION)
        with _commit(commit_and_break):
            index.reinforce(recall, cited=["bay"])
        assert len(index.lessons()) == 1
        assert index.doctor() == []


def test_write_whose_commit_did_not_arrive_is_not_done(server: PostgresServer, url: str) -> None:
    def break_and_commit(connection: psycopg.Connection[Any]) -> None:
        server.cut_connections()
        _execute(connection, b"COMMIT")

    with HebbianIndex.open(url) as index:
        with (
            _commit(break_and_commit),
            pytest.raises(ConnectionLostError, match="nothing was written"),
        ):
            index.add(CORPUS)
        assert index.ids() == []
        index.add(CORPUS)
        assert_sound(index)


@pytest.mark.parametrize("statement", [0, 3, 9])
def test_connection_cut_in_an_add(server: PostgresServer, url: str, statement: int) -> None:
    many, calls = PostgresSession.many, []

    def cutting(session: PostgresSession, sql: str, parameters: Any) -> None:
        calls.append(sql)
        if len(calls) == statement + 1:
            assert server.cut_connections()
        many(session, sql, parameters)

    with HebbianIndex.open(url) as index:
        index.add(CORPUS[:3])
        with patch.object(PostgresSession, "many", cutting), pytest.raises(ConnectionLostError):
            index.add(CORPUS[3:])
        assert len(index.ids()) == 3
        index.add(CORPUS[3:])
        assert_sound(index)


def test_server_that_is_restarted(url: str) -> None:
    server = PostgresServer()
    try:
        with HebbianIndex.open(server.url) as index:
            index.add(CORPUS)
            expected = _hits(index)
            server.stop()
            with pytest.raises(ConnectionLostError):
                index.recall(QUESTION)
            server.start()
            assert _hits(index) == expected

        def stop(connection: psycopg.Connection[Any]) -> None:
            server.stop()
            _execute(connection, b"COMMIT")

        with HebbianIndex.open(server.url, settings=Settings(wait=0.1)) as index:
            with _commit(stop), pytest.raises(ConnectionLostError, match="check whether it is"):
                index.add(["A rope."])
            server.start()
            assert len(index.ids()) == len(CORPUS)
            assert _hits(index) == expected
    finally:
        server.remove()


class _Url(str):
    """A URL that a storm takes for a path."""

    server: PostgresServer

    def exists(self) -> bool:
        """Return True, once everything that a killed process had sent is done."""
        _wait_for_no_connection(self.server)
        return True


def test_nothing_acknowledged_is_lost_when_writers_are_killed(
    server: PostgresServer, url: str, soak: bool
) -> None:
    place = _Url(url)
    place.server = server
    storm = Storm(place, 5, by_statement=0.0)
    for n in range(60 if soak else 6):
        storm.kill_one()
        with HebbianIndex.open(url, embedder=ByNumber()) as index:
            chunk = Chunk(id="31", text=f"Ida Moss kept New York {n}.")
            index.add([chunk])
            storm.live["31"] = chunk
            assert_sound(index)
    assert storm.acknowledged


def test_child_of_a_fork_has_connections_of_its_own(url: str) -> None:
    def work(done: Any) -> None:
        expected = _hits(index)
        index.add([Chunk(id="child", text="From the child: the Petrel sank.")])
        index.close()
        done.send(expected)

    context = multiprocessing.get_context("fork")
    received, sent = context.Pipe(duplex=False)
    with HebbianIndex.open(url) as index:
        index.add(CORPUS)
        expected = _hits(index)
        child = context.Process(target=work, args=(sent,))
        child.start()
        child.join(60)
        assert child.exitcode == 0
        assert received.recv() == expected
        assert "child" in index.ids()
        assert_sound(index)
    received.close()
    sent.close()


# -- errors -----------------------------------------------------------------------------------


def test_read_only_database_is_read(server: PostgresServer, url: str) -> None:
    database = url.partition("@/")[2].partition("?")[0]
    with pytest.raises(NotFoundError):
        HebbianIndex.open(url, read_only=True)
    with HebbianIndex.open(url) as index:
        index.add(CORPUS)
        expected = _hits(index)
    server.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    for read_only in (False, True):
        with HebbianIndex.open(url, read_only=read_only) as index:
            assert _hits(index) == expected
            for call in (lambda: index.add(["new"]), lambda: index.delete("petrel")):
                with pytest.raises(ReadOnlyIndexError):
                    call()
    with pytest.raises(ReadOnlyIndexError):
        HebbianIndex.open(url, namespace="new")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (psycopg.errors.DiskFull, DiskFullError),
        (psycopg.errors.AdminShutdown, ConnectionLostError),
        (psycopg.errors.SerializationFailure, ConnectionLostError),
        (psycopg.errors.LockNotAvailable, IndexBusyError),
        (psycopg.errors.UniqueViolation, DamagedIndexError),
        (psycopg.errors.InsufficientPrivilege, ReadOnlyIndexError),
        (psycopg.errors.QueryCanceled, StorageError),
    ],
)
def test_error_of_the_server_names_what_failed(
    url: str, error: type[psycopg.Error], expected: type[Exception]
) -> None:
    with HebbianIndex.open(url) as index:
        index.add(CORPUS[:1])

        def fails(*_: object) -> None:
            raise error("the reason")

        with (
            patch.object(PostgresSession, "many", fails),
            pytest.raises(expected, match="hebbgraph_default: the reason") as raised,
        ):
            index.add(CORPUS)
        assert type(raised.value) is expected
        assert index.ids() == ["petrel"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: HebbianIndex.open("postgresql://ida:s3cret@127.0.0.1:1/none"),
        lambda: HebbianIndex.open("postgresql://ida:s3cret@127.0.0.1:port/none"),
        lambda: HebbianIndex.open("postgresql://ida:s3cret@/x?unknown=1"),
    ],
)
def test_no_message_holds_the_password(call: Callable[[], object]) -> None:
    with pytest.raises((ConnectionLostError, ParameterError)) as raised:
        call()
    assert "s3cret" not in str(raised.value)
    assert "ida" in str(raised.value) or "postgresql://" in str(raised.value)


def test_name_of_the_cache_holds_no_password(server: PostgresServer, url: str) -> None:
    with_password = url.replace("hebbgraph@", "hebbgraph:s3cret@")
    database = PostgresDatabase(with_password, "default", wait=1)
    other = PostgresDatabase(with_password, "other", wait=1)
    assert "s3cret" not in database.cache_key
    assert database.cache_key != other.cache_key
    database.close()
    other.close()


def test_backup_names_the_command_that_makes_one(url: str) -> None:
    with (
        HebbianIndex.open(url, namespace="Anna") as index,
        pytest.raises(StorageError, match="pg_dump --schema=hebbgraph__41nna"),
    ):
        index.backup("copy.sql")


def test_driver_that_is_missing_is_named() -> None:
    loaded = [name for name in sys.modules if name.startswith("hebbgraph.store.postgres")]
    with patch.dict(sys.modules, {"psycopg": None}):
        for name in loaded:
            del sys.modules[name]
        with pytest.raises(MissingExtraError, match=r"pip install \"hebbgraph\[postgres\]\""):
            HebbianIndex.open("postgresql://ida@127.0.0.1:1/none")
