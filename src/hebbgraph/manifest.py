"""The manifest of derived files that grow in place: their commit, sizes and checksums.

It is written last and replaced in one step. So it does not list what a killed process left behind,
and files that were lost, damaged or put back from another state do not match it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hebbgraph.artifacts import DamagedPartError, file_checksum, is_missing, replace_file

__all__ = ["Manifest"]


class Manifest(NamedTuple):
    """The files of a derived part.

    Attributes
    ----------
    facts : dict
        What JSON can hold, such as the commit.
    files : dict
        For each file by name, how many bytes count, and their CRC-32.
    """

    facts: dict[str, Any]
    files: dict[str, tuple[int, int]]

    @classmethod
    def of(
        cls,
        facts: Mapping[str, Any],
        paths: Iterable[Path],
        known: Mapping[str, tuple[int, int]] | None = None,
    ) -> Manifest:
        """Describe files that never change; ``known`` has descriptions of some of them."""
        files = {}
        for path in paths:
            size, entry = path.stat().st_size, (known or {}).get(path.name, (-1, 0))
            files[path.name] = entry if entry[0] == size else (size, file_checksum(path))
        return cls(dict(facts), files)

    @classmethod
    def read(cls, path: Path, version: int) -> Manifest | None:
        """Read a manifest; None if there is none of this version.

        Raises
        ------
        DamagedPartError
            If it is not what was written.
        OSError
            If the file system fails.
        """
        try:
            checksum, _, content = path.read_bytes().partition(b"\n")
            if int(checksum) != zlib.crc32(content):
                raise ValueError("its checksum differs")
            fields = json.loads(content)
            if fields["version"] != version:
                return None
            files = {Path(name).name: (size, crc) for name, (size, crc) in fields["files"].items()}
            return cls(fields["facts"], files)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            if isinstance(error, OSError) and not is_missing(error):
                raise
            raise DamagedPartError(f"{path} is damaged ({error})") from error

    def write(self, path: Path, version: int) -> None:
        """Replace the manifest at a path."""
        content = json.dumps({"version": version, **self._asdict()}).encode()
        replace_file(path, lambda to: to.write_bytes(b"%d\n%s" % (zlib.crc32(content), content)))

    def check(self, folder: Path) -> None:
        """Raise DamagedPartError unless a folder has these files, unchanged."""
        for name, (size, crc) in self.files.items():
            path = folder / name
            try:
                if path.stat().st_size != size or file_checksum(path) != crc:
                    raise DamagedPartError(f"{path} is damaged (its size or checksum differs)")
            except OSError as error:
                if isinstance(error, DamagedPartError) or not is_missing(error):
                    raise
                raise DamagedPartError(f"{path} is missing") from error
