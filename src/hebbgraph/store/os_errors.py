"""Errors of the file system as errors of this library."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from hebbgraph.errors import DiskFullError, HebbgraphError, ReadOnlyIndexError, StorageError

__all__ = ["is_forbidden", "is_full", "translate_os", "translated_os"]

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


def is_full(error: BaseException) -> bool:
    """Return whether an error means that no space is left."""
    return isinstance(error, OSError) and error.errno in _FULL


def is_forbidden(error: BaseException) -> bool:
    """Return whether an error means that a file may not be changed."""
    return isinstance(error, OSError) and error.errno in _FORBIDDEN


def translate_os(error: OSError, place: str) -> StorageError:
    """Return the error of this library for one of the file system."""
    if isinstance(error, StorageError):
        return error
    if is_full(error):
        return DiskFullError(errno.ENOSPC, f"{place}: no space left")
    if is_forbidden(error):
        named = f" ({error.filename})" if error.filename else ""
        return ReadOnlyIndexError(f"{place} cannot be written: {error.strerror}{named}")
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return StorageError(
            error.errno, f"{place}: too many open files; raise the limit (ulimit -n)"
        )
    named = f" ({error.filename})" if error.filename and str(error.filename) != place else ""
    message = f"{place}: {error.strerror or error}{named}"
    if error.errno == errno.EIO:
        message += "; if that stays, hebbgraph doctor --repair builds anew what can be derived"
    return StorageError(error.errno, message) if error.errno else StorageError(message)


@contextlib.contextmanager
def translated_os(place: str) -> Iterator[None]:
    """Raise errors of the file system as :func:`translate_os` returns them."""
    try:
        yield
    except OSError as error:
        if isinstance(error, HebbgraphError):
            raise
        raise translate_os(error, place) from error
