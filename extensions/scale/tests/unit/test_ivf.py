from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hebbgraph_scale import ivf as module
from hebbgraph_scale.ivf import InvertedListSearch

STAMP = {"revision": 1, "epoch": 1}


def _unit(rng: np.random.Generator, n: int, dimension: int) -> NDArray[np.float32]:
    # Skewed, as embeddings are: some directions say more than others.
    vectors = rng.standard_normal((n, dimension)) * np.geomspace(1.0, 0.05, dimension)
    unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype("f4")
    return unit


def _unused(at: NDArray[np.integer]) -> NDArray[np.float32]:  # type: ignore[type-arg]
    raise AssertionError("it asks for no cosines")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FEW", 50)
    monkeypatch.setattr(module, "_CODES", 1000)


@pytest.mark.parametrize("share", [1.0, 0.6, 0.1])
def test_it_names_nearly_all_of_the_nearest_of_those_allowed(share: float) -> None:
    rng = np.random.default_rng(5)
    vectors = _unit(rng, 3000, 96)
    found = InvertedListSearch(vectors[:1000])
    found.extend(vectors[1000:1001])
    found.extend(vectors[1001:])
    assert len(found) == 3000
    assert found.n_fitted == 31**2
    allowed = rng.random(3000) < share
    hits = 0
    for query in _unit(rng, 10, 96):
        named = found.candidates(query, 20, allowed, _unused)
        assert allowed[named].all()
        assert (np.diff(named) > 0).all()
        assert len(named) == 60
        cosines = np.where(allowed, vectors @ query, -2.0)
        hits += len(np.intersect1d(np.argsort(-cosines)[:10], named))
        assert found.candidates(query, 20, allowed, _unused).tolist() == named.tolist()
    assert hits >= 90


def test_few_that_are_allowed_are_all_named() -> None:
    vectors = _unit(np.random.default_rng(6), 1000, 96)
    allowed = np.arange(1000) % 25 == 3
    named = InvertedListSearch(vectors).candidates(vectors[0], 10, allowed, _unused)
    assert named.tolist() == list(range(3, 1000, 25))


def test_more_lists_are_looked_into_until_enough_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those allowed lie on the other side of the sphere, in the last lists of all."""
    monkeypatch.setattr(module, "_CODES", 1)
    rng = np.random.default_rng(7)
    near = _unit(rng, 900, 32) * 0.1 + np.eye(32, dtype=np.float32)[0]
    far = _unit(rng, 100, 32) * 0.1 - np.eye(32, dtype=np.float32)[0]
    vectors = np.concatenate((near, far)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    allowed = np.arange(1000) >= 900
    named = InvertedListSearch(vectors).candidates(vectors[0], 10, allowed, _unused)
    assert len(named) >= 10
    assert allowed[named].all()


def test_vectors_that_are_all_the_same_are_no_trouble() -> None:
    vectors = np.tile(np.eye(1, 32, dtype=np.float32), (500, 1))
    named = InvertedListSearch(vectors).candidates(vectors[0], 10, np.ones(500, np.bool_), _unused)
    assert len(named) >= 10


def _fits(facts: dict[str, Any]) -> bool:
    return all(facts[name] == value for name, value in STAMP.items())


def test_it_is_read_back_for_the_same_vectors_alone(tmp_path: Path) -> None:
    vectors = _unit(np.random.default_rng(8), 600, 32)
    rows = np.arange(600) * 3
    made = InvertedListSearch(vectors[:500])
    made.save(tmp_path, STAMP, rows[:500])
    held = InvertedListSearch.load(tmp_path, 32, _fits, rows)
    assert held is not None
    assert (len(held), held.n_fitted) == (500, made.n_fitted)
    for lists in (made, held):
        lists.extend(vectors[500:])
    allowed = np.arange(600) % 2 == 0
    for query in vectors[:5]:
        expected = made.candidates(query, 10, allowed, _unused)
        assert held.candidates(query, 10, allowed, _unused).tolist() == expected.tolist()
    others = np.delete(rows, 7)  # a chunk was deleted, and the table compacted
    assert InvertedListSearch.load(tmp_path, 32, _fits, others) is None
    assert InvertedListSearch.load(tmp_path, 32, _fits, rows[:400]) is None
    assert InvertedListSearch.load(tmp_path, 32, lambda facts: facts["epoch"] == 2, rows) is None
    assert InvertedListSearch.load(tmp_path, 64, _fits, rows) is None
    assert InvertedListSearch.load(tmp_path / "nowhere", 32, _fits, rows) is None


@pytest.mark.parametrize("damage", ["torn", "changed", "manifest"])
def test_a_damaged_file_is_passed_over(damage: str, tmp_path: Path) -> None:
    InvertedListSearch(_unit(np.random.default_rng(9), 500, 32)).save(
        tmp_path, STAMP, np.arange(500)
    )
    path = tmp_path / "vectors.ivf"
    content = path.read_bytes()
    if damage == "torn":
        path.write_bytes(content[:1000])
    elif damage == "changed":
        path.write_bytes(content[:1000] + b"\xff" + content[1001:])
    else:
        path.with_name("vectors.ivf.manifest.json").write_bytes(b"\x00")
    assert InvertedListSearch.load(tmp_path, 32, _fits, np.arange(500)) is None
