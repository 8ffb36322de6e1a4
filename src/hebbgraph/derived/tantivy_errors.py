"""Errors of Tantivy, as failures of the file system or as damaged files.

Its binding turns every error into a ValueError. A file that breaks an assumption causes a panic: a
BaseException that ``except Exception`` lets through. Damaged files are rebuilt from the truth. If
the file system fails, the files may be intact, and are left alone.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hebbgraph.artifacts import DamagedPartError, is_missing
from hebbgraph.errors import HebbgraphError

__all__ = ["is_panic", "translated"]

_OS_ERROR = re.compile(r"\(os error (\d+)\)|code: (\d+), kind:")
#: Messages of Tantivy when a thread of its writer ended; they give no reason.
_WRITER_ENDED = ("writer was killed", "error occurred in a thread", "writer thread")
_NO_ROOM = 1 << 20  # bytes


@contextmanager
def translated(directory: Path | None, *, writing: bool = False) -> Iterator[None]:
    """Raise OSError if the file system fails, and DamagedPartError if files are damaged.

    Parameters
    ----------
    directory : Path, optional
        The folder of the index; None if it is in memory.
    writing : bool
        Whether to blame the file system if a writer ends without a reason.
    """
    try:
        yield
    except ValueError as error:
        if isinstance(error, HebbgraphError):  # raised while texts are read
            raise
        message = str(error)
        if match := _OS_ERROR.search(message):
            number = int(match[1] or match[2])
            failure = OSError(number, os.strerror(number), str(directory))
            if not is_missing(failure):  # a missing file is damage
                raise failure from error
        if writing and any(text in message for text in _WRITER_ENDED):
            number = _likely_errno(directory)
            raise OSError(number, os.strerror(number), str(directory)) from error
        raise _damage(directory, error) from error
    except BaseException as error:
        if is_panic(error):
            raise _damage(directory, error) from error
        raise


def is_panic(error: BaseException) -> bool:
    """Return whether an error is a panic of Rust; PyO3 does not export its class."""
    return type(error).__name__ == "PanicException"


def _damage(directory: Path | None, error: BaseException) -> DamagedPartError:
    reason = " ".join(str(error).split())[:200]
    return DamagedPartError(f"{directory or 'in memory'}: the lexical index is damaged ({reason})")


def _likely_errno(directory: Path | None) -> int:
    try:
        full = directory is not None and shutil.disk_usage(directory).free < _NO_ROOM
    except OSError:
        full = False
    return errno.ENOSPC if full else errno.EIO
