"""The exceptions that hebbgraph raises deliberately.

Each also inherits from the builtin that a caller would expect to catch. A message says what
arrived, what fits and what to do.
"""

from __future__ import annotations


class HebbgraphError(Exception):
    """Base class of all exceptions that hebbgraph raises deliberately."""


class ParameterError(HebbgraphError, ValueError):
    """An argument lies outside its range or has the wrong type."""


class InvalidChunkError(HebbgraphError, ValueError):
    """A chunk's text, id, tags or metadata is invalid and cannot be stored."""


class FilterError(HebbgraphError, ValueError):
    """A metadata filter is invalid."""


class LessonError(HebbgraphError, ValueError):
    """A lesson names chunks that its recall did not show, or belongs to another index."""


class NotFoundError(HebbgraphError, LookupError):
    """The index does not hold this id or namespace."""


class ConversionError(HebbgraphError, ValueError):
    """The text of a file cannot be extracted."""


class EmbeddingError(HebbgraphError, RuntimeError):
    """An embedder raised, or did not return one finite vector for each text."""


class TaggingError(HebbgraphError, RuntimeError):
    """A tagger raised, or returned something other than tags."""


class MissingExtraError(HebbgraphError, ImportError):
    """An optional dependency is not installed; the message names the extra."""


class ClosedIndexError(HebbgraphError, RuntimeError):
    """The index has been closed."""


class StorageError(HebbgraphError, OSError):
    """The database of the index cannot be used."""


class NotAnIndexError(StorageError):
    """The path holds something else, or an index built by other rules."""


class DamagedIndexError(StorageError):
    """The database is unreadable, or contradicts itself."""


class ReadOnlyIndexError(StorageError):
    """The index is readable but not writable."""


class IndexBusyError(StorageError):
    """Another writer, or a long reader, locked the database for longer than ``Settings.wait``."""


class DiskFullError(StorageError):
    """No space is left on the device that holds the index."""


class ConnectionLostError(StorageError):
    """The database server cannot be reached, or the connection broke."""


def check_whole(value: object, name: str, most: int = 2**31 - 1) -> int:
    """Return a whole number of at least 1; raise ParameterError for anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise ParameterError(f"{name} is a whole number from 1 to {most}, got {value!r:.80}")
    return value


def check_share(value: object, name: str) -> None:
    """Raise ParameterError unless a value is a number from 0 to 1, or None."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    if value is not None and not is_number:
        raise ParameterError(f"{name} is a number from 0 to 1, got {value!r:.80}")


def brief(error: BaseException) -> str:
    """Return the type and the message of an error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
