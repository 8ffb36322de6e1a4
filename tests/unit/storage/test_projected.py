from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from hebbgraph.errors import MissingExtraError
from hebbgraph.storage import projected as module
from hebbgraph.storage.projected import ProjectedVectors


def _unit(rng: np.random.Generator, n: int, dimension: int) -> NDArray[np.float32]:
    # Skewed, as embeddings are: some directions say more than others.
    vectors = rng.standard_normal((n, dimension)) * np.geomspace(1.0, 0.05, dimension)
    unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype("f4")
    return unit


def _unused(at: NDArray[np.integer]) -> NDArray[np.float32]:  # type: ignore[type-arg]
    raise AssertionError("it asks for no cosines")


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_it_names_nearly_all_of_the_nearest_of_those_allowed(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BLOCK", 700)
    rng = np.random.default_rng(5)
    vectors = _unit(rng, 3000, 192)
    found = ProjectedVectors(vectors[:1000])
    for start in (1000, 1100, 2500):  # inside of a block, and over several
        found.extend(vectors[start : {1000: 1100, 1100: 2500, 2500: 3000}[start]])
    assert len(found) == 3000
    allowed = rng.random(3000) < share
    for query in _unit(rng, 5, 192):
        named = found.may_be_nearest(query, 10, allowed, _unused)
        assert allowed[named].all()
        assert (np.diff(named) > 0).all()
        assert len(named) == 150
        cosines = np.where(allowed, vectors @ query, -2.0)
        assert len(np.intersect1d(np.argsort(-cosines)[:10], named)) >= 9
        assert found.may_be_nearest(query, 10, allowed, _unused).tolist() == named.tolist()


def test_few_that_are_allowed_are_all_named() -> None:
    rng = np.random.default_rng(6)
    vectors = _unit(rng, 1000, 96)
    allowed = np.arange(1000) % 10 == 3
    named = ProjectedVectors(vectors).may_be_nearest(vectors[0], 10, allowed, _unused)
    assert named.tolist() == list(range(3, 1000, 10))


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numkong", None)
    with pytest.raises(MissingExtraError, match=r"hebbgraph\[quantized\]"):
        ProjectedVectors(np.eye(4, dtype=np.float32))
