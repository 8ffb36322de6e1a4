"""The folder of a namespace's derived parts, which all processes of a machine share."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import threading
import weakref
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from hebbgraph.artifacts import make_way, remove
from hebbgraph.errors import IndexLockedError
from hebbgraph.locks import lock_file
from hebbgraph.store.database import translate_os

__all__ = [
    "TRAINED_LAYER",
    "Folder",
    "FolderLockedError",
    "derived_directory",
    "former_directories",
]

logger = logging.getLogger(__name__)

#: What hebbgraph-papers trains; it takes hours, so it is kept when all else is rebuilt.
TRAINED_LAYER = "neural.safetensors"
#: Raised when files get other names, so that those of before go with their folder.
_LAYOUT = 2


class FolderLockedError(IndexLockedError):
    """Another process works on the derived parts."""


class Folder:
    """A folder, made when it is first locked, and the lock on it.

    Parameters
    ----------
    shared : Path, optional
        None keeps everything in memory.
    writable : bool
    wait_seconds : float
        How long to wait for another process that works on it.
    place : str
        What messages name where there is no folder.

    Attributes
    ----------
    shared : Path or None
    directory : Path or None
        The same, if it may be written and has room.
    is_full : bool
        Whether the disk had no room for what is derived.
    was_blocked : bool
        Whether something else lay in its place, and was removed.
    """

    def __init__(
        self, shared: Path | None, *, writable: bool, wait_seconds: float, place: str
    ) -> None:
        self.shared = shared
        self.directory = shared if writable else None
        self.place = str(shared or place)
        self.was_blocked = self.is_full = False
        self._wait_seconds = wait_seconds
        #: The locked file, for the thread that has locked it.
        self._locked = threading.local()
        if self.directory is not None:
            self.was_blocked = make_way(self.directory / "lock", for_file=True, make=False)

    def locked(self) -> AbstractContextManager[object]:
        """Keep others from working on it until the ``with`` block ends; a thread may nest them.

        Raises
        ------
        FolderLockedError
            If others work on it for too long.
        """
        if self.directory is None or self._is_locked_here():
            return contextlib.nullcontext()
        file = None
        try:
            file = lock_file(self.directory / "lock", wait_seconds=self._wait_seconds)
            if file is None:
                raise FolderLockedError(
                    f"{self.directory}: another process worked on the derived parts for more "
                    f"than {self._wait_seconds:g} s; try again, or raise write_wait_seconds"
                )
            self._locked.file = weakref.ref(file)
            return file
        except BaseException as error:
            if file is not None:
                file.close()
            if isinstance(error, OSError) and not isinstance(error, FolderLockedError):
                raise translate_os(error, self.place) from error
            raise

    @property
    def read_only(self) -> Path | None:
        """The folder, if what lies in it may be read alone."""
        return self.shared if self.directory is None and not self.is_full else None

    def leave(self) -> None:
        """Keep in memory what is derived from now on: there is no room for it."""
        told = "%s: no space left, so derived parts are kept in memory until the index is reopened"
        logger.warning(told, self.place)
        self.directory, self.is_full = None, True

    def _is_locked_here(self) -> bool:
        """Return whether this thread has locked it: no count of blocks, which could go wrong."""
        reference = getattr(self._locked, "file", None)
        file = None if reference is None else reference()
        return file is not None and not file.closed

    def replace(self, formers: Iterable[Path]) -> None:
        """Remove the folders of earlier versions, all but their trained layer."""
        if self.directory is None:
            return
        for former in filter(Path.is_dir, formers):
            with contextlib.suppress(OSError):
                self.directory.mkdir(parents=True, exist_ok=True)
                os.replace(former / TRAINED_LAYER, self.directory / TRAINED_LAYER)
            remove(former)


def derived_directory(root: Path, namespace: str, database_id: str) -> Path:
    """Return where a namespace's derived parts lie below an index directory.

    The name is a hash, as a namespace may hold any character.
    """
    return _named(root, f"{_LAYOUT}/{database_id}/{namespace}")


def former_directories(root: Path, namespace: str, database_id: str) -> tuple[Path, ...]:
    """Return where earlier versions kept them."""
    return _named(root, namespace), _named(root, f"{database_id}/{namespace}")


def _named(root: Path, what: str) -> Path:
    return root / "derived" / hashlib.blake2b(what.encode(), digest_size=10).hexdigest()
