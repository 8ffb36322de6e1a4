"""What was deleted and forgotten is in no file: looked for byte by byte, while others are there."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import hebbgraph
from hebbgraph import Chunk, ClosedIndexError, HebbianIndex, IndexLockedError, Settings
from hebbgraph.array_file import write_arrays
from hebbgraph.artifacts import scratch_folder
from hebbgraph.cli import app
from hebbgraph.locks import lock_file
from hebbgraph.settings import LearningSettings
from hebbgraph.store.schema import TABLES
from hebbgraph.text import lexical_terms

#: Words that occur in one place each, and in no file of any other index.
TEXT = "quixotle"
TITLE = "Jabberwent"
METADATA = "wyvernish"
TAG = "zephyrine"
DOCUMENT = "krakatosian"
ANSWER = "oblongata"
ACTOR = "vexationist"
ASKED = "fandangled"
CUE = "Mugwumpery"

OF_CHUNK = (TEXT, TITLE, METADATA, TAG, DOCUMENT, ANSWER)
OF_ACTOR = (ACTOR, ASKED, CUE)

SECRET = Chunk(
    id="secret",
    title=TITLE,
    text=f"{TITLE} kept the {TEXT} in Tessel Bay, as the Petrel knew.",
    metadata={"of": METADATA, METADATA: 1},
    document_id=DOCUMENT,
    tags=(TAG,),
)
OTHERS = [
    Chunk(id="petrel", title="Petrel", text="The Petrel sailed from Tessel Bay."),
    Chunk(id="bay", title="Tessel Bay", text="Tessel Bay freezes in winter."),
    # A title of which the actor alone asks, and which stays.
    Chunk(id="mugwump", title=CUE, text="A word of its own."),
]
QUESTION = f"What did {TITLE} keep in Tessel Bay?"
SETTINGS = Settings(
    keep_recalls=100, write_wait_seconds=0.3, learning=LearningSettings(store_queries=True)
)


class Embedder:
    """Vectors that are told apart by their bytes: one for each text."""

    name = "erasing"

    @staticmethod
    def vector(text: str) -> list[float]:
        seed = int.from_bytes(text.encode()[:64].ljust(64, b" "), "big") % 2**32
        numbers = np.random.default_rng(seed).standard_normal(16)
        return list(map(float, numbers / np.linalg.norm(numbers)))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.vector(text)


class Tagger:
    """A tagger whose answers are kept."""

    name = "answering"

    def __call__(self, chunk: Chunk) -> list[str]:
        return [ANSWER] if chunk.id == "secret" else []


def _found(directory: Path, words: Iterable[str]) -> dict[str, list[str]]:
    """Say which files hold which words, in any spelling of their letters."""
    held: dict[str, list[str]] = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            content = path.read_bytes().lower()
            for word in words:
                if word.lower().encode() in content:
                    held.setdefault(word, []).append(path.name)
    return held


def _lexical_holds(index: HebbianIndex, words: Iterable[str]) -> list[str]:
    """Terms lie prefix-coded in Tantivy's files, so that index itself is asked for them."""
    index.stats()
    df = index.parts.derived.lexical.document_frequency
    return [
        word for word in words if any(df(term) for term in lexical_terms([word.lower()], "english"))
    ]


SECOND = """
import sys
from pathlib import Path
from hebbgraph import HebbianIndex
sys.path.insert(0, str(Path(sys.argv[2])))
from test_erasing import QUESTION, SETTINGS, Embedder
with HebbianIndex.open(sys.argv[1], embedder=Embedder(), settings=SETTINGS) as index:
    recall = index.recall(QUESTION, k=4, id="of-the-second")
    reading = None
    print("ready", flush=True)
    for line in sys.stdin:
        match line.strip():
            case "read":
                reading = index.parts.database.read()
                reading.__enter__().execute("SELECT * FROM chunks").fetchall()
            case "release":
                reading.__exit__(None, None, None)
            case "recall":
                index.recall("What sailed from Tessel Bay?", k=4)
            case "late":
                index.parts.recalls.put(recall.model_copy(update={"id": "late"}))
            case "add":
                index.add([{"id": "new", "title": "Heron", "text": "The Heron in Tessel Bay."}])
            case "close":
                break
        print("done", flush=True)
"""


class Second:
    """Another process that has the index open."""

    def __init__(self, directory: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SECOND, str(directory), str(Path(__file__).parent)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answered("ready")

    def _answered(self, expected: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == expected

    def do(self, what: str) -> None:
        assert self.process.stdin is not None
        print(what, file=self.process.stdin, flush=True)
        if what != "close":
            self._answered("done")
        else:
            assert self.process.wait(60) == 0

    def end(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        self.process.kill()
        self.process.wait()


@pytest.fixture
def second(tmp_path: Path) -> Iterator[Callable[[], Second]]:
    started: list[Second] = []

    def start() -> Second:
        started.append(Second(tmp_path / "index"))
        return started[-1]

    yield start
    for one in started:
        one.end()


@pytest.fixture
def index(open_index: Callable[..., HebbianIndex]) -> HebbianIndex:
    """An index that holds each planted word, learned from and asked about."""
    index = open_index(embedder=Embedder(), tagger=Tagger(), settings=SETTINGS)
    index.add(OTHERS)
    index.put_document(DOCUMENT, "fingerprint", [SECRET])
    index.parts.truth.tag_answers.put("answering", {0: (SECRET, (ANSWER,))})
    recall = index.recall(QUESTION, k=4)
    assert recall.hit("secret") is not None
    index.reinforce(recall, ["secret"], rejected=["mugwump"])
    asked = index.recall(f"Who {ASKED} in {CUE}?", k=4)
    index.reinforce(asked, ["mugwump"], actor=ACTOR)
    index.colonies()
    index.parts.derived.save()
    return index


def _assert_planted(directory: Path, words: Iterable[str]) -> None:
    assert sorted(_found(directory, words)) == sorted(words)


def _assert_gone(index: HebbianIndex, directory: Path, words: Iterable[str]) -> None:
    assert _found(directory, words) == {}
    assert _lexical_holds(index, words) == []


@pytest.mark.parametrize("at_once", [False, True], ids=["compact", "erase"])
def test_deleted_text_is_in_no_file(
    index: HebbianIndex, second: Callable[[], Second], tmp_path: Path, at_once: bool
) -> None:
    other = second()
    _assert_planted(tmp_path, OF_CHUNK)
    if at_once:
        assert index.delete(["secret"], erase=True) == 1
    else:
        assert index.delete(["secret"]) == 1
        index.compact()
    _assert_gone(index, tmp_path, OF_CHUNK)
    # Nor does it come back by what the other process still knows, or then writes.
    for what in ("late", "recall", "add", "close"):
        other.do(what)
        _assert_gone(index, tmp_path, OF_CHUNK)
    assert index.doctor().ok
    index.close()
    assert _found(tmp_path, OF_CHUNK) == {}


@pytest.mark.parametrize("at_once", [False, True], ids=["compact", "erase"])
def test_what_an_actor_asked_is_in_no_file(
    index: HebbianIndex, second: Callable[[], Second], tmp_path: Path, at_once: bool
) -> None:
    index.delete(["mugwump"])  # whose title the question named: it must not be left there
    other = second()
    _assert_planted(tmp_path, OF_ACTOR)
    if at_once:
        assert index.forget(actor=ACTOR, erase=True) == 1
        assert _found(tmp_path, [ACTOR, ASKED]) == {}
        # The deleted chunk's title is in derived parts still, and in them alone.
        assert not [name for name in _found(tmp_path, [CUE])[CUE] if "sqlite3" in name]
    else:
        assert index.forget(actor=ACTOR) == 1
    index.compact()
    _assert_gone(index, tmp_path, OF_ACTOR)
    for what in ("late", "recall", "close"):
        other.do(what)
        assert _found(tmp_path, OF_ACTOR) == {}
    assert index.parts.log.count() == 1  # the other lesson counts on


@pytest.mark.parametrize("how", ["no embedder", "no recalls", "ivf"])
def test_erasing_by_whoever_opened_it_otherwise(
    index: HebbianIndex, open_index: Callable[..., HebbianIndex], tmp_path: Path, how: str
) -> None:
    """Vectors of a process that has no embedder, recalls of one that keeps none."""
    held = index.parts.derived.vectors
    assert held is not None
    row = index.parts.truth.rows_of(["secret"])["secret"]
    vector = held.matrix[int(np.searchsorted(held.rows, row))].tobytes()
    in_files = [p.name for p in tmp_path.rglob("vectors-*") if vector in p.read_bytes()]
    assert in_files
    index.close()
    if how == "ivf":
        for name in ("vectors.ivf", "vectors.usearch"):
            next(tmp_path.rglob("vectors.manifest.json")).with_name(name).write_bytes(vector)
    keep = 0 if how == "no recalls" else 100
    erasing = open_index(settings=SETTINGS.model_copy(update={"keep_recalls": keep}))
    erasing.delete(["secret"], erase=True)
    _assert_gone(erasing, tmp_path, OF_CHUNK)
    assert not [p.name for p in tmp_path.rglob("*") if p.is_file() and vector in p.read_bytes()]
    again = open_index(embedder=Embedder(), settings=SETTINGS)
    assert len(again.recall("Tessel Bay", k=4).hits) == 3
    assert again.doctor().ok


def test_what_killed_processes_left_goes_too(index: HebbianIndex, tmp_path: Path) -> None:
    again = os.getpid()  # as in a container, where each process is number 1
    directory = tmp_path / "index"
    (derived,) = (directory / "derived").iterdir()
    for left in (
        directory / f".restore-{again}-x1" / "truth.sqlite3",
        directory / ".restore-x2" / "truth.sqlite3",
        directory / f".build-{again}-x4" / "rows.arrow",
        directory / "build" / "manifest.json",
        directory / "build" / "rows.arrow",
        derived / f".graph.arrays.{again}.partial",
        derived / f".colonies.arrays.{again}.partial",
        derived / "vectors.ivf.partial",
    ):
        left.parent.mkdir(exist_ok=True)
        left.write_text(SECRET.text)
    with scratch_folder(directory, "restore") as going_on:
        index.delete(["secret"], erase=True)
        assert going_on.exists()
    assert not list(directory.glob(".restore-*"))
    _assert_gone(index, tmp_path, OF_CHUNK)


RESTORES_AND_DIES = """
    import os, sys

    def die(event, arguments):
        if event == "sqlite3.connect" and "/.restore-" in str(arguments[0]):
            if os.path.exists(arguments[0]) and os.path.getsize(arguments[0]):
                os._exit(9)

    from hebbgraph import HebbianIndex

    os.getpid = lambda: 1
    sys.addaudithook(die)
    HebbianIndex.restore(sys.argv[1], sys.argv[2], force=True)
"""


def test_a_restore_that_died_as_process_1_leaves_nothing(
    index: HebbianIndex, tmp_path: Path
) -> None:
    index.backup(tmp_path / "backup")
    died = subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent(RESTORES_AND_DIES),
            str(tmp_path / "backup"),
            str(tmp_path / "index"),
        ],
        env=os.environ | {"PYTHONPATH": str(Path(hebbgraph.__file__).parents[1])},
    )
    assert died.returncode == 9
    assert list((tmp_path / "index").glob(".restore-*/truth.sqlite3"))
    shutil.rmtree(tmp_path / "backup")
    index.delete(["secret"], erase=True)
    _assert_gone(index, tmp_path, OF_CHUNK)


def test_free_room_in_the_database_is_cleared(
    make_index: Callable[..., HebbianIndex], tmp_path: Path
) -> None:
    """As a version or a tool leaves it that deletes without writing over what it deletes."""
    index = make_index(OTHERS)
    with closing(sqlite3.connect(tmp_path / "index" / "truth.sqlite3")) as connection, connection:
        connection.execute("PRAGMA secure_delete=OFF")
        connection.execute("INSERT INTO documents VALUES ('default', ?, '1', 0)", (DOCUMENT * 500,))
        connection.execute("DELETE FROM documents")
    assert _found(tmp_path, [DOCUMENT])
    index.compact()
    assert _found(tmp_path, [DOCUMENT]) == {}


def test_a_reader_in_the_way_is_waited_for(
    index: HebbianIndex, second: Callable[[], Second], tmp_path: Path
) -> None:
    other = second()
    other.do("read")
    with pytest.raises(IndexLockedError, match=r"truth\.sqlite3-wal.*lsof.*compact\(\)") as told:
        index.delete(["secret"], erase=True)
    assert told.value.__notes__ == ["it is deleted; compact() erases what is left of it on disk"]
    assert index.get(["secret"]) == []
    assert _found(tmp_path, OF_CHUNK)
    other.do("release")
    index.compact()
    _assert_gone(index, tmp_path, OF_CHUNK)


def test_a_snapshot_of_before_does_not_follow_on_a_compaction(
    index: HebbianIndex,
    open_index: Callable[..., HebbianIndex],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Closing: another process deletes and compacts between the last look and the snapshot."""
    closing_one = open_index(embedder=Embedder(), settings=SETTINGS)
    closing_one.add([{"id": "new", "title": "Heron", "text": "The Heron in Tessel Bay."}])
    save = closing_one.parts.derived.save

    def interrupted() -> None:
        index.delete(["secret"])
        with pytest.raises(IndexLockedError):  # it has to wait until the snapshot is written
            index.compact()
        save()

    monkeypatch.setattr(closing_one.parts.derived, "save", interrupted)
    closing_one.close()
    index.compact()
    _assert_gone(index, tmp_path, OF_CHUNK)


def test_compacting_changes_nothing_that_was_learned(index: HebbianIndex) -> None:
    """A title that is gone goes from the log too; what else was learned stays as it is."""
    index.delete(["secret"])
    questions = [QUESTION, "What sailed from Tessel Bay?", f"Who {ASKED} in {CUE}?"]

    def ranked() -> list[Any]:
        return [
            [(hit.chunk.id, round(hit.score, 9)) for hit in index.recall(question, k=4).hits]
            for question in questions
        ]

    before = ranked()
    kept = len(index.parts.memory.lessons)
    index.compact()
    assert ranked() == before
    assert len(index.parts.memory.lessons) == kept
    assert index.parts.log.count() == 2
    assert index.doctor().ok


def test_what_was_imported_waits_for_its_chunks(
    open_index: Callable[..., HebbianIndex], index: HebbianIndex, tmp_path: Path
) -> None:
    file = tmp_path / "feedback.jsonl"
    index.export_feedback(file)
    fresh = open_index("fresh")
    fresh.add(OTHERS)
    fresh.import_feedback(file)
    before = list(fresh.parts.log.after(0))
    assert TITLE.lower() in {cue.tag for _, feedback in before for cue in feedback.cues}
    fresh.compact()
    assert list(fresh.parts.log.after(0)) == before


def test_a_document_without_chunks_leaves_no_name(open_index: Callable[..., HebbianIndex]) -> None:
    index = open_index()
    index.put_document("a", "1", [{"id": "a1", "text": "One."}, {"id": "a2", "text": "Two."}])
    index.put_document("empty", "1", [])
    index.delete(["a1"])
    assert set(index.document_fingerprints()) == {"a", "empty"}
    index.delete(["a2"])
    assert set(index.document_fingerprints()) == {"empty"}


@pytest.mark.every_database
def test_erasing_what_is_not_held_and_in_memory(
    make_index: Callable[..., HebbianIndex],
) -> None:
    index = make_index()
    assert index.delete(["nobody"], erase=True) == 0
    assert index.forget(everything=True, erase=True) == 0
    assert index.delete(["petrel"], erase=True) == 1
    assert index.get(["petrel"]) == []
    with HebbianIndex.open(":memory:") as memory:
        memory.add(["Owls hunt."])
        assert memory.delete(memory.ids(), erase=True) == 1


def test_the_command_line_erases(index: HebbianIndex, tmp_path: Path) -> None:
    index.close()
    assert sorted(_found(tmp_path, [ACTOR, ASKED])) == sorted([ACTOR, ASKED])
    ran = CliRunner().invoke(
        app, ["forget", "--actor", ACTOR, "--erase", "--db", str(tmp_path / "index")]
    )
    assert ran.exit_code == 0, ran.output
    assert _found(tmp_path, [ACTOR, ASKED]) == {}


async def _awaited(index: HebbianIndex) -> None:
    await index.adelete(["secret"], erase=True)
    await index.aforget(actor=ACTOR, erase=True)


def test_the_async_twins_erase(index: HebbianIndex, tmp_path: Path) -> None:
    index.delete(["mugwump"])
    asyncio.run(_awaited(index))
    assert _found(tmp_path, [*OF_CHUNK, *OF_ACTOR]) == {}


def test_late_feedback_does_not_bring_back_what_was_erased(
    open_index: Callable[..., HebbianIndex], tmp_path: Path
) -> None:
    """The Recall was handed over, so it still names the title that is gone."""
    index = open_index()
    index.add(
        [
            {"id": "secret", "title": "Orla Quint", "text": "Orla Quint keeps the Wherry."},
            {"id": "kept", "title": "Wherry", "text": "The Wherry lies at Gannet Point."},
        ]
    )
    other = open_index()  # whose graph in memory is older than the erasure
    recall = other.recall("Where does the boat of Orla Quint lie?", k=2)
    assert "orla quint" in {cue.tag.lower() for cue in recall.cues}
    index.delete(["secret"], erase=True)
    for one, actor in ((index, None), (other, "ana")):
        feedback = one.reinforce(recall, ["kept"], actor=actor)
        assert "orla quint" not in feedback.model_dump_json().lower()
    other.close()
    index.close()
    assert _found(tmp_path, ["Orla Quint"]) == {}


@pytest.mark.sqlite_only
def test_a_process_that_saves_does_not_bring_back_what_was_erased(
    open_index: Callable[..., HebbianIndex], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have looked at the log just before, and write just after."""
    index = open_index()
    index.add(["The Petrel was built by Ida Moss."])
    recall = index.recall("Who built the Petrel?")
    index.reinforce(recall, [recall.hits[0].chunk.id], actor=ACTOR)
    index.recall("Petrel")
    other = open_index()
    erasing = threading.Thread(target=lambda: other.forget(actor=ACTOR, erase=True))
    waits = threading.Event()

    def locked(*arguments: Any, **options: Any) -> Any:
        if threading.current_thread() is erasing:
            waits.set()
        return lock_file(*arguments, **options)

    def save_late(*arguments: Any) -> None:
        erasing.start()
        while erasing.is_alive() and not waits.wait(0.01):  # it ends, or waits for the lock
            pass
        write_arrays(*arguments)

    monkeypatch.setattr("hebbgraph.learning.snapshot.lock_file", locked, raising=False)

    monkeypatch.setattr("hebbgraph.learning.memory.write_arrays", save_late)
    index.parts.memory.save_snapshot()
    erasing.join(60)
    assert not erasing.is_alive()
    assert _found(tmp_path, [ACTOR]) == {}


@pytest.mark.every_database
def test_a_dropped_namespace_leaves_no_row(
    make_index: Callable[..., HebbianIndex], open_index: Callable[..., HebbianIndex]
) -> None:
    anna, ben = make_index(namespace="anna"), make_index(namespace="ben")
    asked = anna.recall("Who built the Petrel?")
    anna.reinforce(asked, [asked.hits[0].chunk.id], actor="anna")
    anna.tags.correct("mute", anna.tags.find(limit=1)[0].tag)
    elsewhere = open_index(namespace="anna")
    assert elsewhere.recall("Who built the Petrel?").hits
    database = ben.parts.database
    anna.drop_namespace()
    assert anna.is_closed
    assert elsewhere.recall("Who built the Petrel?").hits == ()
    with pytest.raises(ClosedIndexError, match="deleted meanwhile"):
        elsewhere.add(["Another note."])
    elsewhere.close()
    for table in TABLES.keys() - {"meta"}:
        rows = database.ask(f"SELECT 1 FROM {table} WHERE namespace = ?", ("anna",))
        assert list(rows) == [], table
    assert ben.namespaces() == ["ben"]
    assert ben.recall("Who built the Petrel?").hits[0].chunk.id == asked.hits[0].chunk.id
    again = open_index(namespace="anna")
    again.add(["The Petrel lies in another harbour."])
    assert [hit.chunk.text for hit in again.recall("Where is the Petrel?").hits] == [
        "The Petrel lies in another harbour."
    ]
    assert again.lessons() == []
    assert again.maintenance.doctor().ok
