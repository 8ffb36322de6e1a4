"""Approximate vector search finds what exact search finds, and keeps nothing that was deleted."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from dump import fresh_build, tables
from ships import ByNumber

import hebbgraph.store.nearest
import hebbgraph.store.vectors
from hebbgraph import HebbianIndex, Settings
from hebbgraph.errors import MissingExtraError

pytest.importorskip("usearch", reason="the extra ann is not installed")

_EMBEDDER = ByNumber(32)
_SETTINGS = Settings(approximate=True, vectors=1.0, graph=0.0)


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hebbgraph.store.vectors, "_FEW", 100)
    monkeypatch.setattr(hebbgraph.store.nearest, "_FEWEST", 100)


def _open(path: Path, **settings: Any) -> HebbianIndex:
    return HebbianIndex.open(
        path, embedder=_EMBEDDER, settings=_SETTINGS.model_copy(update=settings)
    )


def _add(index: HebbianIndex, start: int, stop: int) -> None:
    index.add({"id": f"c{n}", "text": f"ship {n}"} for n in range(start, stop))


def _found(index: HebbianIndex, number: int) -> list[tuple[str, float]]:
    hits = index.recall("?", vector=_EMBEDDER.vector(str(number)), k=10)
    return [(hit.id, hit.score) for hit in hits]


def _file(path: Path) -> Path:
    (file,) = path.glob("*.nearest")
    return file


def test_nearly_all_of_the_nearest_are_found(tmp_path: Path) -> None:
    with _open(tmp_path) as index, _open(tmp_path, approximate=False) as exact:
        _add(index, 0, 3000)
        index.delete([f"c{n}" for n in range(0, 3000, 7)])
        shares = []
        for n in range(0, 3000, 50):
            near, wanted = (dict(_found(one, n)) for one in (index, exact))
            shares.append(len(near.keys() & wanted.keys()) / 10)
        assert np.mean(shares) > 0.97
        assert index._vectors._near is not None
        for n in range(0, 60, 7):  # with a filter it is exact
            where = {"$id": {"$in": [f"c{m}" for m in range(n, n + 500)]}}
            vector = _EMBEDDER.vector(str(n))
            hits = [one.recall("?", vector=vector, where=where).hits for one in (index, exact)]
            assert hits[0] == hits[1]
        _add(index, 3000, 3200)
        assert _found(index, 3199)[0][0] == "c3199"
        assert index.doctor() == []
        with fresh_build(index) as fresh:  # what it finds may differ, what it holds may not
            assert tables(index) == tables(fresh)


def test_vectors_that_its_file_does_not_know_are_found(tmp_path: Path) -> None:
    with _open(tmp_path) as reader, _open(tmp_path) as index:
        _add(index, 0, 500)
        assert _found(reader, 77)[0][0] == "c77"
        _add(index, 500, 520)  # few, so its file is not written
        _file(tmp_path).unlink()
        with _open(tmp_path) as other:
            for n in (3, 510):
                assert {_found(one, n)[0][0] for one in (reader, index, other)} == {f"c{n}"}
        _add(index, 520, 900)
        assert {_found(one, 899)[0][0] for one in (reader, index)} == {"c899"}
        assert _file(tmp_path).exists()


def test_deleted_vector_is_in_no_file(tmp_path: Path) -> None:
    with _open(tmp_path) as index:
        _add(index, 0, 500)
        file, nearest = _file(tmp_path), hebbgraph.store.nearest
        held = nearest._read(file, 32)
        row = index._database
        with row.read() as session:
            sql = "SELECT stamp FROM $embedding JOIN $chunk USING (row) WHERE id = 'c7'"
            ((stamp,),) = session.rows(sql)
        trace = np.asarray(held.get(stamp), np.int8).tobytes()
        assert trace in file.read_bytes()
        index.delete("c7")
        assert trace not in file.read_bytes()
        assert "c7" not in dict(_found(index, 7))
        assert len(nearest._read(file, 32)) == 499


@pytest.mark.parametrize("content", [b"", b"x" * 5000])
def test_damaged_file_is_made_again(tmp_path: Path, content: bytes) -> None:
    with _open(tmp_path) as index:
        _add(index, 0, 500)
    _file(tmp_path).write_bytes(content)
    with _open(tmp_path) as index:
        assert _found(index, 7)[0][0] == "c7"
        _add(index, 500, 501)
    assert _file(tmp_path).stat().st_size > 10_000


def test_library_that_is_missing_is_named(tmp_path: Path) -> None:
    with _open(tmp_path) as index:
        _add(index, 0, 500)
    with (
        patch.dict(sys.modules, {"usearch.index": None}),
        _open(tmp_path) as index,
        pytest.raises(MissingExtraError, match=r"hebbgraph\[ann\]"),
    ):
        _found(index, 7)


def test_a_new_index_with_another_model_takes_no_file_of_the_former(tmp_path: Path) -> None:
    for size in (32, 16):
        with HebbianIndex.open(
            tmp_path / "index", embedder=ByNumber(size), settings=_SETTINGS, cache_dir=tmp_path
        ) as index:
            _add(index, 0, 200)
            assert index.recall("ship 7", k=1)[0].id == "c7"
        assert _file(tmp_path)
        shutil.rmtree(tmp_path / "index")
