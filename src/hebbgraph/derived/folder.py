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

from hebbgraph.artifacts import DamagedPartError, make_way, remove
from hebbgraph.derived.lexical import LexicalIndex
from hebbgraph.derived.snapshot import discard_snapshot, load_snapshot
from hebbgraph.errors import IndexLockedError
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.locks import lock_file
from hebbgraph.store.database import translate_os, translated_os
from hebbgraph.vectors.file import VectorFile

__all__ = [
    "TRAINED_LAYER",
    "Folder",
    "FolderLockedError",
    "derived_directory",
    "former_directories",
]

logger = logging.getLogger(__name__)

#: Trained by hebbgraph-papers, which takes hours: kept when everything else is rebuilt.
TRAINED_LAYER = "neural.safetensors"
#: Raised when files get other names: the old ones are removed with their folder.
_LAYOUT = 2
_LEXICAL = "lexical"


class FolderLockedError(IndexLockedError):
    """Another process works on the derived parts."""


class Folder:
    """The folder, its lock, and the parts that lie in it. It is made when first locked.

    Parameters
    ----------
    shared : Path, optional
        None keeps everything in memory.
    writable : bool
    wait_seconds : float
        How long to wait for another process that works on the folder.
    place : str
        Names the index in messages if there is no folder.

    Attributes
    ----------
    shared : Path or None
    directory : Path or None
        The folder if it can be written, and the disk is not full.
    is_full : bool
        Whether the disk was full.
    repairs : list of str
        What was found damaged, and rebuilt.
    """

    def __init__(
        self, shared: Path | None, *, writable: bool, wait_seconds: float, place: str
    ) -> None:
        self.shared = shared
        self.directory = shared if writable else None
        self.place = str(shared or place)
        self.is_full = False
        self.repairs: list[str] = []
        self._wait_seconds = wait_seconds
        #: The lock file, for the thread that has locked it.
        self._locked = threading.local()
        if self.directory is not None and make_way(
            self.directory / "lock", for_file=True, make=False
        ):
            self.note_repair("something else lay where derived parts belong")

    def note_repair(self, problem: str) -> None:
        """Record what is damaged and will be rebuilt from the truth."""
        logger.warning("%s: rebuilding it", problem)
        self.repairs.append(problem)

    def locked(self) -> AbstractContextManager[object]:
        """Keep other threads and processes out during a ``with`` block; blocks may be nested.

        Raises
        ------
        FolderLockedError
            If another process keeps the lock for too long.
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

    def _is_locked_here(self) -> bool:
        """Return whether this thread has the lock. An interruption could break a counter."""
        reference = getattr(self._locked, "file", None)
        file = None if reference is None else reference()
        return file is not None and not file.closed

    def leave(self) -> None:
        """Keep derived parts in memory from now on: the disk is full."""
        logger.warning(
            "%s: no space left, so derived parts are kept in memory until the index is reopened",
            self.place,
        )
        self.directory, self.is_full = None, True

    # -- the parts in it --------------------------------------------------------------

    def load_graph(self) -> TagGraph | None:
        """Return the saved graph; None if there is none, or it is damaged."""
        try:
            return None if self.shared is None else load_snapshot(self.shared)
        except DamagedPartError as error:
            self.note_repair(f"the graph's snapshot: {error}")
            return None

    def open_lexical(self, *, positions: bool) -> LexicalIndex:
        """Open the lexical index, or a private copy of one that cannot be written."""
        read_only = None if self.directory is not None or self.is_full else self.shared
        if read_only is not None and (read_only / _LEXICAL).is_dir():
            lexical = LexicalIndex.copy_of(read_only / _LEXICAL, positions=positions)
        else:
            with self.locked():
                lexical = LexicalIndex(self.lexical_directory, positions=positions)
        if lexical.damage is not None:
            self.note_repair(f"the lexical index was damaged: {lexical.damage}")
        return lexical

    @property
    def lexical_directory(self) -> Path | None:
        """Where the lexical index lies; None if it is kept in memory."""
        return None if self.directory is None else self.directory / _LEXICAL

    def discard_parts(self) -> None:
        """Remove all parts. If the folder is read-only, ignore it from now on."""
        if self.directory is None:
            self.shared = None
            return
        with translated_os(self.place), self.locked():
            discard_snapshot(self.directory)
            LexicalIndex.discard(self.directory / _LEXICAL)
            VectorFile.discard(self.directory)

    def replace(self, formers: Iterable[Path]) -> None:
        """Remove the folders of earlier versions, except for their trained layer."""
        if self.directory is None:
            return
        for former in filter(Path.is_dir, formers):
            with contextlib.suppress(OSError):
                self.directory.mkdir(parents=True, exist_ok=True)
                os.replace(former / TRAINED_LAYER, self.directory / TRAINED_LAYER)
            remove(former)


def derived_directory(root: Path, namespace: str, database_id: str) -> Path:
    """Return where a namespace's derived parts lie below an index directory.

    The name is a hash, because a namespace may hold any character.
    """
    return _named(root, f"{_LAYOUT}/{database_id}/{namespace}")


def former_directories(root: Path, namespace: str, database_id: str) -> tuple[Path, ...]:
    """Return where earlier versions kept them."""
    return _named(root, namespace), _named(root, f"{database_id}/{namespace}")


def _named(root: Path, key: str) -> Path:
    return root / "derived" / hashlib.blake2b(key.encode(), digest_size=10).hexdigest()
