"""Recalls made by hand."""

from __future__ import annotations

from typing import Any

from hebbgraph import Chunk, Recall
from hebbgraph.citations import Recalled
from hebbgraph.records import Hit


def recalled(name: str, *ids: str, index: Any = None) -> Recalled:
    """Return a recall that found these chunks, best first."""
    hits = tuple(
        Hit(chunk=Chunk(id=id_, text=f"Text of {id_}."), score=1.0 / rank, rank=rank)
        for rank, id_ in enumerate(ids, start=1)
    )
    return Recalled(
        index, Recall(id=name, namespace="default", strategy="spreading", query=name, hits=hits)
    )
