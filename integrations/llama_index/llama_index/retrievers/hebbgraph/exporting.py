"""Exports a hebbgraph index to a LlamaIndex PropertyGraphStore."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

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


def export_property_graph(
    index: HebbianIndex,
    store: PropertyGraphStore,
    *,
    min_weight: int = 2,
) -> tuple[int, int]:
    """Write chunks, tags and the edges between them to a property graph.

    Each chunk becomes a text chunk with its metadata. Each tag becomes an entity with the label
    ``tag``, or ``address`` for the target of links, and the property ``df``, the number of its
    chunks. A chunk ``MENTIONS`` its tags, or is ``TITLED`` by one; tags ``CO_OCCUR`` with
    ``weight``, the number of chunks that hold both.

    Parameters
    ----------
    index : HebbianIndex
        What is read.
    store : PropertyGraphStore
        A ``SimplePropertyGraphStore``, Neo4j, ... Entries with the same ids are replaced, nothing
        is deleted.
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
    ...     export_property_graph(index, SimplePropertyGraphStore())
    (4, 5)
    """
    if not isinstance(store, PropertyGraphStore):
        raise ParameterError(f"store is a PropertyGraphStore, got {type(store).__name__}")
    incidence, tags = index.inspect.to_networkx("incidence"), index.inspect.to_networkx("tags")
    ids = index.ids()
    _in_batches(ids, lambda batch: store.upsert_llama_nodes(_nodes(index, batch)))
    entities = _entities(incidence, tags, set(ids))
    _in_batches([*entities.values()], store.upsert_nodes)
    relations = [*_mentions(incidence, entities), *_co_occurrences(tags, min_weight, entities)]
    _in_batches(relations, store.upsert_relations)
    return len(ids) + len(entities), len(relations)


def _in_batches(values: Sequence[Any], write: Callable[[list[Any]], object]) -> None:
    for start in range(0, len(values), _BATCH):
        write(list(values[start : start + _BATCH]))


def _nodes(index: HebbianIndex, ids: list[str]) -> list[Any]:
    return [chunk_to_node(chunk) for chunk in index.get(ids)]


def _entities(incidence: Any, tags: Any, chunk_ids: set[str]) -> dict[str, EntityNode]:
    """Make an entity of each tag. Its name is its id, so it must not be a chunk's id."""
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
    for left, right, edge in sorted(incidence.edges(data=True), key=lambda edge: edge[:2]):
        chunk, tag = (left, right) if left.startswith("chunk:") else (right, left)
        id_ = incidence.nodes[chunk]["label"]
        yield Relation(
            label="TITLED" if edge["is_title"] else "MENTIONS",
            source_id=id_,
            target_id=entities[incidence.nodes[tag]["label"]].id,
            properties={TRIPLET_SOURCE_KEY: id_},
        )


def _co_occurrences(
    tags: Any, min_weight: int, entities: Mapping[str, EntityNode]
) -> Iterator[Relation]:
    for left, right in sorted(sorted(edge) for edge in tags.edges):
        weight = tags.edges[left, right]["weight"]
        if weight >= min_weight:
            source = entities[left].properties[TRIPLET_SOURCE_KEY]
            yield Relation(
                label="CO_OCCUR",
                source_id=entities[left].id,
                target_id=entities[right].id,
                properties={"weight": weight, TRIPLET_SOURCE_KEY: source},
            )
