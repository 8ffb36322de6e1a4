"""Tags and their neighbourhoods, with the names of chunks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.formulas.adjacency import LinkKind
from hebbgraph.inspect.neighborhood import neighborhood, tags_named, tags_of_chunk
from hebbgraph.inspection import Neighborhood, TagCount
from hebbgraph.namespace import Namespace
from hebbgraph.text import display, phrase_key

__all__ = ["find_tags", "tags_around"]

_MOST_NODES = 2_000
_MOST_TAGS = 10_000


def find_tags(
    namespace: Namespace, containing: str, chunk: str | None, limit: int
) -> list[TagCount]:
    """See :meth:`hebbgraph.HebbianIndex.tags`."""
    if not isinstance(containing, str):
        raise ParameterError(f"containing is a str, got {containing!r:.80}")
    _check_limit(limit, _MOST_TAGS)
    if chunk is not None and containing:
        raise ParameterError("tags takes containing or chunk, not both")
    with namespace.held():
        graph = namespace.derived.graph
        if chunk is None:
            return tags_named(graph, containing, limit)
        rows = namespace.truth.rows_of([chunk])
        slots = graph.slots_of(np.array([*rows.values()], np.int64))
        if not len(slots):
            raise NotFoundError(f"the index holds no chunk {chunk!r}")
        return tags_of_chunk(graph, int(slots[0]), limit)


def tags_around(namespace: Namespace, tag: str, limit: int) -> Neighborhood:
    """See :meth:`hebbgraph.HebbianIndex.neighborhood`."""
    if not isinstance(tag, str):
        raise ParameterError(f"a tag is a str, got {tag!r:.80}")
    _check_limit(limit, _MOST_NODES)
    truth = namespace.truth

    def titles(rows: list[int]) -> Mapping[int, tuple[str, str]]:
        held = truth.outlines(rows)
        return {row: (one.chunk.id, one.chunk.title) for row, one in held.items()}

    with namespace.held():
        graph = namespace.derived.graph
        number = graph.phrases.number(phrase_key(tag))
        wanted = np.array([] if number is None else [number], np.int64)
        wanted = wanted[(graph.df(wanted) > 0) & (graph.link_kinds(wanted) == LinkKind.PHRASE)]
        if not len(wanted):
            near = [one.tag for one in tags_named(graph, tag, 3)]
            hint = f"; there are {', '.join(map(repr, near))}" if near else ""
            raise NotFoundError(f"no chunk holds the tag {display(phrase_key(tag) or tag)!r}{hint}")
        return neighborhood(
            graph,
            int(wanted[0]),
            limit,
            hub_cut=namespace.settings.spreading().hub_cut(graph.n_chunks),
            titles=titles,
            colony=namespace.colonies.last_by_slot(graph),
        )


def _check_limit(limit: int, most: int) -> None:
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= most:
        raise ParameterError(f"limit lies in 1 to {most}, got {limit!r}")
