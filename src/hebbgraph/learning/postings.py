"""Which past queries have which feature, and how much of it; most may come from a snapshot."""

from __future__ import annotations

from array import array
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray, prefix_sums

__all__ = ["Posting", "Postings"]

#: Merged postings that are held, at most.
_MOST_HELD = 65_536

Posting: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]
"""The past queries that have a feature, ascending, and the share of each that it makes up."""


class Postings:
    """An inverted index of past queries.

    Parameters
    ----------
    starts, whose, shares : ndarray, optional
        Of :meth:`arrays`.

    Examples
    --------
    >>> features, shares = np.array([0, 1, 1]), np.array([0.6, 0.8, 1.0])
    >>> postings = Postings(*Postings.arrays(features, np.array([0, 2, 3]), shares, 2))
    >>> postings.append(1, 2, 0.5)
    >>> [column.tolist() for column in postings.of(1)]
    [[0, 1, 2], [0.8, 1.0, 0.5]]
    >>> postings.of(7)[0].tolist()
    []
    """

    def __init__(
        self,
        starts: NDArray[np.int64] | None = None,
        whose: NDArray[np.int64] | None = None,
        shares: NDArray[np.float64] | None = None,
    ) -> None:
        self._starts: NDArray[np.int64] = np.zeros(1, np.int64) if starts is None else starts
        self._whose: NDArray[np.int64] = np.empty(0, np.int64) if whose is None else whose
        self._shares: NDArray[np.float64] = np.empty(0) if shares is None else shares
        self._added: dict[int, tuple[array[int], array[float]]] = {}
        self._held: dict[int, Posting] = {}

    @staticmethod
    def arrays(
        features: IntArray, ends: IntArray, shares: FloatArray, n_features: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return starts, queries and shares, of which postings can be made again.

        Parameters
        ----------
        features : ndarray of int, shape (n,)
            Those of all past queries, one query after the other.
        ends : ndarray of int, shape (n_queries + 1,)
            Where each query's features begin, and where the last one's end.
        shares : ndarray of float, shape (n,)
        n_features : int
        """
        order = features.argsort(kind="stable")
        whose = np.arange(len(ends) - 1).repeat(np.diff(ends))[order]
        starts = prefix_sums(np.bincount(features, minlength=n_features))
        return starts, whose.astype(np.int64), shares[order].astype(np.float64)

    def append(self, feature: int, whose: int, share: float) -> None:
        """Add a past query to those that have a feature; it comes after all others."""
        added = self._added.setdefault(feature, (array("q"), array("d")))
        added[0].append(whose)
        added[1].append(share)
        self._held.pop(feature, None)

    def of(self, feature: int) -> Posting:
        """Return all past queries that have a feature."""
        if (held := self._held.get(feature)) is not None:
            return held
        if feature + 1 < len(self._starts):
            start, stop = self._starts[feature : feature + 2].tolist()
        else:
            start = stop = 0
        whose, shares = self._whose[start:stop], self._shares[start:stop]
        if (added := self._added.get(feature)) is not None:
            whose = np.concatenate((whose, np.array(added[0], np.int64)))
            shares = np.concatenate((shares, np.array(added[1], np.float64)))
        if len(self._held) >= _MOST_HELD:
            self._held.clear()
        self._held[feature] = whose, shares
        return whose, shares
