"""The base of ``index.tags``, ``log``, ``inspect`` and ``maintenance``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hebbgraph.index import CoreIndex
    from hebbgraph.namespace import Namespace

__all__ = ["Room"]


class Room:
    """Methods of an index that are not used daily.

    Parameters
    ----------
    index : CoreIndex
    """

    def __init__(self, index: CoreIndex) -> None:
        self._index = index

    def _parts(self) -> Namespace:
        """Return the parts of the index; raise unless it is open and its namespace exists."""
        self._index._check_exists()
        return self._index._parts
