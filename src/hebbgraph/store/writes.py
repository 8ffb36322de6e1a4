"""A transaction on the chunks of a namespace, and its outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hebbgraph.records import Chunk
from hebbgraph.store.embeddings import EmbeddingState

__all__ = ["Batch", "ChunkWrite", "Outcome", "OvertakenError", "Standing"]


@dataclass(frozen=True, slots=True)
class ChunkWrite:
    """A chunk to write, with its tag candidates by kind, and its digest if known."""

    chunk: Chunk
    candidates: Mapping[str, Sequence[str]]
    vector: bytes | None = None
    digest: bytes | None = None


class Batch(NamedTuple):
    """The arguments of :meth:`Truth.apply`."""

    writes: Sequence[ChunkWrite]
    ids: Sequence[str]
    documents: Sequence[str]
    fingerprints: Mapping[str, str]
    embedding: EmbeddingState | None
    instead_of: Mapping[str, int] | None
    standing: Standing | None


class Standing(NamedTuple):
    """Ids of chunks, and the rows in which they and their old versions were read."""

    ids: frozenset[str]
    rows: frozenset[int]


class OvertakenError(Exception):
    """Another writer changed versions after they were read, and before the dependent write."""


class Outcome(NamedTuple):
    """How many chunks one transaction added, replaced and deleted."""

    added: int
    replaced: int
    deleted: int
    generation: int
