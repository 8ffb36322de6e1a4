"""The namespaces that a server serves: those of a pool, or one open index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from hebbgraph.errors import NamespaceNotFoundError, ParameterError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.pool import IndexPool

__all__ = ["Indexes"]


class Indexes:
    """Lends the indexes of a pool, and creates no namespace unless it is written to.

    Parameters
    ----------
    source : IndexPool or HebbianIndex
        An open index is served alone. Either stays the caller's to close.
    first : str
        The namespace of a pool that is opened at once, and stays open.

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
        self._known = {self._first.namespace}  # those seen to exist

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
        """Return the namespaces that it serves, sorted."""
        return [self._first.namespace] if self._pool is None else self._first.namespaces()

    def check_spare(self, namespace: str) -> None:
        """Raise ParameterError if a namespace must stay: the server holds it open."""
        if namespace == self._first.namespace:
            raise ParameterError(
                f"{namespace!r} is open as long as this server runs; stop it, or start it with "
                "another --namespace"
            )

    def forget(self, namespace: str) -> None:
        """Note that a namespace was deleted."""
        self._known.discard(namespace)

    def check(self) -> None:
        """Raise StorageError if the index does not answer."""
        self._first.parts.truth.state()

    def close(self) -> None:
        """Give back what is borrowed."""
        self._open.close()
