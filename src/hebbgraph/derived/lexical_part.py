"""The lexical index as a part: opened, doubted, and put aside where it is damaged.

Opening reads a small index whole. Of a large one the background reads the rest
(:meth:`LexicalPart.open`), and what it finds counts from the next refresh on
(:meth:`LexicalPart.settled`).
"""

from __future__ import annotations

import errno
import logging
import threading
import weakref
from pathlib import Path

from hebbgraph.derived.folder import Folder
from hebbgraph.derived.lexical import LexicalIndex, stamp_problem
from hebbgraph.derived.segments import damaged_files

__all__ = ["LexicalPart"]

logger = logging.getLogger(__name__)


class LexicalPart:
    """Where the lexical index of a namespace lies, and whether it can be trusted.

    Parameters
    ----------
    folder : Folder
    positions : bool
        Whether the positions of terms are stored: with them, terms are the text, all but its
        endings.
    repairs : list of str
        What was found broken is added to it.
    """

    def __init__(self, folder: Folder, *, positions: bool, repairs: list[str]) -> None:
        self._folder = folder
        self._positions = positions
        self._repairs = repairs
        #: An index, and those of its files that the background found damaged.
        self._doubted: tuple[LexicalIndex, list[str]] | None = None

    @property
    def directory(self) -> Path | None:
        """Where it may be written; None if nowhere."""
        folder = self._folder.directory
        return None if folder is None else folder / "lexical"

    def open(self) -> LexicalIndex:
        """Open it, or a private copy where it may not be written."""
        if self.directory is not None:
            with self._folder.locked():
                opened = self.begun()
            if opened.damage is not None:
                self._repairs.append(f"the lexical index was damaged: {opened.damage}")
            self._read_rest(opened, self.directory)
            return opened
        shared = self._folder.shared
        if shared is not None and (shared / "lexical").is_dir():
            return LexicalIndex.copy_of(shared / "lexical", positions=self._positions)
        return self.begun()

    def begun(self) -> LexicalIndex:
        """Open it as it is; the caller holds the lock on the folder."""
        return LexicalIndex(self.directory, positions=self._positions)

    def _read_rest(self, opened: LexicalIndex, directory: Path) -> None:
        """Read in the background what opening a large index did not."""
        if not opened.unread:
            return
        held = weakref.ref(self)

        def read() -> None:
            try:
                damaged = opened.read_rest()
            except OSError as error:  # of the file system, which says nothing about the content
                logger.warning("%s could not be read through: %s", directory, error)
                return
            if damaged and (mine := held()) is not None:
                mine._doubted = opened, damaged

        threading.Thread(target=read, name="hebbgraph-checksums", daemon=True).start()

    @property
    def is_doubted(self) -> bool:
        """Whether reading in the background found damage that was not settled."""
        return self._doubted is not None

    def settled(self, held: LexicalIndex | None) -> bool:
        """Return whether an index is to be trusted; if not, it is put aside."""
        doubted, self._doubted = self._doubted, None
        if doubted is None or doubted[0] is not held or self.directory is None:
            return True
        with self._folder.locked():  # nobody merges now: a file that is gone was not damaged
            damaged = damaged_files(self.directory, doubted[1])
        if damaged:
            self.put_aside(f"the lexical index was damaged: checksum of {damaged[0]}")
        return not damaged

    def is_to_blame(self, error: OSError) -> bool:
        """Return whether Tantivy failed because of damaged files, and put those aside.

        Its writer does not tell why it ended.
        """
        if self.directory is None or error.errno != errno.EIO:
            return False
        with self._folder.locked():
            damaged = damaged_files(self.directory)
        if damaged:
            self.put_aside(f"checksum of {damaged[0]}")
        return bool(damaged)

    def put_aside(self, problem: str) -> None:
        """Let whoever opens it next start from nothing, and say so."""
        logger.warning("%s: building the lexical index anew", problem)
        self._repairs.append(problem)
        if self.directory is not None:
            with self._folder.locked():
                LexicalIndex.discard(self.directory)

    def problems(self) -> list[str]:
        """Return what is wrong with its files."""
        shared = self._folder.shared
        if shared is None or not (shared / "lexical").is_dir():
            return []
        with self._folder.locked():
            if problem := stamp_problem(shared / "lexical"):
                return [problem]
            damaged = damaged_files(shared / "lexical")
        return [f"damaged: {', '.join(damaged)}"] if damaged else []
