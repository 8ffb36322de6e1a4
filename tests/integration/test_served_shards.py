"""Shards that other processes keep: ranked as one index, and down when they fail in any way."""

from __future__ import annotations

import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

from serving import Served
from typer.testing import CliRunner

import hebbgraph
from hebbgraph import (
    Chunk,
    HebbianIndex,
    ParameterError,
    Settings,
    SettingsMismatchError,
    ShardDownError,
    ShardedIndex,
)
from hebbgraph.cli import app
from hebbgraph.server import ServerSettings, create_app
from hebbgraph.server.access import token_of
from hebbgraph.shards import shard as shard_module
from hebbgraph.shards.calls import CALLS, Request
from hebbgraph.shards.kept import KeptShard
from hebbgraph.shards.message import pack, unpack
from hebbgraph.shards.served import MESSAGE, ServedTruth
from hebbgraph.store.history import NEVER, NOTHING
from hebbgraph.store.truth import OvertakenError, Standing, Truth

QUESTION = "Where was the builder of the Petrel born?"
SECRET = "a-secret-of-the-shard-0123456789"


class Far:
    """A server in this process that keeps a shard."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        self.directory, self._settings = directory, settings
        self.start()
        self.port = self._served.port

    def start(self, port: int = 0) -> None:
        self.kept = KeptShard(self.directory, wait_seconds=5.0)
        self._served = Served(
            create_app(self.kept, ServerSettings.of_shard(**self._settings)), port
        )

    def stop(self) -> None:
        self._served.stop()
        self.kept.close()

    def restart(self) -> None:
        self.start(self.port)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def entry(self, more: str = "") -> str:
        return f'[[shard]]\nname = "{self.directory.name}"\nurl = "{self.url}"\n{more}\n'


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Callable[..., Far]]:
    with ExitStack() as stack:

        def serve(name: str = "far", **settings: Any) -> Far:
            made = Far(tmp_path / "elsewhere" / name, **settings)
            stack.callback(made.stop)
            return made

        yield serve


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "many").mkdir()
    return tmp_path / "many" / "shards.toml"


@pytest.fixture
def one(tmp_path: Path, corpus: list[Chunk]) -> Iterator[HebbianIndex]:
    with HebbianIndex.open(tmp_path / "one") as index:
        index.add(corpus)
        yield index


@pytest.fixture
def tried_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_module, "_TRY_AGAIN_SECONDS", 0.0)


NEAR = '[[shard]]\nname = "near"\npath = "near"\n'


def _ranked(index: HebbianIndex, **options: Any) -> list[tuple[str, float]]:
    hits = index.recall(QUESTION, **options).hits
    return [(hit.chunk.id, round(hit.score, 9)) for hit in hits]


def _notes(index: HebbianIndex) -> str:
    recall = index.recall(QUESTION)
    assert recall.partial
    return "".join(recall.notes)


def _until_back(index: HebbianIndex) -> None:
    deadline = time.monotonic() + 30
    while index.recall(QUESTION).partial:
        assert time.monotonic() < deadline
        time.sleep(0.05)


class Letters:
    """Vectors from the letters of a text."""

    name = "letters"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0 + text.lower().count(letter) for letter in "aeioumnrst"]


@pytest.mark.parametrize("embedder", [None, Letters()], ids=["words", "vectors"])
def test_served_and_local_shards_rank_as_one_index(
    far: Callable[..., Far], plan: Path, tmp_path: Path, corpus: list[Chunk], embedder: Any
) -> None:
    plan.write_text(far("first").entry() + NEAR + far("last").entry())
    options = {"embedder": embedder, "settings": Settings(batch_size=3)}
    with (
        HebbianIndex.open(tmp_path / "one", **options) as one,
        ShardedIndex.open(plan, **options) as many,
    ):
        both = (one, many)
        notes = [{"id": f"n{at}", "text": f"Note {at} of Ida Moss."} for at in range(20)]
        for index in both:
            index.add([*corpus, *notes])
        assert all(shard.chunks for shard in many.shards())
        assert _ranked(many) == _ranked(one)
        for index in both:
            recall = index.recall(QUESTION, id="asked")
            index.reinforce(recall, cited=["bay"], actor="ida")
        assert _ranked(many) == _ranked(one)
        assert many.explain("asked", "moss").causes == one.explain("asked", "moss").causes
        for index in both:
            index.add([{"id": "bay", "title": "Tessel Bay", "text": "Corin Vale lit the bay."}])
            index.delete(["n3", "vale"])
            index.put_document("ships", "print", [corpus[0]])
            index.correct_tags("merge", ["corin vale"], into="ida moss")
            index.compact()
        assert _ranked(many, k=30) == _ranked(one, k=30)
        where = {"kind": {"$in": ["ship", "person"]}}
        assert many.ids(where) == one.ids(where)
        assert many.document_fingerprints() == one.document_fingerprints()
        assert many.get(["petrel", "n4"]) == one.get(["petrel", "n4"])
        assert many.doctor().ok
        many.close()
        with HebbianIndex.open(plan, **options) as again:
            assert _ranked(again, k=30) == _ranked(one, k=30)
            assert again.repairs == ()


def test_a_served_truth_answers_as_its_directory_does(
    far: Callable[..., Far], plan: Path, corpus: list[Chunk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call by itself: what comes back is what the directory says, and all calls are asked."""
    place = far()
    plan.write_text(place.entry())
    with ShardedIndex.open(plan, embedder=Letters()) as index:
        dated = Chunk(id="dated", text="It was so.", valid_from="2020-01-01", addresses=("a.md",))
        index.add([*corpus, dated])
        index.put_document("d", "print", [Chunk(id="in-d", text="A part of d.")])
        index.delete(["heron"])
        (served,) = index.parts.truth.each(lambda truth: truth)  # type: ignore[attr-defined]
        assert isinstance(served, ServedTruth)
        asked: set[str] = set()
        plain = served._line.ask

        def ask(call: str, **given: Any) -> Any:
            asked.add(call)
            return plain(call, **given)

        monkeypatch.setattr(served._line, "ask", ask)
        here = Truth(place.kept._database, "default")  # type: ignore[arg-type]
        state = here.state()
        assert state.embedding is not None
        epoch = state.embedding.epoch
        rows = sorted(here.rows_of(index.ids()).values())
        first, last = rows[0] - 1, rows[-1]
        reads: list[Callable[[Truth], Any]] = [
            lambda truth: truth.state(),
            lambda truth: truth.count(),
            lambda truth: truth.history.knows(state.commit),
            lambda truth: truth.history.knows(NEVER),
            lambda truth: _spelt(truth.changes_since(NOTHING)),
            lambda truth: _spelt(truth.changes_since(state.commit)),
            lambda truth: [*truth.problems()],
            lambda truth: [*truth.candidates(rows)],
            lambda truth: [*truth.texts_and_facts(rows[:3])],
            lambda truth: truth.outlines([*rows, last + 1]),
            lambda truth: truth.ids([]),
            lambda truth: truth.digests(["moss", "none"]),
            lambda truth: truth.rows_of(["moss", "none"]),
            lambda truth: truth.versions_of(["dated"]),
            lambda truth: truth.documents_held(["ships", "d", "none"]),
            lambda truth: truth.ids_of_document("people"),
            lambda truth: [*truth.by_id()],
            lambda truth: truth.named_after(first, 4),
            lambda truth: truth.dated(first, last),
            lambda truth: [*truth.addresses()],
            lambda truth: truth.fingerprints(),
            lambda truth: [*truth.embeddings.vectors(rows, epoch)],
            lambda truth: truth.embeddings.without_vector(rows, epoch + 1),
            lambda truth: truth.embeddings.rows_to_embed(epoch + 1, 3, after=rows[0]),
            lambda truth: truth.embeddings.by_content(["moss", "bay"], epoch),
            lambda truth: truth.embeddings.count_to_embed(epoch),
            lambda truth: truth.embeddings.count_vectors(epoch, state.commit),
            lambda truth: truth.embeddings.count_vectors(epoch, NOTHING),
        ]
        for read in reads:
            assert read(served) == read(here)
        begun = served.embeddings.begin_epoch(state.embedding)
        assert here.state().embedding == begun
        vector = np.ones(10, np.float32).tobytes()
        served.embeddings.write_vectors(begun.epoch, {rows[0]: vector})
        assert [*here.embeddings.vectors(rows, begun.epoch)] == [(rows[0], vector)]
        stale = Standing(frozenset({"moss"}), frozenset({1}))
        with pytest.raises(OvertakenError):
            served.apply(delete_ids=["moss"], standing=stale)
        assert served.apply(delete_ids=["moss"]).deleted == 1
        served.drop_tombstones()
        served.database.vacuum()
        assert here.rows_of(["moss"]) == {}
        assert asked == set(CALLS)


def _spelt(changes: Any) -> tuple[Any, ...]:
    return changes.state, changes.added.tolist(), changes.removed.tolist(), changes.complete


def test_a_shard_whose_server_is_gone_is_told_and_taken_up_again(
    far: Callable[..., Far], plan: Path, one: HebbianIndex, corpus: list[Chunk]
) -> None:
    place = far()
    plan.write_text(place.entry() + NEAR)
    with ShardedIndex.open(plan) as many:
        many.add(corpus)
        before = _ranked(many)
        assert before == _ranked(one)
        place.stop()
        assert f"shard 'far' at {place.url} is down" in _notes(many)
        with pytest.raises(ShardDownError, match="far"):
            many.add(["A new text could be a new version of what is there."])
        assert [shard.chunks is None for shard in many.shards()] == [True, False]
        place.restart()
        _until_back(many)
        assert _ranked(many) == before
        many.add([{"id": "after", "text": "A text that came after."}])
        assert len(many.ids()) == len(corpus) + 1
    with ShardedIndex.open(plan) as many:
        assert not many.recall(QUESTION).partial


def test_opened_while_the_server_is_gone_the_others_answer(
    far: Callable[..., Far], plan: Path, corpus: list[Chunk], tried_at_once: None
) -> None:
    place = far()
    plan.write_text(place.entry() + NEAR)
    with ShardedIndex.open(plan) as many:
        many.add(corpus)
        before = _ranked(many)
    place.stop()
    with ShardedIndex.open(plan) as many:
        assert "far" in _notes(many)
        place.restart()
        _until_back(many)
        assert _ranked(many) == before


def test_a_slow_shard_holds_up_one_recall(
    far: Callable[..., Far],
    plan: Path,
    corpus: list[Chunk],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = far()
    plan.write_text(place.entry() + NEAR)
    with ShardedIndex.open(plan) as many:
        many.add(corpus)
        before = _ranked(many)
    plan.write_text(place.entry("timeout_seconds = 0.5") + NEAR)
    with ShardedIndex.open(plan) as many:
        _until_back(many)  # a busy machine may be slower by itself
        plain, go_on = KeptShard.answer, threading.Event()

        def slow(self: KeptShard, request: Request, namespace: str) -> bytes:
            go_on.wait(30)
            return plain(self, request, namespace)

        with monkeypatch.context() as patched:
            patched.setattr(KeptShard, "answer", slow)
            assert "a message took longer than 0.5 s" in _notes(many)
            assert many.recall(QUESTION).partial  # without another try
        go_on.set()
        _until_back(many)
        assert _ranked(many) == before


def test_a_shard_that_comes_back_only_to_be_slow_is_tried_ever_less_often(
    far: Callable[..., Far],
    plan: Path,
    corpus: list[Chunk],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shard_module, "_TRY_AGAIN_SECONDS", 0.01)
    place = far()
    plan.write_text(place.entry() + NEAR)
    with ShardedIndex.open(plan) as many:
        many.add(corpus)
    plan.write_text(place.entry("timeout_seconds = 0.2") + NEAR)
    with ShardedIndex.open(plan) as many:
        plain = KeptShard.answer
        went_down: list[float] = []

        def slow_but_for_its_state(self: KeptShard, request: Request, namespace: str) -> bytes:
            if request.call not in ("state", "open"):
                went_down.append(time.monotonic())
                time.sleep(0.4)
            return plain(self, request, namespace)

        monkeypatch.setattr(KeptShard, "answer", slow_but_for_its_state)
        while len(went_down) < 6:
            many.recall(QUESTION, k=100)
        pauses = np.diff(went_down) - 0.2
        assert pauses[-1] > 4 * 0.01 * 2  # 0.32 by then; it began with 0.01


class _Stranger(http.server.BaseHTTPRequestHandler):
    answer: tuple[int, str, bytes] = (200, MESSAGE, b"garbage")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        status, kind, content = self.answer
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def _stranger(port: int, *answer: Any) -> Iterator[None]:
    """Listen where a shard was, and answer otherwise."""
    handler = type("Handler", (_Stranger,), {"answer": answer})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(
    "answer",
    [
        (200, MESSAGE, b"garbage"),
        (200, MESSAGE, b""),
        (200, MESSAGE, pack(None)),
        (200, MESSAGE, pack([["x", 2], None, [0, 0, 0], 0])),
        (200, "text/html", b"<html>a proxy</html>"),
        (200, "application/json", b"{}"),
        (404, "text/plain", b"not found"),
        (500, "application/json", b'{"error": 3}'),
        (302, "text/html", b""),
    ],
)
def test_who_answers_garbage_is_down(
    far: Callable[..., Far],
    plan: Path,
    corpus: list[Chunk],
    tried_at_once: None,
    answer: tuple[int, str, bytes],
) -> None:
    place = far()
    plan.write_text(place.entry() + NEAR)
    with ShardedIndex.open(plan) as many:
        many.add(corpus)
        place.stop()
        with _stranger(place.port, *answer):
            assert "far" in _notes(many)
        place.restart()
        _until_back(many)


def test_what_a_server_says_is_shown_in_one_short_line(
    far: Callable[..., Far], plan: Path, corpus: list[Chunk]
) -> None:
    place = far()
    plan.write_text(place.entry() + NEAR)
    with ShardedIndex.open(plan) as many:
        many.add(corpus)
        place.stop()
        told = {"error": "StorageError", "detail": "\x1b[2Jbroken\n" + "x" * 100_000}
        with _stranger(place.port, 500, "application/problem+json", json.dumps(told).encode()):
            notes = _notes(many)
        assert "[2Jbroken xxx" in notes
        assert notes.isprintable()
        assert len(notes) < 1_000
        place.restart()


def test_shards_elsewhere_are_asked_at_the_same_time(
    far: Callable[..., Far], plan: Path, corpus: list[Chunk], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan.write_text(far("a").entry() + NEAR + far("b").entry())
    with ShardedIndex.open(plan) as many:
        many.add(corpus)
        plain, both = KeptShard.answer, threading.Barrier(2)

        def waits_for_the_other(self: KeptShard, request: Request, namespace: str) -> bytes:
            both.wait(4)  # less than the time limit of a message
            return plain(self, request, namespace)

        with monkeypatch.context() as patched:
            patched.setattr(KeptShard, "answer", waits_for_the_other)
            truth = many.parts.truth
            assert truth.state() == truth.state()
            assert truth.count() == len(corpus)
        assert not many.recall(QUESTION).partial


def test_shards_are_made_behind_urls(
    far: Callable[..., Far], plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = (token_of(SECRET, name="coordinator", role="shard"),)
    place = far(tokens=tokens)
    monkeypatch.setenv("THE_TOKEN", SECRET)

    def create(file: Path, *arguments: str) -> Any:
        return CliRunner().invoke(app, ["shards", "create", str(file), *arguments])

    made = create(plan, place.url, "near", "--token-env", "THE_TOKEN")
    assert made.exit_code == 0
    assert "made 2 shards" in made.output
    with ShardedIndex.open(plan) as many:
        assert [shard.url for shard in many.shards()] == [place.url, None]
        assert [shard.chunks for shard in many.shards()] == [0, 0]
    gone = create(tmp_path / "gone" / "shards.toml", f"http://127.0.0.1:{_free_port()}")
    assert gone.exit_code == 0
    assert "does not answer yet" in gone.output
    for places, told in [
        (["near", "--token-env", "THE_TOKEN"], "there is none"),
        (["ftp://a"], "url of shard"),
        (["https://me:secret@a.example"], "holds a password"),
        (["https://a.example", "--token-env", "NO_SUCH_TOKEN"], "is not set"),
    ]:
        refused = create(tmp_path / "refused" / "shards.toml", *places)
        assert isinstance(refused.exception, ParameterError)
        assert told in str(refused.exception)
    assert not (tmp_path / "refused").exists()


def _another_row(told: Any) -> None:
    told[0][0] += 1_000


def _a_number_for_a_name(told: Any) -> None:
    told[0][1] = 5


def _of_another_shard(told: Any) -> None:
    told[1] += 2**40


@pytest.mark.parametrize(
    ("call", "change", "told"),
    [
        ("select", _another_row, "other rows than asked"),
        ("select", _a_number_for_a_name, "rows of other columns"),
        ("changes_since", _of_another_shard, "rows of another shard"),
    ],
)
def test_rows_that_cannot_be_are_garbage(
    far: Callable[..., Far],
    plan: Path,
    corpus: list[Chunk],
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    change: Callable[[Any], None],
    told: str,
) -> None:
    plan.write_text(far().entry() + NEAR)
    with ShardedIndex.open(plan) as many, ShardedIndex.open(plan) as writing:
        many.add(corpus)
        plain = KeptShard.answer

        def wrong(self: KeptShard, request: Request, namespace: str) -> bytes:
            answer = plain(self, request, namespace)
            if request.call == call:
                found = unpack(answer)
                change(found)
                return pack(found)
            return answer

        writing.add([{"id": f"n{at}", "text": f"Note {at}."} for at in range(8)])
        monkeypatch.setattr(KeptShard, "answer", wrong)
        assert told in _notes(many)


def test_what_reads_or_rewrites_all_of_a_shard_may_take_longer_than_a_message(
    far: Callable[..., Far], plan: Path, corpus: list[Chunk], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan.write_text(far().entry("timeout_seconds = 4") + NEAR)
    with ShardedIndex.open(plan) as many:
        many.add(corpus)
        plain = KeptShard.answer

        def slow(self: KeptShard, request: Request, namespace: str) -> bytes:
            if request.call in ("problems", "vacuum"):
                time.sleep(4.5)
            return plain(self, request, namespace)

        monkeypatch.setattr(KeptShard, "answer", slow)
        assert many.doctor().ok
        many.compact()


def test_a_batch_that_no_message_holds_is_the_callers_error(
    far: Callable[..., Far], plan: Path, corpus: list[Chunk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shard is not down, and nothing is written."""
    plan.write_text(far().entry())
    monkeypatch.setattr("hebbgraph.shards.served._MOST_BYTES", 100_000)
    with ShardedIndex.open(plan) as many:
        many.add(corpus)
        with pytest.raises(ParameterError, match="in one message, at most 0"):
            many.add([{"id": "long", "text": "A long note. " * 10_000}])
        assert not many.recall(QUESTION).partial
        assert many.stats().chunks == len(corpus)


def test_readers_wait_neither_for_writers_nor_for_what_reads_all_of_a_shard(
    far: Callable[..., Far], plan: Path, corpus: list[Chunk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has threads of its own."""
    plan.write_text(far().entry() + NEAR)
    plain, threads = KeptShard.answer, set[tuple[str, str]]()

    def noted(self: KeptShard, request: Request, namespace: str) -> bytes:
        threads.add((request.call, threading.current_thread().name.split("_")[0]))
        return plain(self, request, namespace)

    monkeypatch.setattr(KeptShard, "answer", noted)
    with ShardedIndex.open(plan) as many:
        many.add(corpus)
        many.recall(QUESTION)
        assert many.doctor().ok
    assert threads >= {
        ("open", "hebbgraph-write"),
        ("apply", "hebbgraph-write"),
        ("state", "hebbgraph-read"),
        ("problems", "hebbgraph-long"),
    }


def test_the_token_comes_from_the_environment(
    far: Callable[..., Far],
    plan: Path,
    corpus: list[Chunk],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tokens = (
        token_of(SECRET, name="coordinator", role="shard"),
        token_of("the-secret-of-a-writer", name="writer", role="write"),
        token_of("the-secret-for-another-name", name="o", role="shard", namespaces=["other"]),
    )
    plan.write_text(far(tokens=tokens).entry('token_env = "THE_TOKEN"') + NEAR)
    monkeypatch.delenv("THE_TOKEN", raising=False)
    with pytest.raises(ParameterError, match="THE_TOKEN is to hold the token"):
        ShardedIndex.open(plan)
    monkeypatch.setenv("THE_TOKEN", SECRET)
    with ShardedIndex.open(plan) as many:
        many.add(corpus)
        assert not many.recall(QUESTION).partial
    for wrong, told in [
        ("a-wrong-secret-0123456789", "takes a token"),
        ("the-secret-of-a-writer", "role 'shard'"),
        ("the-secret-for-another-name", "does not see the namespace"),
    ]:
        monkeypatch.setenv("THE_TOKEN", wrong)
        with ShardedIndex.open(plan) as many:
            notes = _notes(many)
            assert told in notes
            assert wrong not in notes


def test_another_version_at_the_other_end_is_told(
    far: Callable[..., Far], plan: Path, corpus: list[Chunk], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan.write_text(far().entry() + NEAR)
    with ShardedIndex.open(plan) as many:
        many.add(corpus)
        monkeypatch.setattr("hebbgraph.shards.kept.VERSION", 2)
        assert "messages of version 1 arrived, this server knows version 2" in _notes(many)


def test_another_database_at_the_url_is_not_that_shard(
    far: Callable[..., Far], plan: Path, corpus: list[Chunk], tried_at_once: None
) -> None:
    place = far()
    plan.write_text(place.entry() + NEAR)
    with ShardedIndex.open(plan) as many:
        many.add(corpus)
        place.stop()
        away = place.directory.rename(place.directory.with_name("away"))
        HebbianIndex.open(place.directory).close()
        place.restart()
        assert "another database" in _notes(many)
        place.stop()
        place.directory.rename(place.directory.with_name("other"))
        away.rename(place.directory)
        place.restart()
        _until_back(many)


def test_a_directory_that_is_lost_under_its_server_is_told(
    far: Callable[..., Far], plan: Path, corpus: list[Chunk], tried_at_once: None
) -> None:
    place = far()
    plan.write_text(place.entry() + NEAR)
    with ShardedIndex.open(plan) as many:
        many.add(corpus)
        before = _ranked(many)
        away = place.directory.rename(place.directory.with_name("away"))
        assert "there is no hebbgraph index" in _notes(many)
        assert not place.directory.exists()  # it is not made anew, empty
        away.rename(place.directory)
        _until_back(many)
        assert _ranked(many) == before


def test_a_shard_belongs_to_one_coordinator(
    far: Callable[..., Far], plan: Path, tmp_path: Path, corpus: list[Chunk]
) -> None:
    place = far()
    plan.write_text(place.entry() + NEAR)
    other = tmp_path / "other" / "shards.toml"
    other.parent.mkdir()
    other.write_text(place.entry() + NEAR)
    with ShardedIndex.open(plan) as many, ShardedIndex.open(other) as second:
        many.add(corpus)
        assert "belongs to a coordinator that is not there" in _notes(second)
        with pytest.raises(ShardDownError):
            second.add(["A text."])
        assert not many.recall(QUESTION).partial


def test_two_processes_of_one_coordinator_see_each_other(
    far: Callable[..., Far], plan: Path, one: HebbianIndex, corpus: list[Chunk]
) -> None:
    plan.write_text(far("a").entry() + far("b").entry())
    with ShardedIndex.open(plan) as many, ShardedIndex.open(plan) as other:
        many.add(corpus)
        for index in (other, one):
            index.add([{"id": "new", "title": "Lighthouse", "text": "Ida Moss lit Tessel Bay."}])
        assert _ranked(many) == _ranked(other) == _ranked(one)


def test_documents_move_to_and_from_served_shards(
    far: Callable[..., Far], plan: Path, one: HebbianIndex, corpus: list[Chunk]
) -> None:
    notes = [{"id": f"n{at}", "text": f"Note {at} of Ida Moss."} for at in range(30)]
    one.add(notes)
    plan.write_text(far("first").entry())
    with ShardedIndex.open(plan) as index:
        index.add([*corpus, *notes])
    plan.write_text(plan.read_text() + NEAR + far("last").entry())
    with ShardedIndex.open(plan) as index:
        assert index.rebalance() > 0
        held = [shard.chunks or 0 for shard in index.shards()]
        assert all(held)
        assert sum(held) == len(corpus) + 30
        index.compact()
        assert _ranked(index) == _ranked(one)
        assert index.rebalance() == 0
        assert index.doctor().ok


def test_vectors_of_another_model_are_filled_in(
    far: Callable[..., Far], plan: Path, tmp_path: Path, corpus: list[Chunk]
) -> None:
    plan.write_text(far().entry() + NEAR)
    with ShardedIndex.open(plan) as many, HebbianIndex.open(tmp_path / "one") as one:
        for index in (many, one):
            index.add(corpus)
            index.reembed(Letters())
        assert _ranked(many) == _ranked(one)


def test_other_build_settings_are_an_error(far: Callable[..., Far], plan: Path) -> None:
    plan.write_text(far().entry())
    ShardedIndex.open(plan, settings=Settings(language="german")).close()
    with pytest.raises(SettingsMismatchError, match="language"):
        ShardedIndex.open(plan, settings=Settings(language="french"))


def test_texts_kept_elsewhere_take_directories(far: Callable[..., Far], plan: Path) -> None:
    plan.write_text(far().entry())
    with pytest.raises(ParameterError, match="keeps its texts"):
        ShardedIndex.open(plan, settings=Settings(keep_text=False))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('url = "ftp://a"', "url of shard"),
        ('url = "http://a"\npath = "a"', "either may have"),
        ('path = "a"\ntoken_env = "A"', "either may have"),
        ('url = "http://a"\ntoken = "in the clear"', "either may have"),
        ('url = "http://a"\ntoken_env = "not a name"', "names an environment variable"),
        ('url = "http://a"\ntimeout_seconds = 0', "above 0"),
        ('url = "http://a"\ntimeout_seconds = true', "above 0"),
        ('url = "http://me:secret@a"', "holds a password"),
        ('url = "http://a:b"', "url is like"),
        ('path = "https://a"', "write url instead"),
    ],
)
def test_a_plan_that_cannot_be_is_an_error(plan: Path, line: str, told: str) -> None:
    plan.write_text(f'[[shard]]\nname = "one"\n{line}\n')
    with pytest.raises(ParameterError, match=told):
        ShardedIndex.open(plan)


def test_two_shards_at_one_url_are_an_error(plan: Path) -> None:
    plan.write_text(
        '[[shard]]\nname = "a"\nurl = "http://x"\n[[shard]]\nname = "b"\nurl = "http://x/"\n'
    )
    with pytest.raises(ParameterError, match="the same url"):
        ShardedIndex.open(plan)


def test_a_server_of_a_shard_serves_nothing_else(far: Callable[..., Far]) -> None:
    place = far()

    def status(path: str) -> int:
        try:
            return int(urllib.request.urlopen(f"{place.url}/v1/{path}").status)
        except urllib.error.HTTPError as error:
            return error.code

    assert status("health") == 200
    assert status("stats") == 404
    assert not place.directory.exists()  # nobody has opened it


def _process(directory: Path, port: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "hebbgraph",
            "serve",
            "--shard",
            f"--db={directory}",
            f"--port={port}",
        ],
        env=os.environ
        | {"PYTHONPATH": str(Path(hebbgraph.__file__).parents[1]), "HEBBGRAPH_TOKEN": SECRET},
    )
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/health")
            return process
        except OSError:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_real_processes_one_killed_and_started_again(
    tmp_path: Path,
    plan: Path,
    one: HebbianIndex,
    corpus: list[Chunk],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHARD_TOKEN", SECRET)
    ports = [_free_port(), _free_port()]
    plan.write_text(
        "".join(
            f'[[shard]]\nname = "p{port}"\nurl = "http://127.0.0.1:{port}"\n'
            'token_env = "SHARD_TOKEN"\n'
            for port in ports
        )
    )
    running = [_process(tmp_path / f"p{port}", port) for port in ports]
    try:
        with ShardedIndex.open(plan) as many:
            many.add(corpus)
            assert _ranked(many) == _ranked(one)
            running[0].send_signal(signal.SIGKILL)
            running[0].wait()
            assert f"p{ports[0]}" in _notes(many)
            listed = CliRunner().invoke(app, ["shards", "list", "--db", str(plan)])
            assert listed.exit_code == 1
            assert f"http://127.0.0.1:{ports[1]}" in listed.stdout
            with pytest.raises(ShardDownError):
                many.delete(["petrel"])
            running[0] = _process(tmp_path / f"p{ports[0]}", ports[0])
            _until_back(many)
            for index in (many, one):
                index.add([{"id": "late", "title": "Late", "text": "Ida Moss came late."}])
            assert _ranked(many) == _ranked(one)
    finally:
        for process in running:
            process.kill()
            process.wait()
