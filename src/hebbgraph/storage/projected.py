r"""Nearest neighbours by what the leading components say (extra ``quantized``).

Vectors are turned so that their first components say most; those that hold three quarters of
the squared length are kept, in eight bits each. The products of these codes name a few
thousand candidates, whose cosines come from whole vectors.

What a product of codes leaves out is :math:`q_r \cdot x_r` over the components that are not
kept: a sum of many small terms of either sign, which seldom lifts a vector far. So almost
all of the nearest are among the candidates, but unlike
:mod:`~hebbgraph.storage.quantized` it gives no bound. The same question gets the same
answer: codes are whole numbers, and no graph or chance is involved. Vectors that a filter
excludes never take a candidate's place.

One bit a component (signs after a random turn) reads half the bytes, but leaves out much
more: of the 200 nearest of 100,000 hard vectors, .78 are among the first 1,000, and .88
among 2,000.

Chosen by name (``Settings(vector_search="projected")``), never because the package
happens to be installed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.storage.codes import multiplier, principal_directions
from hebbgraph.storage.products import highest
from hebbgraph.typing import BoolArray, FloatArray, IntArray

__all__ = ["ProjectedVectors"]

#: The share of the squared length that is kept, and the fewest and a unit of components.
_KEPT = 0.75
_UNIT = 32
_LEAST = 64
#: Vectors whose codes are packed together.
_BLOCK = 1 << 15
_BATCH = 1 << 13
#: Whole vectors are looked at for so many candidates a wanted one, and one in so many.
_CANDIDATES = 15
_ONE_IN = 250
#: Up to so many times that many allowed vectors, all of them are looked at.
_FEW = 2
_LOWEST = np.iinfo(np.int32).min


class ProjectedVectors:
    """Eight-bit codes of the leading components of vectors.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n, dimension)
        The first vectors; the turn is fitted to them, and holds for all that follow.

    Raises
    ------
    MissingExtraError
        If numkong, which multiplies the codes, is not installed.
    """

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self._library = multiplier("projected")
        shares, directions = principal_directions(vectors)
        enough = int(np.searchsorted(np.cumsum(shares), _KEPT)) + 1
        kept = min(max(-(-enough // _UNIT) * _UNIT, _LEAST), vectors.shape[1])
        self._turn = np.ascontiguousarray(directions[:, :kept])
        sample = vectors[:: max(1, len(vectors) // _BATCH)] @ self._turn
        self._step = np.float32(max(float(np.abs(sample).max(initial=0.0)), 1e-6) / 127.0)
        self._packed: list[Any] = []
        #: The codes of the last block, which is packed again when it grows.
        self._last = np.empty((0, kept), np.int8)
        self._size = 0
        self.extend(vectors)

    def __len__(self) -> int:
        return self._size

    def extend(self, vectors: NDArray[np.float32]) -> None:
        """Add vectors."""
        done = 0
        while done < len(vectors):
            if len(self._last) == _BLOCK:
                self._last = self._last[:0]
            elif len(self._last):
                self._packed.pop()
            part = vectors[done : done + _BLOCK - len(self._last)]
            batches = [
                self._code(part[start : start + _BATCH] @ self._turn)
                for start in range(0, len(part), _BATCH)
            ]
            self._last = np.concatenate((self._last, *batches))
            self._packed.append(self._library.dots_pack(self._last))
            done += len(part)
        self._size += len(vectors)

    def _code(self, turned: NDArray[np.float32]) -> NDArray[np.int8]:
        code: NDArray[np.int8] = np.clip(np.rint(turned / self._step), -127, 127).astype(np.int8)
        return code

    def may_be_nearest(
        self,
        query: NDArray[np.float32],
        limit: int,
        allowed: BoolArray,
        cosines: Callable[[IntArray], FloatArray],
    ) -> NDArray[np.int64]:
        """Return positions that hold almost all of the nearest; see :class:`.codes.Codes`.

        It does not ask for cosines.
        """
        wanted = max(_CANDIDATES * limit, self._size // _ONE_IN)
        n_allowed = int(np.count_nonzero(allowed))
        if n_allowed <= _FEW * wanted:
            return np.flatnonzero(allowed)
        turned = query @ self._turn
        scale = max(float(np.abs(turned).max(initial=0.0)), 1e-12) / 127.0
        code = np.rint(turned / scale).astype(np.int8)[None, :]
        about = np.concatenate(
            [np.asarray(self._library.dots_packed(code, block))[0] for block in self._packed]
        )
        if n_allowed < self._size:
            about[~allowed] = _LOWEST
        return np.sort(highest(about, wanted))
