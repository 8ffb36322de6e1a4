"""Files that a killed process had not finished: nobody reads them, and nobody else removes them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from hebbgraph.artifacts import remove

__all__ = ["restoring_prefix", "sweep", "sweep_restores"]

#: ``.colonies.npz.4711.partial.npz``; one without a number is written under the folder's lock.
_PARTIAL = re.compile(r"(?:\.(\d+))?\.partial(?:\.\w+)?$")
_RESTORING = re.compile(r"^\.restore-(?:(\d+)-)?")


def restoring_prefix() -> str:
    """Return how the names of folders begin in which this process puts a backup together."""
    return f".restore-{os.getpid()}-"


def sweep(directory: Path) -> None:
    """Remove unfinished files from a folder of derived parts; the caller holds its lock."""
    _remove_dead(directory, _PARTIAL)


def sweep_restores(root: Path) -> None:
    """Remove from an index directory what restores that were killed have left."""
    _remove_dead(root, _RESTORING)


def _remove_dead(directory: Path, pattern: re.Pattern[str]) -> None:
    for path in list(directory.iterdir()):
        found = pattern.search(path.name)
        if found is not None and (found[1] is None or not _is_alive(int(found[1]))):
            remove(path)


def _is_alive(pid: int) -> bool:
    if os.name != "posix":  # elsewhere a signal of zero is one that ends a process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it is another user's
    return True
