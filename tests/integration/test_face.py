"""What is not used daily is at hand in four rooms, and under its old name until 0.3."""

from __future__ import annotations

import asyncio
import io
import warnings
from collections.abc import Callable

import pytest

from hebbgraph import HebbianIndex
from hebbgraph.hebbian_index import MOVED


@pytest.fixture
def index(make_index: Callable[..., HebbianIndex]) -> HebbianIndex:
    return make_index()


def test_each_room(index: HebbianIndex) -> None:
    recall = index.recall("Who built the Petrel?")
    index.reinforce(recall, cited=["petrel"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert index.tags.find("moss")[0].tag == index.tags.around("ida moss").tag == "ida moss"
        assert index.log.export(io.StringIO()) == 1
        assert index.inspect.trace(recall).hits[0].rank == 1
        assert asyncio.run(index.maintenance.adoctor()).ok
        assert index.explain(recall, "petrel") == index.inspect.explain(recall, "petrel")


@pytest.mark.parametrize("name", sorted(MOVED))
def test_an_old_name_warns_where_it_is_used(index: HebbianIndex, name: str) -> None:
    room, method = MOVED[name]
    with pytest.warns(DeprecationWarning, match=rf"index\.{room}\.{method}") as warned:
        found = index.tags("moss") if name == "tags" else getattr(index, name)
    there = getattr(getattr(index, room), method)
    assert found == (there("moss") if name == "tags" else there)
    assert warned[0].filename == __file__


def test_a_closed_index_has_closed_rooms(index: HebbianIndex) -> None:
    tags = index.tags
    index.close()
    with pytest.raises(RuntimeError, match="closed"):
        tags.find()
