"""Limits on the conversion of one file."""

from __future__ import annotations

from dataclasses import dataclass

from hebbgraph.errors import ParameterError
from hebbgraph.limits import (
    CONVERSION_CHARACTERS,
    CONVERSION_CHUNKS,
    CONVERSION_MEMORY_BYTES,
    CONVERSION_SECONDS,
)

__all__ = ["DEFAULT_LIMITS", "ConversionLimits"]

_LEAST_MEMORY = 100_000_000
"""A worker process takes up to 80 MB for itself and its libraries."""


@dataclass(frozen=True, kw_only=True)
class ConversionLimits:
    """How much one file may cost before hebbgraph gives up on it.

    Parameters
    ----------
    seconds : float
        Wall time of the conversion.
    memory_bytes : int
        Address space of the worker process, including its own 80 MB. Enforced on Linux
        only.
    output_characters : int
        Characters of text. A text no longer than the file always passes.
    chunks : int
        Chunks per file; see :func:`~hebbgraph.documents.ingest`.

    Raises
    ------
    ParameterError
        If a limit is not positive, or ``memory_bytes`` is too low for any file.

    Examples
    --------
    >>> ConversionLimits(seconds=10).seconds
    10
    """

    seconds: float = CONVERSION_SECONDS
    memory_bytes: int = CONVERSION_MEMORY_BYTES
    output_characters: int = CONVERSION_CHARACTERS
    chunks: int = CONVERSION_CHUNKS

    def __post_init__(self) -> None:
        # Timers overflow beyond some 292 years; a day is enough.
        if not 0 < self.seconds <= 86_400:
            raise ParameterError(
                f"seconds must be positive and at most 86,400, got {self.seconds!r}"
            )
        if self.memory_bytes < _LEAST_MEMORY:
            raise ParameterError(
                f"memory_bytes must be at least {_LEAST_MEMORY:,}, got {self.memory_bytes!r}; "
                "the process that converts needs 80 MB for itself"
            )
        if self.output_characters < 1 or self.chunks < 1:
            raise ParameterError(
                "output_characters and chunks must be positive, "
                f"got {self.output_characters!r} and {self.chunks!r}"
            )


DEFAULT_LIMITS = ConversionLimits()
