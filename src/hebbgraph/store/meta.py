"""What a namespace knows of itself: settings, versions, counts, and the change counter."""

from __future__ import annotations

import base64
import json
import time
from typing import Any, NamedTuple

import numpy as np

from hebbgraph.arrays import FloatArray, IntArray
from hebbgraph.store.database import Session

#: One unit of a vector's sum. Whole numbers add up to the same in any order.
VECTOR_UNIT = 2.0**-32


class Counts(NamedTuple):
    """Counts of a namespace."""

    changes: int  # grows with each write; a time, so that histories share none
    chunks: int
    length: int  # of all chunks together, in words
    vectors: int
    vector_sum: IntArray  # of shape (dimension,), in units of 2**-32

    @property
    def mean_length(self) -> float:
        return self.length / max(self.chunks, 1)

    @property
    def mean_vector(self) -> FloatArray:
        """Mean of all vectors, shape (dimension,)."""
        return np.asarray(self.vector_sum * (VECTOR_UNIT / max(self.vectors, 1)), np.float64)


def vector_units(vector: FloatArray) -> IntArray:
    """Return a vector in units of 2**-32, as :attr:`Counts.vector_sum` adds them up."""
    with np.errstate(invalid="ignore"):  # damaged
        return np.rint(vector.astype(np.float64) / VECTOR_UNIT).astype(np.int64)


def read_counts(session: Session) -> Counts:
    """Return the counts of the state that a transaction sees."""
    packed = base64.b64decode(session.meta.get("vector_sum", ""))
    numbers = (int(session.meta.get(name, 0)) for name in Counts._fields[:-1])
    return Counts._make([*numbers, np.frombuffer(packed, "<i8")])


def write_counts(session: Session, counts: Counts) -> None:
    """Store counts, and number the change."""
    before = session.meta
    changes = max(int(before.get("changes", 0)) + 1, time.time_ns() // 1000)
    counts = counts._replace(changes=changes)
    values = {key: str(value) for key, value in counts._asdict().items()}
    values["vector_sum"] = base64.b64encode(counts.vector_sum.astype("<i8").tobytes()).decode()
    write_meta(session, {key: text for key, text in values.items() if before.get(key) != text})


def read_json(session: Session, key: str) -> Any:
    """Return a value that was stored as JSON, or None."""
    text = session.meta.get(key)
    return None if text is None else json.loads(text)


def write_meta(session: Session, values: dict[str, str]) -> None:
    """Store some values."""
    session.many(
        "INSERT INTO $meta(key, value) VALUES (?, ?) "
        "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        list(values.items()),
    )
    session.meta.update(values)
