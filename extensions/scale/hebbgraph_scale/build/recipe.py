"""The input of a build: partitions of chunks, and how workers read them. All can be pickled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from hebbgraph.ingest import ChunkLike, OnError
from hebbgraph.settings import Settings

__all__ = ["ChunkList", "Partition", "Recipe"]


class Partition(Protocol):
    """Some chunks of a source, which any worker can read.

    Attributes
    ----------
    size : int
        The amount of work, in a unit that all partitions of a build share.
    first : int
        The position of the first chunk among all, if known, for messages.
    """

    size: int
    first: int

    def identity(self) -> Any:
        """Return what the content depends on, as JSON: equal identities mean equal chunks."""
        ...

    def read(self) -> Iterable[ChunkLike]:
        """Yield the chunks, in order."""
        ...

    def notes(self) -> dict[str, Any]:
        """Return, after reading, what else there is to report, as JSON.

        ``documents`` holds fingerprints by document id, ``files_failed`` pairs of path and reason.
        """
        return {}


@dataclass
class ChunkList(Partition):
    """Chunks that the caller passed.

    Examples
    --------
    >>> list(ChunkList([{"text": "owls"}], first=0, size=1).read())
    [{'text': 'owls'}]
    """

    chunks: list[ChunkLike]
    first: int
    size: int

    def identity(self) -> list[int]:
        """Return the positions of the chunks; no other build uses the same shelf."""
        return [self.first, len(self.chunks)]

    def read(self) -> Iterator[ChunkLike]:
        """Yield the chunks."""
        yield from self.chunks


@dataclass(frozen=True)
class Recipe:
    """How workers read, tag and hash chunks; the same for all partitions.

    Attributes
    ----------
    settings : Settings
    salt : bytes
        The key of the phrase hashes, drawn for each build.
    strict : bool
    on_error : {"raise", "skip"}
    embedder : callable, optional
        Makes an embedder in a worker. None leaves vectors to the driver.
    """

    settings: Settings
    salt: bytes
    strict: bool = False
    on_error: OnError = "raise"
    embedder: Callable[[], Any] | None = field(default=None, compare=False)

    def identity(self) -> list[Any]:
        """Return what results depend on, as JSON."""
        settings = self.settings
        return [
            settings.build(),
            list(settings.edges),
            list(settings.time_fields or ()),
            list(settings.search_metadata),
            self.salt.hex(),
            self.strict,
            self.on_error,
        ]
