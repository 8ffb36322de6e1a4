from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from hebbgraph import FilterError
from llama_index.retrievers.hebbgraph import HebbianRetriever, HebbianVectorStore
from llama_index.retrievers.hebbgraph.filters import to_where

METADATA: dict[str, dict[str, Any]] = {
    "a": {"year": 1889, "kind": "ship", "crew": ["moss", "reve"], "note": "Tall Masts"},
    "b": {"year": 1920, "kind": "harbour", "crew": [], "note": ""},
    "c": {"year": 1950, "kind": "ship", "a.b": 1},
    "d": {},
}
ONE = MetadataFilter
CASES = [
    (ONE(key="kind", value="ship"), "ac"),
    (ONE(key="year", value=1920, operator="=="), "b"),
    (ONE(key="kind", value="ship", operator="!="), "bd"),
    (ONE(key="year", value=1900, operator=">"), "bc"),
    (ONE(key="year", value=1920, operator=">="), "bc"),
    (ONE(key="year", value=1900, operator="<"), "a"),
    (ONE(key="year", value=1889.0, operator="<="), "a"),
    (ONE(key="kind", value=["ship", "inn"], operator="in"), "ac"),
    (ONE(key="kind", value=["ship"], operator="nin"), "bd"),
    (ONE(key="crew", value=["moss", "ida"], operator="any"), "a"),
    (ONE(key="crew", value=["moss", "reve"], operator="all"), "a"),
    (ONE(key="crew", value="reve", operator="contains"), "a"),
    (ONE(key="note", value="Mast", operator="text_match"), "a"),
    (ONE(key="note", value="mast", operator="text_match_insensitive"), "a"),
    (ONE(key="crew", value=None, operator="is_empty"), "bcd"),
    (ONE(key="note", value=None, operator="is_empty"), "bcd"),
    (ONE(key="a.b", value=1), "c"),
]


@pytest.fixture(scope="module")
def store() -> HebbianVectorStore:
    opened = HebbianVectorStore.open(":memory:")
    opened.add([TextNode(id_=id_, text=f"Ship {id_}", metadata=m) for id_, m in METADATA.items()])
    return opened


def passed(store: HebbianVectorStore, filters: MetadataFilters) -> set[str]:
    """By listing and by recall; both must say the same."""
    listed = {node.node_id for node in store.get_nodes(filters=filters)}
    found = HebbianRetriever(store.index, filters=filters).retrieve("Ship")
    assert {node.node_id for node in found} == listed
    return listed


#: LlamaIndex's own evaluation lacked some operators and conditions before.
COMPLETE = tuple(map(int, version("llama-index-core").split(".")[:3])) >= (0, 14, 25)
A_SHIP, AFTER_1900, BEFORE_1900 = CASES[0][0], CASES[3][0], CASES[5][0]


def theirs(filters: MetadataFilters) -> set[str]:
    return set(filter(build_metadata_filter_fn(METADATA.__getitem__, filters), METADATA))


@pytest.mark.parametrize(("one", "expected"), CASES, ids=str)
def test_operators(store: HebbianVectorStore, one: MetadataFilter, expected: str) -> None:
    filters = MetadataFilters(filters=[one])
    assert passed(store, filters) == set(expected)
    if COMPLETE:
        assert theirs(filters) == set(expected)


def test_all_operators_are_tried() -> None:
    assert {one.operator for one, _ in CASES} == set(FilterOperator)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [(FilterCondition.AND, "c"), (FilterCondition.OR, "abc"), (FilterCondition.NOT, "d")],
)
def test_conditions(store: HebbianVectorStore, condition: FilterCondition, expected: str) -> None:
    filters = MetadataFilters(filters=[A_SHIP, AFTER_1900], condition=condition)
    assert passed(store, filters) == set(expected)
    if COMPLETE:
        assert theirs(filters) == set(expected)


def test_nested(store: HebbianVectorStore) -> None:
    old_ships = MetadataFilters(filters=[A_SHIP, BEFORE_1900])
    harbours = MetadataFilters(filters=[ONE(key="kind", value="harbour")], condition="not")
    either = MetadataFilters(filters=[old_ships, CASES[1][0]], condition="or")
    assert passed(store, either) == {"a", "b"}
    assert passed(store, MetadataFilters(filters=[either, harbours])) == {"a"}


def test_empty_filters_pass_all(store: HebbianVectorStore) -> None:
    assert passed(store, MetadataFilters(filters=[])) == set(METADATA)
    inner = MetadataFilters(filters=[], condition="not")
    assert passed(store, MetadataFilters(filters=[inner])) == set(METADATA)


def test_nodes_and_documents() -> None:
    assert to_where(None, node_ids=["a"]) == {"$id": {"$in": ["a"]}}
    assert to_where(None, doc_ids=[], node_ids=None) is None


def test_a_filtered_node_passes_nothing_on(nodes: list[TextNode]) -> None:
    no_moss = MetadataFilters(filters=[ONE(key="title", value="Ida Moss", operator="!=")])
    retriever = HebbianRetriever.from_nodes(nodes, filters=no_moss)
    found = retriever.retrieve("Where was the builder of the Petrel born?")
    assert "moss" not in [node.node_id for node in found]
    retriever.filters = None
    retriever.doc_ids = ["moss.md", "dove.md"]
    assert {node.node_id for node in retriever.retrieve("Moss")} == {"moss", "dove"}
    retriever.node_ids = ["dove"]
    assert {node.node_id for node in retriever.retrieve("Moss")} == {"dove"}


def test_a_filter_that_cannot_be_read(store: HebbianVectorStore) -> None:
    unknown = MetadataFilters(filters=[ONE(key="$near", value="x")])
    with pytest.raises(FilterError, match="near"):
        passed(store, unknown)
