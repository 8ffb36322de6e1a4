"""What Tantivy raises, told apart: a file system that fails, and files that are damaged.

Its binding turns every error into a ValueError, and a file that breaks an assumption panics: a
BaseException that ``except Exception`` lets through. Files that are damaged are built anew from
the truth; what a failing file system holds may be whole, and is left alone.
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
#: How Tantivy says that a thread of its writer ended; why, it keeps to itself.
_WRITER_ENDED = ("writer was killed", "error occurred in a thread", "writer thread")
_NO_ROOM = 1 << 20  # bytes


@contextmanager
def translated(directory: Path | None, *, writing: bool = False) -> Iterator[None]:
    """Raise an OSError where the file system failed, and DamagedPartError where files are bad.

    Parameters
    ----------
    directory : Path, optional
        Of the index; None if it is in memory.
    writing : bool
        Whether a writer that ended without a reason is a failure of the file system.
    """
    try:
        yield
    except ValueError as error:
        if isinstance(error, HebbgraphError):  # of whoever reads texts meanwhile
            raise
        said = str(error)
        if found := _OS_ERROR.search(said):
            number = int(found[1] or found[2])
            failure = OSError(number, os.strerror(number), str(directory))
            if not is_missing(failure):  # a file that is gone is damage
                raise failure from error
        if writing and any(text in said for text in _WRITER_ENDED):
            number = _likely_reason(directory)
            raise OSError(number, os.strerror(number), str(directory)) from error
        raise DamagedPartError(_told(directory, error)) from error
    except BaseException as error:
        if is_panic(error):
            raise DamagedPartError(_told(directory, error)) from error
        raise


def is_panic(error: BaseException) -> bool:
    """Return whether Rust code panicked; PyO3 exports no class to compare with."""
    return type(error).__name__ == "PanicException"


def _told(directory: Path | None, error: BaseException) -> str:
    reason = " ".join(str(error).split())[:200]
    return f"{directory or 'in memory'}: the lexical index is damaged ({reason})"


def _likely_reason(directory: Path | None) -> int:
    try:
        full = directory is not None and shutil.disk_usage(directory).free < _NO_ROOM
    except OSError:
        full = False
    return errno.ENOSPC if full else errno.EIO
