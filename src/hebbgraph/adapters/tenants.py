"""Retrievers over one index, or over a pool of which each request names a namespace."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from hebbgraph.arguments import agreed_namespace
from hebbgraph.calling import Closing
from hebbgraph.citations import CLOSING_SECONDS, finish_learning
from hebbgraph.errors import ParameterError

__all__ = ["MultiTenant", "warn_if_new"]

logger = logging.getLogger(__name__)


def warn_if_new(index: Any) -> None:
    """Log a warning if an index that is to be searched is new: its location may be misspelt."""
    if not index.namespaces() and index.parts.database.place != ":memory:":
        logger.warning(
            "%r is new and empty; if it should hold documents, check the location", index
        )


class MultiTenant(Closing, ABC):
    """Finds the index of a request, and refuses one that names no namespace or another one."""

    #: How a request names its namespace, for error messages.
    naming_hint: ClassVar[str]
    #: Whether it has opened its index, and so closes it.
    _owns_index: bool

    @abstractmethod
    def _home(self) -> tuple[Any, Any, str | None]:
        """Return the index, the pool, if any, and the namespace of requests that name none."""

    @abstractmethod
    def _requested_namespace(self) -> str | None:
        """Return the namespace that the current request names."""

    @property
    def pool(self) -> Any:
        """The pool whose namespaces it searches, if ``from_pool`` made it."""
        return self._home()[1]

    def close(self) -> None:
        """Close the index, if this retriever has opened it, once all citations are learned.

        An index that was passed in stays open.
        """
        if self._owns_index:
            finish_learning(CLOSING_SECONDS)
            self._home()[0].close()

    def _whose(self, namespace: str | None) -> str | None:
        """Return the namespace of a call or its request, if anything names it."""
        index, pool, default = self._home()
        if pool is None:
            return str(index.namespace)
        return agreed_namespace(namespace, self._requested_namespace()) or default

    def _index_of(self, namespace: str | None) -> Any:
        """Return the index of the namespace that a call or its request names.

        Raises
        ------
        ParameterError
            If a pool is searched and nothing names a namespace, or if another namespace is named
            than that of the index.
        """
        index, pool, default = self._home()
        named = agreed_namespace(namespace, self._requested_namespace()) or default
        if pool is not None:
            if named is None:
                raise ParameterError(f"the request names no namespace; {self.naming_hint}")
            return pool[named]
        if named not in (None, index.namespace):
            raise ParameterError(
                f"the request names namespace {named!r}, but this retriever searches only "
                f"{index.namespace!r}; make it by from_pool(IndexPool(location))"
            )
        return index
