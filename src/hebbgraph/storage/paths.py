"""Things that lie where derived parts belong: out of the way, whatever they are."""

from __future__ import annotations

import shutil
from pathlib import Path

__all__ = ["make_way", "remove"]


def remove(path: Path) -> None:
    """Remove a file, a link or a folder, or nothing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def make_way(path: Path, *, for_file: bool = False) -> bool:
    """Make the folders above a path, and what is not a file at it give way to one.

    Derived parts can be built again, so what is in their place is nobody's loss. Returns
    whether there was something.
    """
    in_the_way = [p for p in path.parents[:2] if p.exists() and not p.is_dir()]
    if for_file and path.is_dir():
        in_the_way.append(path)
    for obstacle in in_the_way:
        remove(obstacle)
    path.parent.mkdir(parents=True, exist_ok=True)
    return bool(in_the_way)
