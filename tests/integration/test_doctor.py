"""The doctor finds what is wrong, and mends what can be derived."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.artifacts import DamagedPartError
from hebbgraph.cli import app
from hebbgraph.derived.lexical import LexicalRow, check_segments


@pytest.fixture
def index(make_index: Callable[..., HebbianIndex]) -> HebbianIndex:
    made = make_index()
    made.delete(["knots"])
    recall = made.recall("Where was the builder of the Petrel born?", k=5)
    made.reinforce(recall, [recall.hits[1].chunk.id])
    return made


def _parts(index: HebbianIndex, *, repair: bool = False) -> list[tuple[str, bool]]:
    report = index.doctor(repair=repair)
    return [(finding.part, finding.repaired) for finding in report.findings]


def test_an_index_that_holds_nothing_yet_is_well(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path / "new") as index:
        assert not index.recall("Who built the Petrel?").hits
        assert index.doctor().ok


@pytest.mark.every_database
def test_all_is_well(index: HebbianIndex) -> None:
    report = index.doctor()
    assert report.ok
    assert report.findings == ()
    assert (report.chunks, report.feedbacks, report.generation) == (7, 1, 2)


def test_each_byte_of_the_lexical_index_counts(index: HebbianIndex, tmp_path: Path) -> None:
    (folder,) = (tmp_path / "index" / "derived").glob("*/lexical")
    check_segments(folder)

    def put(path: Path, content: bytes) -> None:
        # Not in place: Tantivy has the file mapped, and a page that goes is a SIGBUS.
        (tmp_path / "new").write_bytes(content)
        (tmp_path / "new").replace(path)

    n_flipped = 0
    for path in sorted(folder.iterdir()):
        if path.suffix in (".json", ".lock"):
            continue
        content = path.read_bytes()
        for at in {0, len(content) // 2, len(content) - 1}:
            flipped = bytearray(content)
            flipped[at] ^= 0x10
            put(path, flipped)
            with pytest.raises(DamagedPartError, match=path.name):
                check_segments(folder)
            n_flipped += 1
        put(path, content)
    assert n_flipped >= 20
    assert index.doctor().ok


def test_a_damaged_lexical_index_is_found_and_mended(index: HebbianIndex, tmp_path: Path) -> None:
    (path,) = (tmp_path / "index" / "derived").glob("*/lexical/*.fieldnorm")
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(content)
    assert _parts(index) == [("lexical", False)]
    assert _parts(index, repair=True) == [("lexical", True)]
    assert _parts(index) == []


def test_rows_that_the_lexical_index_lost(index: HebbianIndex) -> None:
    lexical = index.parts.derived.lexical
    lost = int(lexical.rows()[2])
    lexical.update(lexical.commit, removed=[lost], added=[])
    assert _parts(index, repair=True) == [("lexical", True)]
    assert _parts(index) == []


def test_words_that_the_lexical_index_lost(index: HebbianIndex) -> None:
    lexical = index.parts.derived.lexical
    row = int(lexical.rows()[0])
    lexical.update(lexical.commit, removed=[], added=[LexicalRow(row, "other words")])
    assert _parts(index, repair=True) == [("lexical", True)]
    assert _parts(index) == []


def test_a_graph_that_is_not_what_follows(index: HebbianIndex) -> None:
    index.recall("Petrel")
    graph = index.parts.derived.graph
    graph._alive.writable()[1] = False
    assert ("graph", False) in _parts(index)
    assert ("graph", True) in _parts(index, repair=True)
    assert _parts(index) == []


def test_weights_that_are_not_what_was_taught(index: HebbianIndex) -> None:
    index.recall("Petrel")
    index.parts.memory.lessons.link_credit[0] += 0.25
    assert _parts(index) == [("learned", False)]
    assert _parts(index, repair=True) == [("learned", True)]
    assert _parts(index) == []


def test_a_database_that_was_tampered_with_needs_a_backup(
    index: HebbianIndex, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "index" / "truth.sqlite3")) as connection:
        connection.execute("UPDATE chunks SET text = 'The Petrel sank.' WHERE id = 'petrel'")
        connection.execute("INSERT INTO tombstones SELECT row, namespace, 99 FROM chunks LIMIT 1")
        connection.commit()
    report = index.doctor(repair=True)
    assert not report.ok
    problems = [finding.problem for finding in report.findings if finding.part == "database"]
    assert problems == [
        "1 tombstones of a future generation",
        "1 rows both live and deleted",
        "chunk 'petrel' is not what was written",
    ]


@pytest.mark.sqlite_only
def test_vectors_that_are_not_held(make_index: Callable[..., HebbianIndex]) -> None:
    class Embedder:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return np.random.default_rng(len(text)).normal(size=8).tolist()

    index = make_index(embedder=Embedder())
    assert _parts(index) == []
    table = index.parts.derived.vectors
    assert table is not None
    table._set(table.rows[:-1], table.matrix[:-1], table.last_row)
    assert _parts(index, repair=True) == [("vectors", True)]
    assert _parts(index) == []
    table = index.parts.derived.vectors
    assert table is not None
    matrix = np.array(table.matrix)  # what is mapped cannot be written to
    matrix[0, 3] += 0.5
    table._set(table.rows, matrix, table.last_row)
    assert _parts(index, repair=True) == [("vectors", True)]
    assert _parts(index) == []


def test_the_command(index: HebbianIndex, tmp_path: Path) -> None:
    run = CliRunner().invoke
    index.close()
    done = run(app, ["doctor", "--db", str(tmp_path / "index"), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["findings"] == []
    (path,) = (tmp_path / "index" / "derived").glob("*/graph.arrays")
    path.write_bytes(path.read_bytes()[:-1])
    done = run(app, ["doctor", "--db", str(tmp_path / "index")])
    assert done.exit_code == 1
    assert "snapshot" in done.output
    (path,) = (tmp_path / "index" / "derived").glob("*/graph.arrays")
    path.write_bytes(b"")
    done = run(app, ["doctor", "--db", str(tmp_path / "index"), "--repair"])
    assert done.exit_code == 0, done.output
    assert "repaired" in done.output


@pytest.mark.every_database
def test_addresses_of_several_documents_are_named_and_are_no_damage(
    make_index: Callable[..., HebbianIndex],
) -> None:
    claims = [
        Chunk(id="a1", text="one", document_id="a", addresses=("https://e.org/x",)),
        Chunk(id="a2", text="two", document_id="a", addresses=("https://e.org/x", "a.md")),
        Chunk(id="b", text="three", document_id="b", addresses=("http://E.org/x/",)),
        Chunk(id="alone", text="four", addresses=("lost.md",), references=("a.md",)),
    ]
    index = make_index(claims)
    report = index.doctor()
    assert report.ok
    assert report.notes == ("address '//e.org/x' is claimed by 'a', 'b'",)
    index.delete(["b"])
    assert index.doctor().notes == ()


def test_nobody_takes_the_address_of_another_document_away(
    make_index: Callable[..., HebbianIndex],
) -> None:
    """A page that claims the address of another has half of its links, and the other half stays."""
    index = make_index(
        [
            Chunk(id="link", text="Frost heaves.", references=("https://e.org/x#top",)),
            Chunk(id="own", text="Use salt.", document_id="own", addresses=("https://e.org/x",)),
            Chunk(
                id="false", text="Buy salt.", document_id="f", addresses=("https://e.org/x#top",)
            ),
            Chunk(id="false2", text="Buy salt!", document_id="f", addresses=("https://e.org/x",)),
        ]
    )
    claimed = index.recall("When does frost heave?", k=4)
    assert claimed.hits[0].chunk.id == "link"
    index.delete(["false"])
    scores = {hit.chunk.id: hit.score for hit in index.recall("When does frost heave?", k=4).hits}
    assert scores["own"] == pytest.approx(scores["false2"])
    assert scores["own"] > 0.1


def test_chunks_that_several_people_reject_are_named(
    make_index: Callable[..., HebbianIndex],
) -> None:
    index = make_index()
    questions = ("Who built the Petrel?", "Where was Ida Moss born?", "What sails to Tern Bay?")
    for actor in ("ann", "ben"):
        assert index.doctor().notes == ()  # nor after one alone
        for question in questions:
            recall = index.recall(question, k=8)
            index.reinforce(recall, [recall.hits[0].chunk.id], rejected=["knots"], actor=actor)
    assert index.doctor().notes == (
        "chunk 'knots' is rejected for 3 questions: delete it, if it is wrong",
    )
    index.delete(["knots"])
    assert index.doctor().notes == ()


HOUSES = (
    "anvil",
    "badger",
    "copper",
    "dahlia",
    "ember",
    "falcon",
    "garnet",
    "hazel",
    "iris",
    "juniper",
)


def _contradicting(actor: str) -> HebbianIndex:
    """Return an index where somebody cites for ten questions what search is sure is wrong."""
    index = HebbianIndex.open(":memory:")
    index.add([Chunk(id=it, text=f"The {it} is kept in the {it} house.") for it in HOUSES])
    for at, it in enumerate(HOUSES):
        recall = index.recall(f"Where is the {it} kept?")
        index.reinforce(recall, cited=[HOUSES[at - 1]], actor=actor)
    index.recall("house")
    return index


def test_whoever_is_disbelieved_hears_of_it() -> None:
    index = _contradicting("ida")
    [note] = index.maintenance.doctor().notes
    assert note.startswith("lessons of 'ida': 5 count next to nothing each, as search disagrees")
    index.forget(actor="ida")
    assert index.maintenance.doctor().notes == ()


def test_whom_others_contradict_hears_of_that() -> None:
    index = _contradicting("ida")
    for it in HOUSES:
        for actor in ("bo", "cy", "dee"):
            index.reinforce(index.recall(f"Where is the {it} kept?"), cited=[it], actor=actor)
    [note] = index.maintenance.doctor().notes
    assert note.startswith("lessons of 'ida': 10 count next to nothing each, as others who are")
