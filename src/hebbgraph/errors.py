"""Every error that hebbgraph raises on purpose.

::

    HebbgraphError
    ├── ParameterError          (ValueError)       an argument outside its range
    ├── InvalidChunkError       (ValueError)       text, id, tags or metadata that cannot be kept
    ├── FilterError             (ValueError)       a metadata filter that cannot be read
    ├── SettingsMismatchError   (ValueError)       saved build settings differ from those given
    ├── DatasetError            (ValueError)       an evaluation set that cannot be read
    ├── FeedbackError           (ValueError)       a citation that cannot teach
    ├── NotFoundError           (LookupError)      an id that the index does not hold
    ├── ConversionError         (ValueError)       a file whose text cannot be read
    ├── MissingExtraError       (ImportError)      an optional dependency is absent
    ├── ClosedIndexError        (RuntimeError)     the index was closed
    └── StorageError            (OSError)          the place where the index lives
        ├── NotAnIndexError                        something else lies there
        ├── NewerVersionError                      written by a newer hebbgraph
        ├── DamagedIndexError                      the database cannot be read
        ├── ReadOnlyIndexError                     reading works, writing does not
        ├── IndexLockedError                       another writer holds it
        ├── DiskFullError                          no space is left
        ├── TextSourceError                        texts kept elsewhere cannot be had
        └── ConnectionLostError                    the database server went away

Each child also inherits the builtin that a stranger would catch. A message
says what arrived, what fits, and what to do.
"""

from __future__ import annotations


class HebbgraphError(Exception):
    """Base class of every error that hebbgraph raises on purpose."""


class ParameterError(HebbgraphError, ValueError):
    """An argument lies outside its range or has the wrong type."""


class InvalidChunkError(HebbgraphError, ValueError):
    """A chunk's text, id, tags or metadata cannot be kept as given."""


class FilterError(HebbgraphError, ValueError):
    """A metadata filter cannot be read."""


class SettingsMismatchError(HebbgraphError, ValueError):
    """The index was built with other settings than those given."""


class DatasetError(HebbgraphError, ValueError):
    """An evaluation set cannot be read."""


class FeedbackError(HebbgraphError, ValueError):
    """A citation cannot teach: it was not shown, or belongs elsewhere."""


class NotFoundError(HebbgraphError, LookupError):
    """An id that the index does not hold."""


class ConversionError(HebbgraphError, ValueError):
    """A file's text cannot be read."""


class MissingExtraError(HebbgraphError, ImportError):
    """An optional dependency is absent; the message names the extra."""


class ClosedIndexError(HebbgraphError, RuntimeError):
    """The index was closed."""


class StorageError(HebbgraphError, OSError):
    """The place where the index lives cannot be used."""


class NotAnIndexError(StorageError):
    """Something that is not a hebbgraph index lies at the given place."""


class NewerVersionError(StorageError):
    """The index was written by a newer version of hebbgraph."""


class DamagedIndexError(StorageError):
    """The database of the index cannot be read."""


class ReadOnlyIndexError(StorageError):
    """The index can be read but not written."""


class IndexLockedError(StorageError):
    """Another writer holds the index for longer than the wait allows."""


class DiskFullError(StorageError):
    """No space is left where the index lives."""


class TextSourceError(StorageError):
    """The store that keeps the texts failed, gave something else, or was not handed over."""


class ConnectionLostError(StorageError):
    """The database server cannot be reached, or was lost on the way.

    Attributes
    ----------
    maybe_kept : bool
        True if it happened while committing, so that the write may be there or not.
        Doing it again does no harm: the same chunk replaces itself, and the same
        feedback counts once.
    """

    maybe_kept: bool = False
