"""The exceptions that hebbgraph raises deliberately.

::

    HebbgraphError
    ├── ParameterError          (ValueError)       an argument outside its range
    ├── InvalidChunkError       (ValueError)       invalid text, id, tags or metadata
    ├── FilterError             (ValueError)       an invalid metadata filter
    ├── SettingsMismatchError   (ValueError)       saved build settings differ from those given
    ├── DatasetError            (ValueError)       an unreadable evaluation set
    ├── FeedbackError           (ValueError)       a citation that cannot be learned from
    ├── NotFoundError           (LookupError)      an id that the index does not hold
    │   └── NamespaceNotFoundError                 a namespace that nothing was written to
    ├── ConversionError         (ValueError)       a file whose text cannot be extracted
    ├── EmbeddingError          (RuntimeError)     an embedder failed or gave no proper vectors
    ├── BuildError              (RuntimeError)     workers of a build died, or cannot go on
    ├── MissingExtraError       (ImportError)      an optional dependency is not installed
    ├── ClosedIndexError        (RuntimeError)     the index has been closed
    ├── AccessError             (PermissionError)  a server refuses: token, role or namespace
    ├── TooManyRequestsError    (RuntimeError)     a server asks to wait
    └── StorageError            (OSError)          the storage of the index fails
        ├── NotAnIndexError                        not an index of hebbgraph
        ├── NewerVersionError                      written by a newer hebbgraph
        ├── DamagedIndexError                      the database is unreadable
        ├── ReadOnlyIndexError                     readable, but not writable
        ├── IndexLockedError                       another writer holds the lock
        ├── DiskFullError                          no space left
        ├── TextSourceError                        an external text store failed
        └── ConnectionLostError                    the database server is unreachable

Each exception also inherits from the builtin that a caller would expect to catch. A message says
what arrived, what is valid and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Self

#: Namespaces listed in a message.
_LISTED = 10


class HebbgraphError(Exception):
    """Base class of all exceptions that hebbgraph raises deliberately."""


class ParameterError(HebbgraphError, ValueError):
    """An argument lies outside its range or has the wrong type."""


class InvalidChunkError(HebbgraphError, ValueError):
    """A chunk's text, id, tags or metadata is invalid and cannot be stored."""


class FilterError(HebbgraphError, ValueError):
    """A metadata filter is invalid."""


class SettingsMismatchError(HebbgraphError, ValueError):
    """The index was built with settings other than those given."""


class DatasetError(HebbgraphError, ValueError):
    """An evaluation set is unreadable."""


class FeedbackError(HebbgraphError, ValueError):
    """A citation cannot be learned from: it was not shown, or belongs to another index."""


class NotFoundError(HebbgraphError, LookupError):
    """The index does not hold this id."""


class NamespaceNotFoundError(NotFoundError):
    """The namespace does not exist; the first write creates it.

    Attributes
    ----------
    namespace : str
    existing : tuple of str
        The namespaces that exist. A service with several tenants should raise the error again
        with those that the caller may see.
    """

    namespace: str = ""
    existing: tuple[str, ...] = ()

    @classmethod
    def of(cls, namespace: str, existing: Iterable[str] = ()) -> Self:
        """Return the error for a namespace; its message lists some that exist.

        Examples
        --------
        >>> print(NamespaceNotFoundError.of("ana", ["bert", "anna"]))
        there is no namespace 'ana', only 'anna', 'bert'. The first write makes one
        """
        names = tuple(existing)
        close = get_close_matches(namespace, names, n=_LISTED)
        listed = [repr(name) for name in dict.fromkeys((*close, *names))][:_LISTED]
        if more := len(names) - len(listed):
            listed.append(f"and {more} more")
        only = f", only {', '.join(listed)}" if listed else ""
        error = cls(f"there is no namespace {namespace!r}{only}. The first write makes one")
        error.namespace, error.existing = namespace, names
        return error


class ConversionError(HebbgraphError, ValueError):
    """The text of a file cannot be extracted."""


class EmbeddingError(HebbgraphError, RuntimeError):
    """An embedder raised, stalled, or did not return one finite vector for each text.

    Attributes
    ----------
    chunks : tuple of str
        Ids of the chunks that have no embedding because of this error.
    """

    chunks: tuple[str, ...] = ()


class BuildError(HebbgraphError, RuntimeError):
    """Workers of a build died or returned inconsistent results; run the build again to resume."""


class MissingExtraError(HebbgraphError, ImportError):
    """An optional dependency is not installed; the message names the extra."""


class ClosedIndexError(HebbgraphError, RuntimeError):
    """The index has been closed."""


class AccessError(HebbgraphError, PermissionError):
    """A server does not allow this: no valid token, or not its role, namespace or actor."""


class ModelError(HebbgraphError, RuntimeError):
    """A language model did not answer, or not in the expected format."""


class TooManyRequestsError(HebbgraphError, RuntimeError):
    """A server asks to wait before the next request."""


class StorageError(HebbgraphError, OSError):
    """The storage of the index cannot be used."""


class NotAnIndexError(StorageError):
    """The given path or database holds something other than a hebbgraph index."""


class NewerVersionError(StorageError):
    """The index was written by a newer version of hebbgraph."""


class DamagedIndexError(StorageError):
    """The database of the index is unreadable."""


class ReadOnlyIndexError(StorageError):
    """The index is readable but not writable."""


class IndexLockedError(StorageError):
    """Another writer held the lock for longer than ``write_wait_seconds``."""


class DiskFullError(StorageError):
    """No space is left on the device that holds the index."""


class TextSourceError(StorageError):
    """The external text store failed, returned something invalid, or was not passed in."""


class ConnectionLostError(StorageError):
    """The database server cannot be reached, or the connection broke.

    Attributes
    ----------
    maybe_kept : bool
        True if the connection broke during a commit, so the write may have succeeded. It is safe
        to retry: a chunk replaces itself, and a feedback counts once.
    """

    maybe_kept: bool = False
