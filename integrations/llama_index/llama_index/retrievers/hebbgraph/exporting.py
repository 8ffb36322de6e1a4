"""A hebbgraph index into a PropertyGraphStore of LlamaIndex."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from llama_index.core.graph_stores.types import (
    TRIPLET_SOURCE_KEY,
    EntityNode,
    PropertyGraphStore,
    Relation,
)

from hebbgraph import HebbianIndex, ParameterError
from hebbgraph.graph.references import ADDRESS
from llama_index.retrievers.hebbgraph.nodes import chunk_to_node

__all__ = ["export_property_graph"]

_BATCH = 1000
_T = TypeVar("_T")


def export_property_graph(
    index: HebbianIndex,
    store: PropertyGraphStore,
    *,
    min_weight: int = 2,
) -> tuple[int, int]:
    """Write chunks, tags and the edges between them into a property graph.

    Each chunk becomes a text chunk with its metadata, each tag an entity (label ``tag``, or
    ``address`` for what links lead to; property ``df``: the number of its chunks). A chunk
    ``MENTIONS`` its tags, or is ``TITLED`` by one; tags ``CO_OCCUR`` with ``weight``, the number
    of chunks that hold both.

    Parameters
    ----------
    index : HebbianIndex
        What is read.
    store : PropertyGraphStore
        What is written to: a ``SimplePropertyGraphStore``, Neo4j, ... What it holds under the
        same ids is replaced, and nothing is deleted.
    min_weight : int
        Tags that occur together in fewer chunks are not joined.

    Returns
    -------
    (int, int)
        How many nodes and how many relations were written.

    Examples
    --------
    >>> from llama_index.core.graph_stores import SimplePropertyGraphStore
    >>> with HebbianIndex.open(":memory:") as index:
    ...     report = index.add([
    ...         {"title": "Petrel", "text": "Ida Moss built the Petrel."},
    ...         {"title": "Ida Moss", "text": "Ida Moss sailed the Petrel."},
    ...     ])
    ...     written = export_property_graph(index, SimplePropertyGraphStore())
    >>> written
    (4, 5)
    """
    if not isinstance(store, PropertyGraphStore):
        raise ParameterError(f"store is a PropertyGraphStore, got {type(store).__name__}")
    incidence, tags = index.inspect.to_networkx("incidence"), index.inspect.to_networkx("tags")
    ids = index.ids()
    for page in _batches(ids):
        store.upsert_llama_nodes([chunk_to_node(chunk) for chunk in index.get(page)])
    entities = _entities(incidence, tags, set(ids))
    for some in _batches([*entities.values()]):
        store.upsert_nodes(some)
    relations = [*_mentions(incidence, entities), *_together(tags, min_weight, entities)]
    for these in _batches(relations):
        store.upsert_relations(these)
    return len(ids) + len(entities), len(relations)


def _entities(incidence: Any, tags: Any, chunk_ids: set[str]) -> dict[str, EntityNode]:
    """Make an entity of each tag; the id of one is its name, which no chunk may have."""
    return {
        phrase: EntityNode(
            name=f"{phrase} (tag)" if phrase in chunk_ids else phrase,
            label="address" if phrase.startswith(ADDRESS) else "tag",
            properties={
                "df": tags.nodes[phrase]["df"],
                TRIPLET_SOURCE_KEY: min(
                    incidence.nodes[chunk]["label"] for chunk in incidence[f"tag:{phrase}"]
                ),
            },
        )
        for phrase in sorted(tags)
    }


def _mentions(incidence: Any, entities: Mapping[str, EntityNode]) -> Iterator[Relation]:
    """Yield the edges between chunks and tags."""
    for one, other, held in sorted(incidence.edges(data=True), key=lambda edge: edge[:2]):
        chunk, tag = (one, other) if one.startswith("chunk:") else (other, one)
        id_ = incidence.nodes[chunk]["label"]
        yield Relation(
            label="TITLED" if held["is_title"] else "MENTIONS",
            source_id=id_,
            target_id=entities[incidence.nodes[tag]["label"]].id,
            properties={TRIPLET_SOURCE_KEY: id_},
        )


def _together(tags: Any, min_weight: int, entities: Mapping[str, EntityNode]) -> Iterator[Relation]:
    """Yield the edges between tags."""
    for one, other in sorted(sorted(edge) for edge in tags.edges):
        weight = tags.edges[one, other]["weight"]
        if weight >= min_weight:
            source = entities[one]
            yield Relation(
                label="CO_OCCUR",
                source_id=source.id,
                target_id=entities[other].id,
                properties={
                    "weight": weight,
                    TRIPLET_SOURCE_KEY: source.properties[TRIPLET_SOURCE_KEY],
                },
            )


def _batches(values: Sequence[_T]) -> Iterator[list[_T]]:
    for start in range(0, len(values), _BATCH):
        yield list(values[start : start + _BATCH])
