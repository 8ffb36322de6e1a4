"""An index over several directories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from hebbgraph.calling import in_thread
from hebbgraph.errors import ParameterError
from hebbgraph.index import HebbianIndex
from hebbgraph.namespace import Namespace
from hebbgraph.shards.moving import rebalance
from hebbgraph.shards.plan import is_plan, write_plan
from hebbgraph.shards.truth import ShardedTruth
from hebbgraph.writer import OnProgress, progress

__all__ = ["ShardState", "ShardedIndex"]


class ShardState(NamedTuple):
    """One shard of an index.

    Attributes
    ----------
    name : str
    path : Path or None
        Its directory; None if it is served elsewhere.
    chunks : int or None
        Of this namespace; None while it is down.
    problem : str or None
        Why it is down.
    url : str or None
        Where it is served.
    """

    name: str
    path: Path | None
    chunks: int | None
    problem: str | None
    url: str | None = None


class ShardedIndex(HebbianIndex):
    """An index over several directories, here or elsewhere, that ranks as one index does.

    ``HebbianIndex.open("shards.toml")`` opens the same; this class adds what only shards have.
    See ``docs/shards.md``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ShardedIndex.create(f"{folder}/shards.toml", 2) as index:
    ...         report = index.add([
    ...             {"title": "Petrel", "text": "The Petrel was built by Ida Moss."},
    ...             {"title": "Ida Moss", "text": "Ida Moss was born in Tessel Bay."},
    ...         ])
    ...         recall = index.recall("Where was the builder of the Petrel born?", k=2)
    ...         chunks = [shard.chunks for shard in index.shards()]
    >>> [hit.chunk.title for hit in recall.hits], sum(chunks), recall.partial
    (['Petrel', 'Ida Moss'], 2, False)
    """

    def __init__(self, parts: Namespace) -> None:
        if not isinstance(parts.truth, ShardedTruth):
            parts.close()
            raise ParameterError(
                f"{parts.database.place} is one index; a ShardedIndex is opened by its shards.toml"
            )
        self._truth = parts.truth
        super().__init__(parts)

    @classmethod
    def create(
        cls,
        location: str | Path,
        shards: int | Sequence[str | Path],
        *,
        token_env: str | None = None,
        **options: Any,
    ) -> Self:
        """Write ``shards.toml`` and open it.

        Parameters
        ----------
        location : str or Path
            Of the file, which ends in ``.toml`` and must not exist.
        shards : int or sequence of paths
            How many directories beside the file, or which directories, and URLs of shards that
            are served.
        token_env : str, optional
            The environment variable with the token for those behind a URL.
        **options
            As for :meth:`HebbianIndex.open`.
        """
        file = Path(location)
        if not is_plan(file):
            raise ParameterError(f"the file of shards ends in .toml, got {str(location)!r}")
        if file.exists():
            raise ParameterError(f"{file} is there already; open it, or add [[shard]] entries")
        write_plan(file, shards, token_env=token_env)
        return cls.open(file, **options)

    def shards(self) -> list[ShardState]:
        """Return the shards, and which of them are down."""
        self._check_open()
        self._truth.state()  # asks each
        return [
            ShardState(
                shard.name,
                shard.place.path,
                shard.truth.count() if shard.is_up else None,
                shard.problem,
                shard.place.url,
            )
            for shard in self._truth.shards
        ]

    def rebalance(self, *, show_progress: bool = False, on_progress: OnProgress = None) -> int:
        """Move documents to where new ones of their names would go; return how many chunks moved.

        After a shard was added to the file, this fills it. The index can be asked and written to
        meanwhile. As after any delete, BM25 counts what has moved twice until :meth:`compact`;
        then the ranking is that of before. A call that was interrupted is finished by the next
        one.

        Raises
        ------
        ShardDownError
            If a shard is down.
        """
        self._check_open()
        self._truth.state()
        with progress(show_progress, on_progress) as tell:
            moved = rebalance(self._truth, lambda moved: tell(moved, None))
        self._parts.bring_up_to_date()
        return moved

    ashards = in_thread(shards)
    arebalance = in_thread(rebalance)
