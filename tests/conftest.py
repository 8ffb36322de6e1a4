"""A little corpus with facts that take two documents, and indexes over it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from pg_server import PostgresServer
from serving import served_open
from ship_corpus import CORPUS

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.graph.phrases import PhraseTable

# The same examples in every run; ``--hypothesis-profile=default`` draws others.
settings.register_profile("deterministic", derandomize=True, deadline=None)
settings.load_profile("deterministic")

# What commands print must not depend on the terminal in which the tests are started.
os.environ.pop("COLUMNS", None)

SOAK = bool(os.environ.get("HEBBGRAPH_SOAK"))


class GraphContent(NamedTuple):
    """A graph by what its numbers stand for."""

    vocabulary: frozenset[str]
    matched: frozenset[str]
    postings: dict[str, dict[str, bool]]
    df: dict[str, int]


def read_graph(index: HebbianIndex) -> GraphContent:
    index.stats()  # brings it up to date
    graph = index.parts.derived.graph
    keys = graph.phrases.keys
    live = [slot for slot in range(graph.n_slots) if graph.alive[slot]]
    ids = index.parts.truth.ids(graph.rows[live].tolist())
    postings = {}
    for slot in live:
        tags, is_title = graph.incidence.row(slot)
        postings[ids[int(graph.rows[slot])]] = {
            keys[tag]: own for tag, own in zip(tags.tolist(), is_title.tolist(), strict=True)
        }
    in_vocabulary = graph.phrases.in_vocabulary.nonzero()[0]
    # Column by column it must say the same as row by row.
    owners, slots, flags = graph.incidence.chunks_of(in_vocabulary)
    columns: dict[str, dict[str, bool]] = {id_: {} for id_ in postings}
    for at, slot, own in zip(owners.tolist(), slots.tolist(), flags.tolist(), strict=True):
        columns[ids[int(graph.rows[slot])]][keys[in_vocabulary[at]]] = own
    assert columns == postings
    df = graph.df(in_vocabulary).tolist()
    return GraphContent(
        vocabulary=frozenset(keys[number] for number in in_vocabulary.tolist()),
        matched=frozenset(matched_phrases(graph.phrases)),
        postings=postings,
        df={keys[n]: count for n, count in zip(in_vocabulary.tolist(), df, strict=True) if count},
    )


def matched_phrases(phrases: PhraseTable) -> set[str]:
    """All that can be found in text, which ought to be the vocabulary."""
    return {
        phrases.keys[number]
        for key in phrases.keys
        for spans in phrases.match_question(key.split(" "))
        for _, _, number in spans
    }


def rebuilt(index: HebbianIndex) -> HebbianIndex:
    """A new index, in memory, of what an index holds."""
    fresh = HebbianIndex.open(":memory:", settings=index.settings)
    rows = list(index.parts.truth.rows_by_id())
    fresh.add(list(index.parts.truth.fetch(rows).values()))
    return fresh


@pytest.fixture(scope="session")
def corpus() -> list[Chunk]:
    return list(CORPUS)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of a module marked ``every_database`` on each of them, and so on."""
    marked = metafunc.definition.get_closest_marker
    backends = ["sqlite"]
    if (
        marked("every_database")
        and not marked("sqlite_only")
        and (SOAK or not marked("server_in_soak"))
    ):
        backends.append("postgresql")
    if marked("also_served") and not marked("not_served"):
        backends.append("served")
    if len(backends) > 1:
        metafunc.parametrize("backend", backends, indirect=True)


@pytest.fixture(autouse=True)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where indexes are kept: "sqlite", unless a marker says otherwise.

    On PostgreSQL every directory that a test opens becomes the cache of a schema, and
    every ":memory:" a schema of its own. If served, it opens an index in this process, and the
    test has a client of it.
    """
    name: str = getattr(request, "param", "sqlite")
    if name == "sqlite":
        yield name
        return
    if name == "served":
        pytest.importorskip("fastapi", reason="the extra server is not installed")
        with ExitStack() as stack:
            monkeypatch.setattr(HebbianIndex, "open", served_open(stack, HebbianIndex.open))
            yield name
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    schemas: dict[str, str] = {}
    plain_open = HebbianIndex.open

    def open_on_server(location: str | Path, **options: Any) -> HebbianIndex:
        if location == ":memory:":
            return plain_open(server.url(server.new_schema()), **options)
        schema = schemas.get(str(location)) or server.new_schema()
        schemas[str(location)] = schema
        return plain_open(server.url(schema), **{"cache_dir": location} | options)

    monkeypatch.setattr(HebbianIndex, "open", open_on_server)
    yield name


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server, one for all tests."""
    if reason := PostgresServer.missing():
        pytest.skip(reason)
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture
def open_index(tmp_path: Path) -> Iterator[Callable[..., HebbianIndex]]:
    """Open an index below ``tmp_path`` by name; whatever is left open is closed."""
    with ExitStack() as stack:

        def open_one(name: str = "index", **options: Any) -> HebbianIndex:
            index = HebbianIndex.open(tmp_path / name, **options)
            index.keep_recalls()
            stack.callback(index.close)
            return index

        yield open_one


@pytest.fixture
def make_index(
    open_index: Callable[..., HebbianIndex],
) -> Callable[..., HebbianIndex]:
    """Make an index of some chunks, the corpus unless told."""

    def make(
        chunks: Iterable[Chunk | dict[str, Any] | str] = CORPUS, name: str = "index", **options: Any
    ) -> HebbianIndex:
        index = open_index(name, **options)
        index.add(list(chunks))
        return index

    return make


@pytest.fixture
def content() -> Callable[[HebbianIndex], GraphContent]:
    return read_graph


@pytest.fixture
def assert_like_rebuilt() -> Callable[[HebbianIndex], None]:
    """Hold an index against one that is built from nothing of what it holds."""

    def check(index: HebbianIndex) -> None:
        with rebuilt(index) as fresh:
            expected = read_graph(fresh)
        found = read_graph(index)
        assert found == expected
        assert found.matched == found.vocabulary

    return check
