r"""Exact nearest neighbours from an eighth of the bytes (``pip install "hebbgraph[quantized]"``).

Vectors are rotated onto their principal directions; then about half of the components cover
nine tenths of the squared length. Each component is stored in eight bits. A product of codes
bounds the cosine from above, by Cauchy-Schwarz: with :math:`x = \hat x + e` and
:math:`q = \hat q + d` over the components of a block,

.. math:: q \cdot x \le \hat q \cdot \hat x + |d|\,(|x| + |e|) + |q|\,|e|

and over a block that is not read, :math:`q \cdot x \le |q|\,|x|`. The search reads the leading
block first, then the other block of vectors whose bound is high enough; those that remain are
candidates. So the result equals that of exact search. Of 200,000 vectors like those of
all-MiniLM-L6-v2, about 3 % remain after the first block, a few hundred after the second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numkong
import numpy as np
from hebbgraph.arrays import BoolArray, FloatArray, GrowableArray, IntArray
from numpy.typing import NDArray

from hebbgraph_scale.directions import principal_directions

__all__ = ["QuantizedSearch"]

_SAMPLE = 10_000
#: The share of the squared length that the later components cover.
_LATER = 0.1
_LEAST_LEADING = 32
_BATCH = 10_000
#: Up to this share of allowed vectors, their codes are gathered first.
_FEW = 0.25
_ROUNDING = 1e-5  # of cosines in single precision


class _Block:
    """Some components of every vector, eight bits each."""

    def __init__(self, sample: NDArray[np.float32]) -> None:
        self.step = float(np.abs(sample).max(initial=1e-6)) / 127.0
        self.codes = GrowableArray(np.int8, np.empty((0, sample.shape[1]), np.int8))
        #: Per vector: the length of the rounding error, and of these components.
        self.lost = GrowableArray(np.float32)
        self.length = GrowableArray(np.float32)

    def extend(self, part: NDArray[np.float32]) -> None:
        codes = np.clip(np.rint(part / self.step), -127, 127)
        self.codes.extend(codes)
        self.lost.extend(np.linalg.norm(part - codes * np.float32(self.step), axis=1))
        self.length.extend(np.linalg.norm(part, axis=1))


class _Query:
    """The components of a query that fall in a block."""

    def __init__(self, block: _Block, part: NDArray[np.float32]) -> None:
        step = max(float(np.abs(part).max(initial=0.0)) / 127.0, 1e-12)
        code = np.rint(part / step)
        self.block = block
        self.code = code.astype(np.int8)
        self.factor = np.float32(step * block.step)
        self.off = np.float32(np.linalg.norm(part - code * step))
        self.length = np.float32(np.linalg.norm(part))

    def products(self, at: slice | IntArray) -> NDArray[np.float32]:
        """Estimate what the block adds to each cosine."""
        return _products(self.code, self.block.codes.view[at]) * self.factor

    def slack(self, at: slice | IntArray) -> NDArray[np.float32]:
        """Bound by how much the estimate may be too low."""
        lost = self.block.lost.view[at]
        slack: NDArray[np.float32] = (self.length + self.off) * lost
        slack += self.off * (1.0 if isinstance(at, slice) else self.block.length.view[at])
        return slack


class QuantizedSearch:
    """Eight-bit codes of unit vectors.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n, dimension)
        The rotation is fitted to these, and stays for later vectors.
    """

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        shares, self._rotation = principal_directions(vectors)
        leading = int(np.searchsorted(np.cumsum(shares), 1.0 - _LATER)) + 1
        self._n_leading = min(max(leading, _LEAST_LEADING), vectors.shape[1])
        turned = vectors[:: max(1, len(vectors) // _SAMPLE)] @ self._rotation
        self._leading = _Block(turned[:, : self._n_leading])
        self._later = _Block(turned[:, self._n_leading :])
        self.extend(vectors)

    def __len__(self) -> int:
        return len(self._leading.codes)

    def extend(self, vectors: NDArray[np.float32]) -> None:
        """Add vectors; see :class:`~hebbgraph.protocols.VectorSearch`."""
        for start in range(0, len(vectors), _BATCH):
            turned = vectors[start : start + _BATCH] @ self._rotation
            self._leading.extend(turned[:, : self._n_leading])
            self._later.extend(turned[:, self._n_leading :])

    def candidates(
        self,
        query: NDArray[np.float32],
        limit: int,
        allowed: BoolArray,
        cosines: Callable[[IntArray], FloatArray],
    ) -> NDArray[np.int64]:
        """Return positions that include all of the nearest allowed vectors."""
        n_allowed = int(np.count_nonzero(allowed))
        if n_allowed <= 2 * limit:
            return np.flatnonzero(allowed)
        few = np.flatnonzero(allowed) if n_allowed < _FEW * len(self) else None
        every: slice | IntArray = slice(0, len(self)) if few is None else few
        turned = query @ self._rotation
        leading = _Query(self._leading, turned[: self._n_leading])
        later = _Query(self._later, turned[self._n_leading :])
        estimates = leading.products(every)
        if few is None:
            estimates[~allowed] = -np.inf
        best = np.argpartition(estimates, len(estimates) - 2 * limit)[-2 * limit :]
        known = cosines(best if few is None else few[best])
        # At least ``limit`` vectors are this near; others whose bound is lower are out.
        reached = np.float32(np.partition(known, limit)[limit] - _ROUNDING)
        bound = estimates + leading.slack(every)
        bound += later.length * self._later.length.view[every]
        near = np.flatnonzero(bound >= reached)
        at = near if few is None else few[near]
        if len(at) > 2 * limit and self._n_leading < len(turned):
            closer = estimates[near] + leading.slack(at) + later.slack(at)
            closer += later.products(at)
            at = at[closer >= reached]
        return at


def _products(code: NDArray[np.int8], codes: NDArray[np.int8]) -> NDArray[np.float32]:
    """Multiply a code with each row of others."""
    products: Any = numkong.cdist(code[None, :], codes, "dot", out_dtype="float32")
    result: NDArray[np.float32] = np.asarray(products, dtype=np.float32)[0]
    return result
