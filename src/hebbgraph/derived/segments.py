"""Whether the files of a Tantivy index are as they were written.

Tantivy ends each file of a segment with a footer: JSON with a CRC-32 of what precedes
it, its length, and a magic number (``tantivy/src/directory/footer.rs``). It looks at the
footer when it opens a file, and at the sum only when asked, for which its Python binding
has no call.
"""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

__all__ = ["damaged_files"]

_MAGIC = 1337
_TAIL = struct.Struct("<II")  # length of the footer, magic number
_BLOCK = 1 << 20


def damaged_files(directory: Path) -> list[str]:
    """Return the names of the files whose content is not what their footer says."""
    segments = json.loads((directory / "meta.json").read_bytes())["segments"]
    prefixes = {segment["segment_id"].replace("-", "") for segment in segments}
    return [
        path.name
        for path in sorted(directory.iterdir())
        if path.name.split(".")[0] in prefixes and not _is_whole(path)
    ]


def _is_whole(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - _TAIL.size, 0))
            length, magic = _TAIL.unpack(file.read())
            body = size - _TAIL.size - length
            if magic != _MAGIC or body < 0:
                return False
            file.seek(body)
            expected = json.loads(file.read(length))["crc"]
            file.seek(0)
            checksum, left = 0, body
            while left and (block := file.read(min(_BLOCK, left))):
                checksum = zlib.crc32(block, checksum)
                left -= len(block)
            return bool(checksum == expected)
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return False
