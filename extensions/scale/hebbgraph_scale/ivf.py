r"""Approximate nearest neighbours from inverted lists, by faiss (``pip install "hebbgraph[ivf]"``).

Vectors are divided into :math:`\sqrt n` lists around centres, and a search reads the lists with
the nearest centres [1]_. Lists hold eight-bit codes of the leading components after a rotation
onto the principal directions, which cover nine tenths of the squared length. Products of codes
select a few hundred candidates. A search reads about the same number of codes at any size.

Only the choice of candidates is approximate. Filters apply before candidates are selected, and
the fewer vectors a filter allows, the more lists are read.

References
----------
.. [1] Jégou, Douze, Schmid (2011), Product quantization for nearest neighbor search.
"""

from __future__ import annotations

import contextlib
import logging
import math
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import faiss
import numpy as np
from hebbgraph.arrays import BoolArray, FloatArray, IntArray
from hebbgraph.artifacts import DamagedPartError, remove, replace_file
from hebbgraph.manifest import Manifest
from numpy.typing import NDArray

from hebbgraph_scale.directions import principal_directions

__all__ = ["InvertedListSearch"]

logger = logging.getLogger(__name__)

_FILE = "vectors.ivf"
_MANIFEST, _VERSION = "vectors.ivf.manifest.json", 1
#: The share of the squared length that codes cover; components come in multiples of the unit.
_KEPT = 0.9
_UNIT = 32
#: Vectors per list that centres are fitted to.
_FITTED = 40
#: Codes read in a search without a filter, approximately.
_CODES = 50_000
#: Candidates per wanted vector.
_CANDIDATES = 3
#: Up to this many allowed vectors, all are candidates.
_FEW = 10_000
_BATCH = 1 << 16


class InvertedListSearch:
    """Eight-bit codes of unit vectors in inverted lists.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n, dimension)
        Rotation and centres are fitted to these, and stay for later vectors.
    """

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        #: The mask of the last search, the number that it allows, and its faiss selector.
        self._last_allowed: tuple[BoolArray, int, Any] | None = None
        self._index = self._fitted(vectors)
        self.extend(vectors)

    def _fitted(self, vectors: NDArray[np.float32]) -> Any:
        dimension = vectors.shape[1]
        shares, directions = principal_directions(vectors)
        enough = int(np.searchsorted(np.cumsum(shares), _KEPT)) + 1
        size = min(-(-enough // _UNIT) * _UNIT, dimension)
        rotation = faiss.LinearTransform(dimension, size, False)
        leading = np.ascontiguousarray(directions[:, :size].T)
        faiss.copy_array_to_vector(leading.ravel(), rotation.A)
        rotation.is_trained = True
        n_lists = max(math.isqrt(len(vectors)), 1)
        lists = faiss.IndexIVFScalarQuantizer(
            faiss.IndexFlatIP(size),
            size,
            n_lists,
            faiss.ScalarQuantizer.QT_8bit,
            faiss.METRIC_INNER_PRODUCT,
        )
        lists.cp.min_points_per_centroid = 1  # avoids a printed warning
        index = faiss.IndexPreTransform(rotation, lists)
        sample = vectors[:: max(1, len(vectors) // (_FITTED * n_lists))]
        with _one_thread():
            index.train(np.ascontiguousarray(sample))
        return index

    @property
    def _lists(self) -> Any:
        return faiss.extract_index_ivf(self._index)

    @property
    def n_fitted(self) -> int:
        """The number of vectors that the lists were fitted to, approximately."""
        return int(self._lists.nlist) ** 2

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def extend(self, vectors: NDArray[np.float32]) -> None:
        """Add vectors; see :class:`~hebbgraph.protocols.VectorSearch`."""
        self._last_allowed = None
        with _one_thread():
            for start in range(0, len(vectors), _BATCH):
                self._index.add(np.ascontiguousarray(vectors[start : start + _BATCH]))

    def candidates(
        self,
        query: NDArray[np.float32],
        limit: int,
        allowed: BoolArray,
        cosines: Callable[[IntArray], FloatArray],
    ) -> NDArray[np.int64]:
        """Return positions that include nearly all of the nearest allowed vectors."""
        size, n_lists = len(self), self._lists.nlist
        wanted = _CANDIDATES * limit
        n_allowed, selector = self._selected(allowed)
        if n_allowed <= max(wanted, _FEW):
            return np.flatnonzero(allowed)
        parameters = faiss.SearchParametersIVF()
        if selector is not None:
            parameters.sel = selector
        # With a filter, lists hold fewer candidates, and the nearest lie farther away.
        n_codes = _CODES / math.cbrt(n_allowed / size)
        n_probes = math.ceil(n_codes * n_lists / size)
        while True:
            parameters.nprobe = min(n_probes, n_lists)
            with _one_thread():
                _, positions = self._index.search(
                    query[None, :],
                    wanted,
                    params=faiss.SearchParametersPreTransform(index_params=parameters),
                )
            candidates: NDArray[np.int64] = positions[0][positions[0] >= 0]
            if len(candidates) >= limit or n_probes >= n_lists:
                return np.sort(candidates)
            n_probes *= 4

    def _selected(self, allowed: BoolArray) -> tuple[int, Any]:
        """Return the number allowed, and the faiss selector; None if all are allowed."""
        last = self._last_allowed
        if last is not None and last[0] is allowed and not allowed.flags.writeable:
            return last[1:]
        n_allowed, selector = int(np.count_nonzero(allowed)), None
        if n_allowed < len(self):
            selector = faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
        self._last_allowed = allowed, n_allowed, selector
        return n_allowed, selector

    # -- on disk --------------------------------------------------------------------

    def save(self, directory: Path, facts: dict[str, Any], rows: IntArray) -> None:
        """Write the lists; they hold the vectors of the first of ``rows``."""
        facts = facts | {"n": len(self), "rows": _checksum(rows[: len(self)])}
        remove(directory / _MANIFEST)
        replace_file(directory / _FILE, self._write)
        Manifest.of(facts, [directory / _FILE]).write(directory / _MANIFEST, _VERSION)

    def _write(self, path: Path) -> None:
        try:
            faiss.write_index(self._index, str(path))
        except RuntimeError as error:  # such as a full disk
            raise OSError(f"{path} could not be written: {error}") from error

    @classmethod
    def load(
        cls,
        directory: Path,
        dimension: int,
        fits: Callable[[dict[str, Any]], bool],
        rows: IntArray,
    ) -> Self | None:
        """Read the file of :meth:`save`; None unless it holds the vectors of the first ``rows``.

        ``fits`` checks the other facts. The file lacks vectors added later.
        """
        try:
            manifest = Manifest.read(directory / _MANIFEST, _VERSION)
            if manifest is None:
                return None
            n, expected = manifest.facts["n"], manifest.facts["rows"]
            if n > len(rows) or expected != _checksum(rows[:n]) or not fits(manifest.facts):
                return None
            manifest.check(directory)
            index = faiss.read_index(str(directory / _FILE))
            if (index.ntotal, index.d) != (n, dimension):
                raise ValueError(f"{index.ntotal} vectors of {index.d} numbers")
        except (DamagedPartError, ValueError, RuntimeError) as error:
            logger.warning("%s in %s is damaged (%s): rebuilding", _FILE, directory, error)
            return None
        lists = object.__new__(cls)
        lists._index, lists._last_allowed = index, None
        return lists


def _checksum(rows: IntArray) -> int:
    return zlib.crc32(np.ascontiguousarray(rows, dtype=np.int64).data)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Keep OpenMP from starting threads.

    A process forked later would wait for them forever, and they spin while waiting, which costs
    more than they save on a busy machine.
    """
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
