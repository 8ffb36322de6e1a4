"""What one transaction is to do to the chunks of a namespace, and what it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hebbgraph.records import Chunk
from hebbgraph.store.embeddings import EmbeddingState

__all__ = ["Batch", "ChunkWrite", "Outcome", "OvertakenError", "Standing"]


@dataclass(frozen=True, slots=True)
class ChunkWrite:
    """A chunk to write, with its tag candidates by kind, and its digest if that is known."""

    chunk: Chunk
    candidates: Mapping[str, Sequence[str]]
    vector: bytes | None = None
    digest: bytes | None = None


class Batch(NamedTuple):
    """What one transaction is to do; see :meth:`Truth.apply`."""

    writes: Sequence[ChunkWrite]
    ids: Sequence[str]
    documents: Sequence[str]
    fingerprints: Mapping[str, str]
    embedding: EmbeddingState | None
    instead_of: Mapping[str, int] | None
    standing: Standing | None


class Standing(NamedTuple):
    """Chunks by id, and the rows where they and their old versions were read."""

    ids: frozenset[str]
    rows: frozenset[int]


class OvertakenError(Exception):
    """Versions were changed between reading them and writing what follows from them."""


class Outcome(NamedTuple):
    """What one transaction did."""

    added: int
    replaced: int
    deleted: int
    generation: int
