"""Recalls carry a seal: a keyed hash of all but their texts.

A recall may leave the process: as JSON in a browser, in the metadata of a message. What comes
back must not teach about chunks that it never found, so its seal is checked. The key lies in the
database, and who can read that needs no forged recall.
"""

from __future__ import annotations

import hashlib
import hmac

import numpy as np

from hebbgraph.records import Recall
from hebbgraph.store.packing import content

__all__ = ["Seal"]

_SIZE = 16


class Seal:
    """Seals recalls, and tells those of the index from others.

    Parameters
    ----------
    key : bytes, optional
        At most 64 bytes. Without one nothing is sealed, and no seal is right.

    Examples
    --------
    >>> seal = Seal(b"secret")
    >>> recall = seal.put(Recall(id="r", namespace="n", strategy="spreading", query="Who?"))
    >>> seal.fits(Recall.model_validate_json(recall.model_dump_json()))
    True
    >>> seal.fits(recall.model_copy(update={"namespace": "another"}))
    False
    """

    def __init__(self, key: bytes | None) -> None:
        self._key = key

    def put(self, recall: Recall) -> Recall:
        """Return the recall with its seal."""
        if self._key is None:
            return recall
        return recall.model_copy(
            update={"seal": self._of(content(recall), recall.vector, self._key)}
        )

    def fits(self, recall: Recall) -> bool:
        """Return whether a recall is as it was when it was sealed."""
        if self._key is None or not recall.seal:
            return False
        seal = self._of(content(recall), recall.vector, self._key)
        return hmac.compare_digest(seal.encode(), recall.seal.encode())

    @staticmethod
    def _of(written: bytes, vector: tuple[float, ...] | None, key: bytes) -> str:
        found = hashlib.blake2b(written, key=key, digest_size=_SIZE)
        if vector is not None:
            with np.errstate(over="ignore"):
                found.update(np.asarray(vector, np.float32).tobytes())
        return found.hexdigest()
