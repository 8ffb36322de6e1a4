"""Outcomes of a long run, kept as they come, so that a run that was ended goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["KeptResults"]


class KeptResults:
    """Outcomes by the name of their case, in a file of JSON lines.

    Parameters
    ----------
    file : Path, optional
        None keeps nothing.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._held: dict[str, Any] = {}
        if file is not None and file.exists():
            self._held = dict(map(json.loads, file.read_text().splitlines()))

    def of(self, case: str, work: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Return the outcome of a case, working it out unless it is known."""
        if case not in self._held:
            self._held[case] = work(*args, **options)
            if self._file is not None:
                with self._file.open("a") as file:
                    file.write(json.dumps([case, self._held[case]]) + "\n")
        return self._held[case]
