"""Whether a database file is, byte for byte, what it was when it was last closed.

SQLite keeps no checksums of its pages: a flipped letter, or a block of zeros, is read as if it
had been written. So whoever closes a database last writes the checksum of the whole file beside
it. Every transaction draws a random number into the header (:func:`draw_number`), and SQLite
writes the page with the header before any other. So a header stands for one content: a checksum
counts for the header that it was taken with, and says nothing of an older copy that was put back,
nor of a file that was not closed since, as that of a killed process.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import threading
import weakref
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple

from hebbgraph.errors import DamagedIndexError

__all__ = ["FileSum", "draw_number"]

logger = logging.getLogger(__name__)

_BLOCK = 1 << 20
#: A larger file is read in the background.
_MAX_BYTES_AT_ONCE = 256_000_000
#: Where the header says how often the file was changed, and which number was drawn.
_COUNTER, _NUMBER = slice(24, 28), slice(60, 64)
_HEADER_BYTES = 100


def draw_number(execute: Callable[[str], object]) -> None:
    """Draw the number of the transaction that is open."""
    execute(f"PRAGMA user_version={secrets.randbits(31)}")


class _Sum(NamedTuple):
    """A header, and the size and CRC-32 of the file that had it."""

    header: str
    size: int
    checksum: int

    @classmethod
    def of(cls, file: BinaryIO) -> _Sum | None:
        """Take the sum of a file; None if it changed meanwhile."""
        header, size, checksum = _header(file), 0, 0
        file.seek(0)
        while block := file.read(_BLOCK):
            size += len(block)
            checksum = zlib.crc32(block, checksum)
        return cls(header, size, checksum) if _header(file) == header else None

    @classmethod
    def parse(cls, line: str) -> _Sum | None:
        """Read one back; None if it is not whole."""
        body, _, own = line.rpartition(" ")
        try:
            header, size, checksum = body.split(" ")
            return cls(header, int(size), int(checksum)) if int(own) == _crc(body) else None
        except ValueError:
            return None

    def __str__(self) -> str:
        body = f"{self.header} {self.size} {self.checksum}"
        return f"{body} {_crc(body)}"


def _crc(text: str) -> int:
    return zlib.crc32(text.encode())


def _header(file: BinaryIO) -> str:
    file.seek(0)
    first = file.read(_HEADER_BYTES)
    return (first[_COUNTER] + first[_NUMBER]).hex()


class _Open:
    """A file that this process has open, and what is known of it.

    Whoever closes a file gives up all locks of the process on it, those of SQLite, too. So it is
    opened here while no connection to it is open, and closed after the last one.
    """

    def __init__(self) -> None:
        #: Held while the file is open here, or about to be.
        self.lock = threading.Lock()
        self.users: weakref.WeakSet[FileSum] = weakref.WeakSet()
        self.damaged = False
        self.file: BinaryIO | None = None
        self.reading: threading.Thread | None = None

    def compare(self, expected: _Sum) -> None:
        assert self.file is not None
        try:
            found = _Sum.of(self.file)
        except OSError as error:  # of the disk, which says nothing about the content
            logger.warning("a database could not be read through: %s", error)
            return
        self.damaged = found is not None and found.header == expected.header and found != expected

    def wait(self) -> None:
        if self.reading is not None:
            self.reading.join()
            self.reading = None

    def close(self) -> None:
        self.wait()
        if self.file is not None:
            self.file.close()
            self.file = None


_lock = threading.Lock()  # of the names below
_open_files: weakref.WeakValueDictionary[tuple[int, int], _Open] = weakref.WeakValueDictionary()


def _entry(found: os.stat_result) -> _Open:
    with _lock:
        return _open_files.setdefault((found.st_dev, found.st_ino), _Open())


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _open_files.clear()  # what the parent has open is none of ours


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class FileSum:
    """The checksum beside a database, compared when it is made, and written when it is closed.

    Parameters
    ----------
    database : Path
        No connection to it has been made yet.
    place : str
        Its name in messages.
    """

    def __init__(self, database: Path, place: str) -> None:
        self._database = database
        self._place = place
        self._beside = database.with_name(database.name + ".sum")
        self._allowed = threading.local()
        self._held = self._opened()

    def check(self, *, writing: bool = False) -> None:
        """Raise DamagedIndexError if the file was found damaged.

        Parameters
        ----------
        writing : bool
            Whether it is about to be written to, after which the damage would not be found.
        """
        if self._held.damaged and (writing or not getattr(self._allowed, "now", False)):
            raise DamagedIndexError(
                f"{self._place}: {self._told()}; hebbgraph doctor tells what can be read; "
                f"restore a backup, or delete {self._beside.name} to go on with what is there"
            )

    def _told(self) -> str:
        # SQLite writes the page with the header only if something on it changes, so other programs
        # may write without a trace there. When that was helps to tell it from damage.
        try:
            at = datetime.fromtimestamp(self._database.stat().st_mtime, UTC)
            changed = f" (last changed {at:%Y-%m-%d %H:%M:%S} UTC)"
        except (OSError, ValueError, OverflowError):
            changed = ""
        return (
            f"the database is not what was written, by its checksum{changed}: it is damaged, or "
            "another program or version wrote to it"
        )

    @contextlib.contextmanager
    def unchecked(self) -> Iterator[None]:
        """Let this thread read what is there, damaged or not."""
        before, self._allowed.now = getattr(self._allowed, "now", False), True
        try:
            yield
        finally:
            self._allowed.now = before

    def damage(self) -> str | None:
        """Return what was wrong with the file when it was opened; waits until all is read."""
        self._held.wait()
        return self._told() if self._held.damaged else None

    def _opened(self) -> _Open:
        try:
            found = os.stat(self._database)
        except OSError:  # it is about to be made, or opening it says what is wrong
            return _Open()
        held = _entry(found)
        with held.lock:
            if not held.users:
                held.damaged = False
                self._compare(held, found.st_size)
            held.users.add(self)
        return held

    def _to_close(self) -> _Open:
        """Return what others of this process know the file by: it may have been made since."""
        if self not in self._held.users:
            with contextlib.suppress(OSError):
                return _entry(os.stat(self._database))
        return self._held

    def _compare(self, held: _Open, size: int) -> None:
        expected = self._read()
        if expected is None or self._is_in_use():
            return
        try:
            held.file = self._database.open("rb")
            if _header(held.file) != expected.header:
                held.close()
                return
        except OSError:
            held.close()
            return
        if size <= _MAX_BYTES_AT_ONCE:
            held.compare(expected)
            held.close()
            return
        held.reading = threading.Thread(
            target=held.compare, args=(expected,), name="hebbgraph-checksum", daemon=True
        )
        held.reading.start()

    def _is_in_use(self) -> bool:
        """Return whether somebody has it open, or did not close it."""
        real = os.path.realpath(self._database)  # where SQLite keeps them
        return any(os.path.exists(f"{real}{end}") for end in ("-wal", "-journal"))

    def _read(self) -> _Sum | None:
        try:
            return _Sum.parse(self._beside.read_bytes().decode())
        except (OSError, ValueError):
            return None

    def close(self, *, keep: bool) -> None:
        """Write the checksum, if all connections of all processes are closed and it is not there.

        Parameters
        ----------
        keep : bool
            Whether anything may be written.
        """
        held = self._to_close()
        with held.lock:
            held.users.discard(self)
            if held.users:
                return
            held.close()
            if not keep or held.damaged or self._is_in_use():
                return
            try:
                self._keep()
            except OSError as error:
                logger.warning("%s: no checksum of the database: %s", self._place, error)

    def _keep(self) -> None:
        with self._database.open("rb") as file:
            before = self._read()
            if before is not None and before.header == _header(file):
                return
            now = _Sum.of(file)
        if now is None or self._is_in_use():  # it was read while somebody wrote to it
            return
        # Not synced: a file that a power cut tears is not whole, and does not count.
        # Containers that share a folder may share numbers of processes.
        drawn = secrets.token_hex(8)
        partial = self._beside.with_name(f".{self._beside.name}.{drawn}.partial")
        try:
            partial.write_bytes(str(now).encode())
            os.replace(partial, self._beside)
        finally:
            partial.unlink(missing_ok=True)
