"""The namespaces of a server: those of a pool, or one open index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from hebbgraph.errors import NamespaceNotFoundError, ParameterError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.pool import IndexPool

__all__ = ["Indexes"]


class Indexes:
    """Lends indexes by namespace; creates a namespace only to write to it.

    Parameters
    ----------
    source : IndexPool or HebbianIndex
        An open index is served alone. The caller closes either.
    first : str
        The namespace of a pool to open at once and keep open.

    Notes
    -----
    Safe to use from many threads.
    """

    def __init__(self, source: IndexPool | HebbianIndex, first: str = "default") -> None:
        self._pool = source if isinstance(source, IndexPool) else None
        self._open = ExitStack()
        self._first = (
            self._open.enter_context(source.lend(first))
            if isinstance(source, IndexPool)
            else source
        )
        self._known = {self._first.namespace}  # those that exist

    @contextmanager
    def borrowed(self, namespace: str, *, create: bool = False) -> Iterator[HebbianIndex]:
        """Lend the index of a namespace.

        Raises
        ------
        NamespaceNotFoundError
            If there is no such namespace, unless ``create``.
        """
        if namespace not in self._known and not (create and self._pool is not None):
            self._known.update(self.names())
            if namespace not in self._known:
                raise NamespaceNotFoundError.of(namespace)
        if self._pool is None:
            self._first.keep_recalls()
            yield self._first
            return
        with self._pool.lend(namespace) as index:
            index.keep_recalls()
            yield index

    def names(self) -> list[str]:
        """Return the names of all namespaces, sorted."""
        return [self._first.namespace] if self._pool is None else self._first.namespaces()

    def check_spare(self, namespace: str) -> None:
        """Raise ParameterError if the server keeps this namespace open."""
        if namespace == self._first.namespace:
            raise ParameterError(
                f"{namespace!r} is open as long as this server runs; stop it, or start it with "
                "another --namespace"
            )

    def forget(self, namespace: str) -> None:
        """Record that a namespace was deleted."""
        self._known.discard(namespace)

    def check(self) -> None:
        """Raise StorageError if the database cannot be read."""
        self._first.parts.truth.state()

    def close(self) -> None:
        """Return the first index to the pool."""
        self._open.close()
