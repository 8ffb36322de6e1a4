"""Derived parts know which commits they are of; those of other histories do not count."""

from __future__ import annotations

import logging
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hebbgraph import HebbianIndex, Settings
from hebbgraph.derived.folder import former_directories
from hebbgraph.store.database import DATABASE_NAME
from hebbgraph.vectors import table as vectors

SOAK = bool(os.environ.get("HEBBGRAPH_SOAK"))
OpenIndex = Callable[..., HebbianIndex]

NAMES = ("Ada Fenn", "Brisk Hollow", "Corin Vale", "Dun Harrow", "Gull Rock", "Ida Moss")


class Letters:
    """Counts letters, so that every text has a vector of its own."""

    name = "letters"

    def embed_query(self, text: str) -> list[float]:
        counts = np.array([text.lower().count(chr(97 + n)) for n in range(26)], dtype=float)
        return list((counts + 0.01) / np.linalg.norm(counts + 0.01))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def _chunks(seed: int, n: int = 6) -> list[dict[str, Any]]:
    """The same ids for each seed, and other texts."""
    rng = random.Random(seed)
    return [
        {
            "id": f"c{number}",
            "title": rng.choice(NAMES) if rng.random() < 0.3 else "",
            "text": f"{rng.choice(NAMES)} met {rng.choice(NAMES)} in {rng.randrange(10**6)}.",
        }
        for number in rng.sample(range(40), n)
    ]


QUESTIONS = (*NAMES, "Who met Corin Vale at Gull Rock?")


def _answers(index: HebbianIndex) -> list[list[tuple[str, str]]]:
    return [
        sorted((hit.chunk.id, hit.chunk.text) for hit in index.recall(question, k=5).hits)
        for question in QUESTIONS
    ]


def _expected(index: HebbianIndex) -> list[list[tuple[str, str]]]:
    """What an index answers that was built of nothing but the truth, feedback left out."""
    with HebbianIndex.open(":memory:", embedder=Letters()) as fresh:
        rows = sorted(index.parts.truth.fetch(index.parts.truth.rows_by_id()).items())
        fresh.add([chunk for _, chunk in rows])
        return _answers(fresh)


def _assert_right(index: HebbianIndex) -> None:
    index.compact()  # BM25 counts deleted chunks until then
    assert _answers(index) == _expected(index)


# -- two databases, one cache --------------------------------------------------------------


@pytest.mark.every_database
@pytest.mark.parametrize("names", [("one", "two"), ("two", "one")])
def test_two_databases_with_one_cache(
    open_index: OpenIndex, tmp_path: Path, names: tuple[str, str]
) -> None:
    cache = tmp_path / "cache"
    for seed, name in enumerate(("one", "two")):
        with open_index(name, cache_dir=cache, embedder=Letters()) as index:
            index.add(_chunks(seed))
            index.recall(f"Whom did {name} meet?", id="same")
            index.colonies()
    for name in names:
        with open_index(name, cache_dir=cache, embedder=Letters()) as index:
            assert index.repairs == ()
            assert _answers(index) == _expected(index)
            found = index.find_recall("same")
            assert found is not None
            assert found.query == f"Whom did {name} meet?"
            held = {chunk.id: chunk.text for chunk in index.get(index.ids())}
            assert all(held[hit.chunk.id] == hit.chunk.text for hit in found.hits)
            assert index.doctor().ok


@pytest.mark.every_database
def test_two_databases_with_one_cache_open_at_once(open_index: OpenIndex, tmp_path: Path) -> None:
    one, two = (open_index(n, cache_dir=tmp_path / "cache", embedder=Letters()) for n in "ab")
    for seed in range(3):
        one.add(_chunks(seed))
        two.add(_chunks(10 + seed))
        assert two.find_recall(one.recall(NAMES[0]).id) is None
    for index in (one, two):
        assert index.repairs == ()
        _assert_right(index)
        assert index.doctor().ok


def test_the_files_of_another_database(open_index: OpenIndex, tmp_path: Path) -> None:
    """Each part by itself: none of them is taken for its own."""
    folders = {}
    for seed, name in enumerate(("mine", "theirs")):
        with open_index(name, embedder=Letters()) as index:
            index.add(_chunks(seed))
            index.colonies()
        (folders[name],) = (tmp_path / name / "derived").iterdir()
    shutil.copytree(folders["mine"], tmp_path / "before")
    for pattern in ("graph.arrays", "lexical", "vectors*", "colonies.arrays"):
        shutil.rmtree(folders["mine"])
        shutil.copytree(tmp_path / "before", folders["mine"])
        for old in folders["mine"].glob(pattern):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        for path in folders["theirs"].glob(pattern):
            to = folders["mine"] / path.name
            shutil.copytree(path, to) if path.is_dir() else shutil.copy(path, to)
        with open_index("mine", embedder=Letters()) as index:
            assert _answers(index) == _expected(index), pattern
            index.colonies()
            # Vectors of another model, and colonies, are passed over every day.
            assert bool(index.repairs) is (pattern in ("graph.arrays", "lexical")), pattern
        with open_index("mine", embedder=Letters()) as index:
            assert index.doctor().findings == (), pattern
            assert index.repairs == (), pattern


# -- an old copy of the truth, put back by hand --------------------------------------------


def _put_back(copy: Path, place: Path) -> None:
    for path in place.glob(f"{DATABASE_NAME}*"):
        path.unlink()
    shutil.copy(copy, place / DATABASE_NAME)


@pytest.mark.parametrize("n_more", [1, 2, 3])
def test_a_generation_is_reached_again(
    open_index: OpenIndex, tmp_path: Path, n_more: int, caplog: pytest.LogCaptureFixture
) -> None:
    place, copy = tmp_path / "index", tmp_path / "copy"
    with open_index(embedder=Letters()) as index:
        index.add(_chunks(1))
        index.add(_chunks(2))
    shutil.copy(place / DATABASE_NAME, copy)
    with open_index(embedder=Letters()) as index:
        for seed in (3, 4):
            index.add(_chunks(seed))
        index.colonies()
    _put_back(copy, place)
    # Written to without a look at the derived parts that lie there.
    with open_index(embedder=Letters(), cache_dir=tmp_path / "elsewhere") as index:
        for seed in range(n_more):
            index.add(_chunks(20 + seed))
    with open_index(embedder=Letters()) as index:
        _assert_right(index)
        index.colonies()
        for part in ("graph", "lexical index"):
            assert f"the {part} was of another history of the database" in index.repairs
        assert "the vectors' files were not of this database" in index.repairs
        assert caplog.text.count("another history") == 2
        assert index.doctor().ok
    with open_index(embedder=Letters()) as index:
        _assert_right(index)
        assert index.repairs == ()


@pytest.mark.parametrize("search", ["quantized", "ivf"])
def test_codes_of_another_history(
    open_index: OpenIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, search: str
) -> None:
    if search == "ivf":
        pytest.importorskip("faiss")
    monkeypatch.setattr(vectors, "_FEWEST_SEARCHED", 4)
    settings = Settings(vector_search=search)  # type: ignore[arg-type]
    place, copy = tmp_path / "index", tmp_path / "copy"
    with open_index(embedder=Letters(), settings=settings) as index:
        index.add(_chunks(1))
    shutil.copy(place / DATABASE_NAME, copy)
    with open_index(embedder=Letters(), settings=settings) as index:
        index.add(_chunks(2, 30))
    _put_back(copy, place)
    elsewhere = tmp_path / "elsewhere"
    with open_index(embedder=Letters(), settings=settings, cache_dir=elsewhere) as index:
        index.add(_chunks(3, 30))
    with open_index(embedder=Letters(), settings=settings) as index:
        table = index.recall("x") and index.parts.derived.vectors
        assert table is not None
        for row, vector in zip(table.rows.tolist(), table.matrix, strict=True):
            found = table.nearest(vector, 1, np.ones(len(table.rows), np.bool_))
            assert table.matrix[found.positions[0]] @ vector == pytest.approx(1.0, abs=1e-3), row
        assert index.doctor().ok


def _exchange(place: Path, copy: Path) -> None:
    """Put an old copy in place under those who have it open, as ``.restore`` of SQLite does."""
    with (
        closing(sqlite3.connect(copy)) as source,
        closing(sqlite3.connect(place / DATABASE_NAME)) as live,
    ):
        source.backup(live)


@pytest.mark.parametrize("n_more", [1, 2, 3])
def test_a_truth_that_is_exchanged_under_an_open_index(
    open_index: OpenIndex, tmp_path: Path, n_more: int
) -> None:
    """What is held in memory, weights too, is of the history that is gone."""
    place, copy = tmp_path / "index", tmp_path / "copy"
    index = open_index(embedder=Letters())
    index.add(_chunks(1))
    index.reinforce(index.recall(NAMES[0]), [index.recall(NAMES[0]).hits[0].chunk.id])
    index.backup(tmp_path / "backup")
    shutil.copy(tmp_path / "backup" / DATABASE_NAME, copy)
    for seed in (2, 3):
        index.add(_chunks(seed))
        recall = index.recall(NAMES[seed], id=f"old{seed}")
        index.reinforce(recall, [recall.hits[0].chunk.id])
    index.colonies()
    _exchange(place, copy)
    with open_index(embedder=Letters(), cache_dir=tmp_path / "elsewhere") as other:
        for seed in range(n_more):
            other.add(_chunks(20 + seed))
            recall = other.recall(NAMES[seed], id=f"new{seed}")
            other.reinforce(recall, [recall.hits[0].chunk.id])
        taught = {feedback.recall_id for _, feedback in other.parts.log.after(0)}
        answers = _answers(other)
    assert _answers(index) == answers
    assert {event.recall_id for event in index.parts.memory.events} == taught
    index.colonies()
    assert index.doctor().ok
    index.forget(everything=True)
    _assert_right(index)


def test_feedback_alone_is_exchanged_under_an_open_index(
    open_index: OpenIndex, tmp_path: Path
) -> None:
    place = tmp_path / "index"
    index = open_index()
    index.add(_chunks(1))
    recall = index.recall(NAMES[0])
    index.backup(tmp_path / "backup")
    index.reinforce(recall, [recall.hits[0].chunk.id])
    assert index.recall(NAMES[0]).generation == 1
    _exchange(place, tmp_path / "backup" / DATABASE_NAME)
    with open_index(cache_dir=tmp_path / "elsewhere") as other:
        other.reinforce(other.recall(NAMES[1], id="other"), [recall.hits[1].chunk.id])
    index.recall(NAMES[0])
    assert [event.recall_id for event in index.parts.memory.events] == ["other"]


@pytest.mark.every_database
def test_vectors_of_another_history_of_reembedding(open_index: OpenIndex) -> None:
    """The numbers of the model's epoch and revision come again, and mean others."""
    index = open_index()
    index.add(_chunks(1))
    index.reembed(Letters())
    first = index.parts.truth.state().embedding
    assert first is not None
    state = index.parts.truth.embeddings.begin_epoch(first._replace(epoch=0, revision=0))
    assert state.mark != first.mark


# -- files of several states ---------------------------------------------------------------


def _files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("seed", range(60) if SOAK else (*range(6), 28, 30, 48, 50, 53, 55))
def test_mixes_of_old_and_new_files(
    open_index: OpenIndex, tmp_path: Path, seed: int, assert_like_rebuilt: Callable[..., None]
) -> None:
    rng = random.Random(seed)
    states = []
    for step in range(3):
        with open_index(embedder=Letters()) as index:
            index.add(_chunks(100 * seed + step))
            index.delete([rng.choice(index.ids())])
            index.colonies()
            if step == 1 and seed % 3 == 0:
                index.compact()
        (folder,) = (tmp_path / "index" / "derived").iterdir()
        states.append(shutil.copytree(folder, tmp_path / f"state{step}"))
    shutil.rmtree(folder)
    for file in sorted(set.union(*map(_files, states))):
        # Each by itself; or stamps of one state with everything else of another.
        told = file.suffix in (".json", ".arrays")
        chosen = (rng.choice(states) if seed % 2 else states[2 - told * rng.randrange(2)]) / file
        if chosen.exists():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(chosen, folder / file)
    with open_index(embedder=Letters()) as index:
        assert_like_rebuilt(index)
        # What lies on the disk is built anew when it is closed.
        assert [f for f in index.doctor().findings if f.part != "snapshot"] == []
        _assert_right(index)
    with open_index(embedder=Letters()) as index:
        _assert_right(index)
        assert index.doctor().findings == ()
        assert index.repairs == ()


def test_reading_alone_goes_on_in_memory(
    open_index: OpenIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing can be built where nothing can be written; answers are right all the same."""
    for seed, name in enumerate(("index", "other")):
        with open_index(name, embedder=Letters()) as index:
            index.add(_chunks(seed))
    (own,) = (tmp_path / "index" / "derived").iterdir()
    (others,) = (tmp_path / "other" / "derived").iterdir()
    shutil.rmtree(own)
    shutil.copytree(others, own)
    before = {path: (own / path).read_bytes() for path in _files(own)}
    monkeypatch.setattr("hebbgraph.store.database._writable", lambda *_: False)
    with open_index(embedder=Letters()) as index:
        assert _answers(index) == _expected(index)
        assert index.repairs
    assert {path: (own / path).read_bytes() for path in _files(own)} == before


# -- the lexical index ---------------------------------------------------------------------


def _segments(lexical: Path, suffix: str) -> tuple[Path, Path]:
    one, other, *_ = sorted(lexical.glob(f"*.{suffix}"))
    return one, other


def _swap(one: Path, other: Path) -> None:
    """By renaming, so that who has them mapped goes on with what they were."""
    between = one.with_name("between")
    one.rename(between)
    other.rename(one)
    between.rename(other)


SUFFIXES = ("idx", "term", "pos", "fast", "fieldnorm", "store")


@pytest.fixture
def lexical(open_index: OpenIndex, tmp_path: Path) -> Path:
    """Two segments of as many chunks each."""
    with open_index() as index:
        for n in range(2):
            texts = [f"{name} of part {n}." + n * m * " More." for m, name in enumerate(NAMES)]
            index.add([{"id": f"{n}-{m}", "text": text} for m, text in enumerate(texts)])
    (lexical,) = (tmp_path / "index" / "derived").glob("*/lexical")
    return lexical


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_lexical_files_that_were_swapped(open_index: OpenIndex, lexical: Path, suffix: str) -> None:
    """Each is whole, and belongs to another segment."""
    one, other = _segments(lexical, suffix)
    if one.read_bytes() == other.read_bytes():
        pytest.skip("they are the same")
    _swap(one, other)
    index = open_index()
    hits = {hit.chunk.id for hit in index.recall("Ida Moss of part 1", k=2).hits}
    assert "1-5" in hits
    (repair,) = index.repairs
    assert "lexical index was damaged" in repair
    assert index.doctor().ok


def test_lexical_files_that_were_swapped_under_an_open_index(
    open_index: OpenIndex, lexical: Path
) -> None:
    index = open_index()
    index.recall("Ida Moss")
    _swap(*_segments(lexical, "term"))
    (finding,) = index.doctor().findings
    assert finding.part == "lexical"
    assert index.doctor(repair=True).ok
    assert index.doctor().findings == ()


def test_a_lexical_index_of_before_beside_its_newer_manifest(
    open_index: OpenIndex, lexical: Path, tmp_path: Path
) -> None:
    before = shutil.copytree(lexical, tmp_path / "before")
    with open_index() as index:
        index.delete(["1-5"])
    manifest = (lexical / "manifest.json").read_bytes()
    shutil.rmtree(lexical)
    shutil.copytree(before, lexical)
    (lexical / "manifest.json").write_bytes(manifest)
    index = open_index()
    assert "1-5" not in {hit.chunk.id for hit in index.recall("Ida Moss of part 1", k=12).hits}
    assert len(index.parts.derived.lexical) == 11
    assert index.repairs


def test_a_process_that_died_before_the_manifest_beside_an_open_index(
    open_index: OpenIndex, lexical: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one cannot know what Tantivy holds by then, and writes it anew."""
    index, other = open_index(), open_index()
    index.recall("Ida Moss"), other.recall("Ida Moss")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("hebbgraph.derived.lexical.record_segments", die)
        with pytest.raises(KeyboardInterrupt):
            index.add([{"id": "late", "text": "Ida Moss came late."}])
    other.delete(["late", "1-5"])
    for one in (other, index, open_index()):
        assert len(one.parts.derived.lexical.rows()) == 11
        assert one.doctor().findings == ()


# -- made before there was any history -----------------------------------------------------


def test_a_directory_of_an_older_version_is_built_anew_once(
    open_index: OpenIndex, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "index"
    with open_index(embedder=Letters()) as index:
        index.add(_chunks(1))
        index.add(_chunks(2))
        expected = _answers(index)
    (folder,) = (place / "derived").iterdir()
    (folder / "neural.safetensors").write_bytes(b"took long")
    folder.rename(former_directories(place, "default", "")[0])
    with closing(sqlite3.connect(place / DATABASE_NAME)) as connection, connection:
        for statement in (
            "DROP TABLE commits",
            "DROP TABLE tag_corrections",
            "DROP TABLE answers",
            "DROP TABLE answer_names",
            "DROP TABLE recalls",
            "DROP INDEX ix_feedback_namespace_recall",
            "ALTER TABLE chunks DROP COLUMN links",
            "ALTER TABLE documents DROP COLUMN indexed_at",
            "DROP INDEX ix_chunks_namespace_dated",
            "DROP INDEX ix_chunks_namespace_version_of",
            "ALTER TABLE chunks DROP COLUMN validity",
            "ALTER TABLE chunks DROP COLUMN version_of",
            "ALTER TABLE chunks DROP COLUMN context",
            "DROP INDEX ix_chunks_namespace_vector_epoch",
            "ALTER TABLE namespaces DROP COLUMN mark",
            "ALTER TABLE namespaces DROP COLUMN feedback_mark",
            "DELETE FROM meta WHERE key = 'database_id'",
            "UPDATE meta SET value = '3' WHERE key = 'schema_version'",
        ):
            connection.execute(statement)
    caplog.set_level(logging.INFO, logger="hebbgraph")
    for n_lines in (1, 0):
        caplog.clear()
        with open_index(embedder=Letters()) as index:
            assert _answers(index) == expected
            index.add([])
            assert index.repairs == ()
            (folder,) = (place / "derived").iterdir()
            assert (folder / "neural.safetensors").read_bytes() == b"took long"
        assert [record.message for record in caplog.records if "neural" not in record.message] == [
            "no snapshot: building the graph from 12 chunks"
        ] * n_lines
