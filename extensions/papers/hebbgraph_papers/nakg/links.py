"""Which chunks NAKG compares, and which pairs become edges.

Only chunks of one cluster are compared. DBSCAN [1]_ with the paper's constants finds clusters; our
choices where the paper leaves them open: the distance is ``1 - cos``; chunks in no cluster join
the one with the nearest center, as the paper links every chunk; clusters of more than 200 chunks
are bisected by k-means.

References
----------
.. [1] Ester et al. (1996), A density-based algorithm for discovering clusters in large spatial
   databases with noise.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray
from hebbgraph.errors import MissingExtraError

__all__ = ["EXTRA", "cluster_chunks", "members_of", "minimum_links", "select_links"]

#: What to do without torch or scikit-learn.
EXTRA = 'NAKG needs: pip install "hebbgraph-papers[nakg]"'
_EPS, _MIN_SAMPLES, _MAX_CLUSTER, _PAGE = 0.5, 5, 200, 4096
_LINK_SHARE, _MIN_LINKS = 0.3, 2
#: In larger collections the minimal number of links has a cap: a share is quadratic.
_LITERAL_CHUNKS, _LINK_CAP = 2_000, 32


def minimum_links(n: int, n_chunks: int) -> int:
    """Return the minimal number of links of each chunk in a cluster of n.

    ``max(2, 0.3 n)``, rounded up; in collections of more than 2,000 chunks at most 32. The paper's
    N may also mean all documents, but that is quadratic, and the paper claims O(N log N).

    Examples
    --------
    >>> minimum_links(200, 2_000), minimum_links(200, 50_000), minimum_links(5, 50_000)
    (60, 32, 2)
    >>> minimum_links(2, 2_000)
    1
    """
    wanted = max(_MIN_LINKS, math.ceil(round(_LINK_SHARE * n, 9)))
    if n_chunks > _LITERAL_CHUNKS:
        wanted = min(wanted, _LINK_CAP)
    return max(0, min(wanted, n - 1))


def select_links(weights: FloatArray, minimum: int) -> BoolArray:
    """Select the edges of a cluster by dynamic thresholds and a minimal number of links.

    An edge is kept if its weight exceeds the mean of its row by one standard deviation (ours: the
    paper gives no rule), or if it is among the ``minimum`` strongest of its row; ties go to the
    first. No chunk is linked to itself.

    Parameters
    ----------
    weights : ndarray of float, shape (n, n)
        Of the edges i → j; the diagonal is ignored.
    minimum : int, in [0, n - 1]

    Returns
    -------
    ndarray of bool, shape (n, n)

    Examples
    --------
    >>> weights = np.array([[0.0, 0.9, 0.1, 0.2], [0.5, 0.0, 0.5, 0.5],
    ...                     [0.3, 0.2, 0.0, 0.1], [0.1, 0.2, 0.3, 0.0]])
    >>> select_links(weights, 1).astype(int).tolist()
    [[0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]]
    """
    n = len(weights)
    chosen = np.zeros((n, n), np.bool_)
    if n < 2:
        return chosen
    others = ~np.eye(n, dtype=np.bool_)
    rows = weights[others].reshape(n, n - 1)
    keep = rows > rows.mean(axis=1, keepdims=True) + rows.std(axis=1, keepdims=True)
    strongest = np.argsort(-rows, axis=1, kind="stable")[:, :minimum]
    np.put_along_axis(keep, strongest, True, axis=1)
    chosen[others] = keep.ravel()
    return chosen


def members_of(labels: IntArray) -> list[NDArray[np.int64]]:
    """Return the chunks of each cluster, ascending."""
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order])) + 1
    return [part for part in np.split(order, ends) if len(part)]


def cluster_chunks(vectors: FloatArray, *, seed: int = 0) -> NDArray[np.int64]:
    """Return the cluster of each chunk, numbered by their first chunks.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n_chunks, dimension), of unit length
    seed : int
        Of k-means.

    Raises
    ------
    MissingExtraError
        If scikit-learn is not installed.

    Examples
    --------
    >>> angles = np.radians([0, 1, 2, 3, 4, 90, 91, 92, 93, 94, 48])
    >>> cluster_chunks(np.stack([np.cos(angles), np.sin(angles)], axis=1)).tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    >>> angles = np.radians([0, 1, 2, 3, 4, 120, 121, 122, 123, 124, 190])
    >>> cluster_chunks(np.stack([np.cos(angles), np.sin(angles)], axis=1)).tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    """
    try:
        from sklearn.cluster import DBSCAN, KMeans
    except ImportError as error:
        raise MissingExtraError(EXTRA) from error
    if not len(vectors):
        return np.empty(0, np.int64)
    # Of unit vectors |a - b|² = 2 (1 - cos), and Euclidean distance is the fast way.
    dbscan = DBSCAN(eps=math.sqrt(2 * _EPS), min_samples=_MIN_SAMPLES, algorithm="brute")
    labels = np.asarray(dbscan.fit_predict(vectors), np.int64)
    noise = np.flatnonzero(labels < 0)
    if len(noise) == len(labels):
        labels[:] = 0
    elif len(noise):
        dense = [vectors[labels == label].mean(axis=0) for label in range(labels.max() + 1)]
        centers = np.stack([center / (np.linalg.norm(center) or 1.0) for center in dense])
        for page in np.array_split(noise, 1 + len(noise) // _PAGE):
            labels[page] = (vectors[page] @ centers.T).argmax(axis=1)
    done, waiting = [], members_of(labels)
    while waiting:
        members = waiting.pop()
        if len(members) <= _MAX_CLUSTER:
            done.append(members)
            continue
        side, inside = np.arange(len(members)) % 2, vectors[members]
        if not np.allclose(inside, inside[0]):
            side = KMeans(2, n_init=1, max_iter=50, random_state=seed).fit_predict(inside)
        waiting += [members[side == 0], members[side == 1]]
    for number, members in enumerate(sorted(done, key=lambda part: int(part[0]))):
        labels[members] = number
    return labels
