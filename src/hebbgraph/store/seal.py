"""Recalls carry a seal: a keyed hash of what learning reads of them.

A recall may leave the process: as JSON in a browser, in the metadata of a message. What comes
back must not teach about chunks that it never found, so its seal is checked. The key lies in the
database, and who can read that needs no forged recall.
"""

from __future__ import annotations

import hashlib
import hmac
import json

import numpy as np

from hebbgraph.records import Recall

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
        return recall.model_copy(update={"seal": self._of(recall, self._key)})

    def fits(self, recall: Recall) -> bool:
        """Return whether a recall is as it was when it was sealed."""
        if self._key is None or not recall.seal:
            return False
        return hmac.compare_digest(self._of(recall, self._key).encode(), recall.seal.encode())

    def _of(self, recall: Recall, key: bytes) -> str:
        read = [
            recall.id,
            recall.namespace,
            recall.query,
            recall.generation,
            recall.dense_share,
            recall.dense_shift,
            recall.terms,
            [(cue.tag, cue.weight) for cue in recall.cues],
            [(turn.text, turn.weight) for turn in recall.history],
            [
                (
                    hit.chunk.id,
                    hit.rank,
                    hit.hash_of_text,
                    hit.score,
                    hit.evidence,
                    hit.lexical,
                    hit.dense,
                    [(step.kind, step.value) for step in hit.path],
                )
                for hit in recall.hits
            ],
        ]
        found = hashlib.blake2b(json.dumps(read).encode(), key=key, digest_size=_SIZE)
        if recall.vector is not None:
            with np.errstate(over="ignore"):
                found.update(np.asarray(recall.vector, np.float32).tobytes())
        return found.hexdigest()
