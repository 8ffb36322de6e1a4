"""Whether the files of a Tantivy index are intact and belong together.

Tantivy ends each file of a segment with a footer: JSON with a CRC-32 of the content, its
length, and a magic number (``tantivy/src/directory/footer.rs``). It reads the footer when it
opens a file, but checks the CRC only on request, which its Python binding does not offer; and
nothing says that a file belongs to its segment. So the stamp records all files with their
footers (:func:`inventory`), and their content is compared with those (:func:`damaged_files`).
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hebbgraph.artifacts import is_missing, replace_file, sync

__all__ = ["Inventory", "damaged_files", "inventory", "join_segments", "meta_checksum"]

_META = "meta.json"
_MANAGED = ".managed.json"  # the files that Tantivy may remove once no segment needs them
_MAGIC = 1337
_TAIL = struct.Struct("<II")  # length of the footer, magic number
_BLOCK = 1 << 20


class Inventory(NamedTuple):
    """The files of an index.

    Attributes
    ----------
    meta : int
        The checksum of Tantivy's list of segments.
    files : dict
        Size and checksum, from its footer, of each file of these segments.
    """

    meta: int
    files: dict[str, list[int]]

    @classmethod
    def read(cls, held: Any) -> Inventory:
        """Parse it from JSON."""
        meta, files, *_ = held  # earlier versions also noted when files were changed
        return cls(int(meta), {str(name): list(map(int, file)) for name, file in files.items()})

    def difference(self, other: Inventory) -> str | None:
        """Describe how another inventory differs; None if it does not.

        Additional files do no harm: a killed update leaves some.
        """
        for name, file in self.files.items():
            if name not in other.files:
                return f"{name} is missing"
            if other.files[name] != file:
                return f"checksum of {name}"
        return None if self.meta == other.meta else "its list of segments differs"

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(size for size, *_ in self.files.values())


def join_segments(directories: Sequence[Path], target: Path) -> None:
    """Make one index of several with the same schema, from hard links or copies of their files.

    Segments are named at random and refer to nothing outside of themselves, so a list of all of
    them is an index.

    Parameters
    ----------
    directories : sequence of Path
        At least one.
    target : Path
        A folder without an index.
    """
    metas = [json.loads((directory / _META).read_bytes()) for directory in directories]
    whole = metas[0]
    whole["segments"] = [segment for meta in metas for segment in meta["segments"]]
    whole["opstamp"] = max(meta["opstamp"] for meta in metas)
    managed = {_META}
    for directory in directories:
        for path in _files(directory, (directory / _META).read_bytes()):
            (target / path.name).unlink(missing_ok=True)
            try:
                os.link(path, target / path.name)
            except OSError:  # another file system, or one without links
                shutil.copyfile(path, target / path.name)
                sync(target / path.name)
            managed.add(path.name)
    replace_file(target / _MANAGED, lambda to: to.write_text(json.dumps(sorted(managed))))
    replace_file(target / _META, lambda to: to.write_text(json.dumps(whole)))


def inventory(directory: Path) -> Inventory:
    """Read the footers of all files of the present segments.

    Raises
    ------
    OSError, ValueError, KeyError, TypeError
        If there is no readable index.
    """
    meta = (directory / _META).read_bytes()
    files = {}
    for path in _files(directory, meta):
        files[path.name] = [path.stat().st_size, _footer(path)[1]]
    return Inventory(zlib.crc32(meta), files)


def meta_checksum(directory: Path) -> int:
    """Return :attr:`Inventory.meta` alone."""
    return zlib.crc32((directory / _META).read_bytes())


def damaged_files(directory: Path) -> list[str]:
    """Return the names of files whose content does not match their footer.

    Returns
    -------
    list of str
        The list of segments alone, if that cannot be read.
    """
    try:
        files = _files(directory, (directory / _META).read_bytes())
    except (ValueError, KeyError, TypeError, AttributeError):
        return [_META]
    return [path.name for path in files if not _is_whole(path)]


def _files(directory: Path, meta: bytes) -> list[Path]:
    segments = json.loads(meta)["segments"]
    prefixes = {segment["segment_id"].replace("-", "") for segment in segments}
    return [path for path in sorted(directory.iterdir()) if path.name.split(".")[0] in prefixes]


def _footer(path: Path) -> tuple[int, int]:
    """Return the length of the content, and its checksum according to the footer."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - _TAIL.size, 0))
        tail = file.read()
        if len(tail) != _TAIL.size:
            raise ValueError(f"{path.name} has no footer")
        length, magic = _TAIL.unpack(tail)
        body = size - _TAIL.size - length
        if magic != _MAGIC or body < 0:
            raise ValueError(f"{path.name} has no footer")
        file.seek(body)
        return body, int(json.loads(file.read(length))["crc"])


def _is_whole(path: Path) -> bool:
    try:
        left, expected = _footer(path)
        checksum = 0
        with path.open("rb") as file:
            while left and (block := file.read(min(_BLOCK, left))):
                checksum = zlib.crc32(block, checksum)
                left -= len(block)
        return checksum == expected
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, OSError) and not is_missing(error):
            raise
        return False
