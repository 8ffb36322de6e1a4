"""Answers stay the same when derived parts are lost, damaged or outdated."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.derived import snapshot
from hebbgraph.manifest import Manifest

QUESTION = "Where was the builder of the Petrel born?"
MORE = "Slate from Gannet Point roofed towns."

Answer: TypeAlias = tuple[str, float, tuple[str, ...]]


def _answer(index: HebbianIndex) -> list[Answer]:
    recall = index.recall(QUESTION, k=8)
    return [
        (hit.chunk.id, round(hit.score, 9), tuple(step.value for step in hit.path))
        for hit in recall.hits
    ]


@pytest.fixture(scope="module")
def made(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[Chunk]
) -> tuple[Path, list[Answer]]:
    """An index that was written in several steps, and closed; and its answers."""
    place = tmp_path_factory.mktemp("made") / "index"
    with HebbianIndex.open(place) as index:
        index.add(corpus[:5])
        index.add([*corpus[5:], {"id": "more", "title": "Slate", "text": MORE}])
        index.delete(["knots"])
        return place, _answer(index)


@pytest.fixture
def saved(made: tuple[Path, list[Answer]], tmp_path: Path) -> list[Answer]:
    """Put a copy of it where ``open_index`` finds it."""
    shutil.copytree(made[0], tmp_path / "index")
    return made[1]


@pytest.fixture
def folder(tmp_path: Path, saved: list[Answer]) -> Path:
    (folder,) = (tmp_path / "index" / "derived").iterdir()
    return folder


# -- the snapshot ------------------------------------------------------------------------


def test_opening_loads_the_snapshot_and_tags_nothing(
    open_index: Callable[..., HebbianIndex],
    saved: list[Answer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("text was matched")

    monkeypatch.setattr("hebbgraph.graph.tag_graph.TagGraph.tag", fail)
    index = open_index()
    assert _answer(index) == saved


@pytest.mark.parametrize(
    "how", ["version", "length", "checksum", "header", "arrays", "missing", "cut", "empty"]
)
def test_a_damaged_snapshot_is_built_anew(
    open_index: Callable[..., HebbianIndex],
    saved: list[Answer],
    folder: Path,
    how: str,
    caplog: pytest.LogCaptureFixture,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    path = folder / snapshot.GRAPH_NAME
    content = bytearray(path.read_bytes())
    places = {"version": 0, "length": 8, "checksum": 16, "header": 30, "arrays": -100}
    if how in places:
        content[places[how]] ^= 0x55
        path.write_bytes(content)
    elif how == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    else:
        path.unlink()
    caplog.set_level(logging.INFO, logger="hebbgraph")
    index = open_index()
    assert _answer(index) == saved
    assert any("snapshot" in record.message for record in caplog.records)
    assert_like_rebuilt(index)
    index.close()
    caplog.clear()
    assert _answer(open_index()) == saved  # and it was saved again
    assert not caplog.records


def test_a_replaced_snapshot_stays_readable_where_it_is_mapped(
    open_index: Callable[..., HebbianIndex], saved: list[Answer], folder: Path
) -> None:
    reader = open_index()
    assert _answer(reader) == saved
    with open_index() as other:
        other.add([{"id": "late", "title": "Ice trade", "text": "The ice trade ended."}])
        before = snapshot.load_snapshot(folder)
    now = snapshot.load_snapshot(folder)
    assert before is not None
    assert now is not None
    assert before.n_chunks + 1 == now.n_chunks
    assert "late" in {hit.chunk.id for hit in reader.recall("When did the ice trade end?").hits}


def test_a_reader_takes_the_snapshot_of_another_process_that_compacts(
    open_index: Callable[..., HebbianIndex],
    saved: list[Answer],
    caplog: pytest.LogCaptureFixture,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    """The log of changes does not reach back to the reader's graph, but nothing is rebuilt."""
    reader, writer = open_index(), open_index()
    assert _answer(reader) == saved
    writer.add([{"id": "late", "title": "Ice trade", "text": "The ice trade ended."}])
    writer.delete(["moss"])
    writer.compact()
    caplog.set_level(logging.INFO, logger="hebbgraph")
    assert _answer(reader) == _answer(writer)
    assert not [record for record in caplog.records if "building" in record.message]
    assert_like_rebuilt(reader)


def test_an_older_snapshot_catches_up(
    open_index: Callable[..., HebbianIndex],
    saved: list[Answer],
    folder: Path,
    tmp_path: Path,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    shutil.copytree(folder, tmp_path / "older")
    index = open_index()
    index.add([{"id": "late", "title": "Ice trade", "text": "The ice trade ended."}])
    index.delete(["moss"])
    expected = _answer(index)
    index.close()
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "older", folder)
    index = open_index()
    assert [id_ for id_, *_ in _answer(index)] == [id_ for id_, *_ in expected]
    assert_like_rebuilt(index)


def test_a_snapshot_from_before_compact_starts_from_nothing(
    open_index: Callable[..., HebbianIndex],
    saved: list[Answer],
    folder: Path,
    tmp_path: Path,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    shutil.copytree(folder, tmp_path / "older")
    index = open_index()
    index.delete(["moss"])
    index.compact()
    expected = _answer(index)
    index.close()
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "older", folder)
    index = open_index()
    assert _answer(index) == expected
    assert_like_rebuilt(index)


# -- the lexical index --------------------------------------------------------------------


def _hits_of_direct_search(index: HebbianIndex) -> list[str]:
    index.stats()
    lexical = index.parts.derived.lexical
    rows, _ = lexical.search(["slate"], 10)
    assert len(lexical) == index.parts.truth.count()
    return sorted(index.parts.truth.ids(rows.tolist()).values())


def test_a_missing_lexical_index_is_built_anew(
    open_index: Callable[..., HebbianIndex], saved: list[Answer], folder: Path
) -> None:
    shutil.rmtree(folder / "lexical")
    index = open_index()
    assert _hits_of_direct_search(index) == ["bare", "heron", "more"]


@pytest.mark.parametrize("how", ["cut", "missing", "empty"])
@pytest.mark.parametrize("which", range(4))  # all others are the same; test_faults.py has them
def test_a_damaged_lexical_index_is_built_anew(
    open_index: Callable[..., HebbianIndex],
    saved: list[Answer],
    folder: Path,
    which: int,
    how: str,
) -> None:
    names = ["manifest.json", "meta.json", ".managed.json"]
    segments = sorted(
        p for p in (folder / "lexical").iterdir() if p.suffix not in (".json", ".lock")
    )
    paths = [folder / "lexical" / name for name in names] + segments
    if which >= len(paths):
        pytest.skip("Tantivy made fewer files")
    path = paths[which]
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if how == "cut" else b"")
    index = open_index()
    assert _hits_of_direct_search(index) == ["bare", "heron", "more"]


@pytest.mark.parametrize("generation", [0, 1, 99])
def test_a_lexical_index_of_another_commit_catches_up(
    open_index: Callable[..., HebbianIndex], saved: list[Answer], folder: Path, generation: int
) -> None:
    path = folder / "lexical" / "manifest.json"
    manifest = Manifest.read(path, 5)
    assert manifest is not None
    manifest.facts["commit"][0] = generation
    manifest.write(path, 5)
    index = open_index()
    assert _hits_of_direct_search(index) == ["bare", "heron", "more"]
    assert index.parts.derived.lexical.commit.generation == index.stats().generation
    index.add([{"id": "late", "text": "A late word on slate."}])
    assert _hits_of_direct_search(index) == ["bare", "heron", "late", "more"]


def test_older_chunks_are_matched_again_though_the_lexical_index_was_lost(
    open_index: Callable[..., HebbianIndex],
    saved: list[Answer],
    folder: Path,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    """The snapshot is intact, but the index that finds older mentions is not."""
    shutil.rmtree(folder / "lexical")
    index = open_index()
    index.add([{"id": "knot", "title": "Bowline", "text": "x"}])  # named by nobody
    index.add([{"id": "chapel", "title": "Chapel", "text": "x"}])  # named by Gannet Point
    assert_like_rebuilt(index)
    index.close()
    shutil.rmtree(folder / "lexical")
    index = open_index()
    index.add([{"id": "winter", "title": "Winter", "text": "x"}])
    assert_like_rebuilt(index)


# -- the whole folder ----------------------------------------------------------------------


def test_all_derived_parts_deleted(
    open_index: Callable[..., HebbianIndex],
    saved: list[Answer],
    tmp_path: Path,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    shutil.rmtree(tmp_path / "index" / "derived")
    index = open_index()
    # BM25 counts no deleted chunk now, so scores may differ from those before.
    assert sorted(id_ for id_, *_ in _answer(index)) == sorted(id_ for id_, *_ in saved)
    assert_like_rebuilt(index)


def test_all_derived_parts_deleted_while_it_is_open(
    make_index: Callable[..., HebbianIndex],
    tmp_path: Path,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    index = make_index()
    expected = _answer(index)
    shutil.rmtree(tmp_path / "index" / "derived")
    assert _answer(index) == expected
    shutil.rmtree(tmp_path / "index" / "derived")
    index.add([{"id": "late", "title": "Chapel", "text": "A late word."}])
    assert index.recall("late word", k=1).hits[0].chunk.id == "late"
    assert_like_rebuilt(index)
    index.close()


def test_an_older_database_put_back(
    open_index: Callable[..., HebbianIndex],
    saved: list[Answer],
    tmp_path: Path,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    """A backup of the truth alone: what was derived from a later state must not stay."""
    truth = tmp_path / "index" / "truth.sqlite3"
    backup = truth.read_bytes()
    index = open_index()
    index.delete(["bare"])
    index.add([{"id": "later", "title": "Winter", "text": "Slate in winter."}])
    index.close()
    truth.write_bytes(backup)
    index = open_index()
    assert _hits_of_direct_search(index) == ["bare", "heron", "more"]
    assert [id_ for id_, *_ in _answer(index)] == [id_ for id_, *_ in saved]
    assert_like_rebuilt(index)


def test_derived_parts_of_another_index(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    """They have the same generation, but another commit."""
    make_index([{"id": f"o{n}", "text": f"Slate {n} from Tessel Bay."} for n in range(20)], "other")
    small = make_index()
    expected = _answer(small)
    small.close()
    open_index("other").close()
    (own,) = (tmp_path / "index" / "derived").iterdir()
    (others,) = (tmp_path / "other" / "derived").iterdir()
    shutil.rmtree(own)
    shutil.copytree(others, own)
    index = open_index()
    assert index.recall("slate from Tessel Bay", k=20).hits
    assert "another history" in caplog.text
    assert _answer(index) == expected
    assert _hits_of_direct_search(index) == ["bare", "heron"]
    assert_like_rebuilt(index)
    index.close()
    assert _answer(open_index()) == expected


def test_the_next_step_makes_up_for_a_failed_one(
    make_index: Callable[..., HebbianIndex],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    index = make_index()

    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr("hebbgraph.derived.lexical.LexicalIndex.update", fail)
        report = index.add([{"id": "late", "title": "Chapel", "text": "A late word."}])
    assert report.added == 1  # committed, so acknowledged
    assert "lag behind" in caplog.text
    assert index.recall("late word", k=1).hits[0].chunk.id == "late"
    assert_like_rebuilt(index)


def test_parts_in_memory_serve_older_generations_only(
    tmp_path: Path, saved: list[Answer], corpus: list[Chunk]
) -> None:
    with (
        HebbianIndex.open(tmp_path / "index") as index,
        HebbianIndex.open(tmp_path / "index") as other,
    ):
        before = index.recall(QUESTION).generation
        other.add([corpus[0].model_copy(update={"text": "The Petrel sank."})])
        after = other.recall(QUESTION).generation
        assert after > before
        with index.parts.derived.reading(at_least=before) as held:
            assert held == before
        with index.parts.derived.reading(at_least=after) as held:
            assert held == after
