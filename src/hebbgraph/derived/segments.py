"""Whether the files of a Tantivy index are as they were written, and belong together.

Tantivy ends each file of a segment with a footer: JSON with a CRC-32 of what precedes
it, its length, and a magic number (``tantivy/src/directory/footer.rs``). It looks at the
footer when it opens a file, and at the sum only when asked, for which its Python binding
has no call. That a file belongs to its segment nothing says: two that are swapped are whole
each. So what lies there is noted down as a whole, footers and all (:func:`inventory`), which
is quickly read; whether content fits the footers takes longer (:func:`damaged_files`).
"""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Inventory", "damaged_files", "inventory", "meta_checksum"]

_META = "meta.json"
_MAGIC = 1337
_TAIL = struct.Struct("<II")  # length of the footer, magic number
_BLOCK = 1 << 20


class Inventory(NamedTuple):
    """The files of an index.

    Attributes
    ----------
    meta : int
        The checksum of Tantivy's own list of segments, with its count of operations.
    files : dict
        Of each file of these segments its size, and the checksum that its footer tells.
    """

    meta: int
    files: dict[str, list[int]]

    @classmethod
    def read(cls, held: Any) -> Inventory:
        """Read it back from JSON."""
        return cls(int(held[0]), {str(name): list(told) for name, told in held[1].items()})

    def difference(self, other: Inventory) -> str | None:
        """Say how what is there differs from this; None if it does not.

        More files do no harm: an update that was killed leaves some.
        """
        for name, told in self.files.items():
            if name not in other.files:
                return f"{name} is missing"
            if other.files[name] != told:
                return f"checksum of {name}"
        return None if self.meta == other.meta else "its list of segments is another"


def inventory(directory: Path) -> Inventory:
    """Look at the footers of all files of the segments that count.

    Raises
    ------
    OSError, ValueError, KeyError, TypeError
        If there is no index that can be read.
    """
    meta = (directory / _META).read_bytes()
    return Inventory(
        zlib.crc32(meta),
        {path.name: [path.stat().st_size, _footer(path)[1]] for path in _files(directory, meta)},
    )


def meta_checksum(directory: Path) -> int:
    """Return what :func:`inventory` tells of Tantivy's own list alone."""
    return zlib.crc32((directory / _META).read_bytes())


def damaged_files(directory: Path) -> list[str]:
    """Return the names of the files whose content is not what their footer says."""
    files = _files(directory, (directory / _META).read_bytes())
    return [path.name for path in files if not _is_whole(path)]


def _files(directory: Path, meta: bytes) -> list[Path]:
    segments = json.loads(meta)["segments"]
    prefixes = {segment["segment_id"].replace("-", "") for segment in segments}
    return [path for path in sorted(directory.iterdir()) if path.name.split(".")[0] in prefixes]


def _footer(path: Path) -> tuple[int, int]:
    """Return the length of what precedes the footer, and the checksum that it tells."""
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
    except (OSError, ValueError, KeyError, TypeError):
        return False
