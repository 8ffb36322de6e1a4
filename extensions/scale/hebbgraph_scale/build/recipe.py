"""What a build is made of and made with, in a form that travels to workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from hebbgraph.ingest import ChunkLike, OnError
from hebbgraph.settings import Settings

__all__ = ["Given", "Partition", "Recipe"]


class Partition(Protocol):
    """Some chunks of a source; it can be pickled, and any worker can read it."""

    @property
    def size(self) -> int:
        """About how much work it is, in a unit that all partitions of a build share."""
        ...

    @property
    def first(self) -> int:
        """The position of its first chunk among all, if that is known, for messages."""
        ...

    def identity(self) -> Any:
        """Return what the content follows from, as JSON: the same identity, the same chunks."""
        ...

    def read(self) -> Iterable[ChunkLike]:
        """Yield the chunks, in order."""
        ...

    def notes(self) -> dict[str, Any]:
        """Return, after reading, what else is to be told, as JSON.

        ``documents`` holds fingerprints by document id, ``files_failed`` pairs of path and reason.
        """
        ...


@dataclass
class Given:
    """Chunks that the caller handed over; ``first`` is the position of the first one.

    Examples
    --------
    >>> list(Given([{"text": "owls"}], first=0, size=1).read())
    [{'text': 'owls'}]
    """

    chunks: list[ChunkLike]
    first: int
    size: int

    def identity(self) -> list[int]:
        """Return which of the chunks they are: such a build has a shelf of its own."""
        return [self.first, len(self.chunks)]

    def read(self) -> Iterator[ChunkLike]:
        """Yield the chunks."""
        yield from self.chunks

    def notes(self) -> dict[str, Any]:
        """Return nothing: chunks in memory have no files."""
        return {}


@dataclass(frozen=True)
class Recipe:
    """How chunks are read, tagged and hashed; the same for all partitions.

    Attributes
    ----------
    settings : Settings
    salt : bytes
        The key of the phrase hashes; drawn once for each build.
    strict : bool
    on_error : {"raise", "skip"}
    embedder : callable, optional
        Makes an embedder in a worker; it can be pickled. None leaves vectors to the driver.
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
