"""The file system of Windows, as far as one can be faked: what is in use stays where it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest


def fake_windows(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Refuse to remove or replace files that this process has open or mapped.

    Links cannot be made, folders cannot be opened or synced, nobody hears of forks, and there is
    no ``/proc``. What SQLite and Tantivy do in C is not faked; both are built for Windows.
    Returns the paths that were refused, as they are.
    """
    refused: list[str] = []

    def guarded(change: Callable[..., Any], *, target: int) -> Callable[..., Any]:
        def changed(*args: Any, **options: Any) -> Any:
            for path in {args[0], args[target]}:
                if os.fspath(path) in (held := _held()) or any(
                    one.startswith(f"{os.fspath(path)}{os.sep}") for one in held
                ):
                    refused.append(os.fspath(path))
                    raise PermissionError(13, "is used by another process", os.fspath(path))
            return change(*args, **options)

        return changed

    def no_link(*args: Any, **options: Any) -> None:
        raise OSError(1314, "a required privilege is not held by the client")

    opened = os.open

    def open_file(path: Any, flags: int, *args: Any, **options: Any) -> int:
        if not isinstance(path, int) and os.path.isdir(path) and "dir_fd" not in options:
            raise PermissionError(13, "a folder cannot be opened", os.fspath(path))
        return opened(path, flags, *args, **options)

    for name, target in (("replace", 1), ("rename", 1), ("unlink", 0), ("remove", 0)):
        monkeypatch.setattr(os, name, guarded(getattr(os, name), target=target))
    for name in ("link", "symlink"):
        monkeypatch.setattr(os, name, no_link)
    monkeypatch.setattr(os, "open", open_file)
    # By descriptors, rmtree would need folders that open.
    monkeypatch.setattr(shutil, "_use_fd_functions", False)
    monkeypatch.setattr("hebbgraph.locks.OPEN_FILES_MOVE", False)
    monkeypatch.setattr("hebbgraph.artifacts.sync", lambda path: None)
    return refused


def _held() -> set[str]:
    """Return the files that this process has open or mapped; databases are SQLite's business."""
    held = {line.split(maxsplit=5)[5].strip() for line in _maps() if line.count("/")}
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            held.add(os.readlink(f"/proc/self/fd/{descriptor}"))
    return {one for one in held if one.startswith("/") and ".sqlite3" not in one}


def _maps() -> list[str]:
    return Path("/proc/self/maps").read_text().splitlines()
