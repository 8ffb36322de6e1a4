"""An index that keeps recalls in a file beside it, for processes that share it."""

from __future__ import annotations

import json
import os
from pathlib import Path

from hebbgraph import HebbianIndex, Recall

__all__ = ["BOATS", "KeepingIndex"]

BOATS = [
    {"id": f"b{at}", "text": f"Boat {at} was built in {1800 + at} by builder {at} of Skerrow."}
    for at in range(60)
]


class KeepingIndex(HebbianIndex):
    """Stands in for an index with a table of kept recalls."""

    def keep(self, recall: Recall, *, answer: str | None = None) -> None:
        line = json.dumps([recall.id, answer, recall.model_dump_json()]) + "\n"
        with Path(self._path, f"{self.namespace}.kept").open("ab", buffering=0) as file:
            file.write(line.encode())
            os.fsync(file.fileno())

    def kept(self, id: str) -> list[Recall]:
        path = Path(self._path, f"{self.namespace}.kept")
        lines = path.read_text().splitlines() if path.exists() else []
        rows = [json.loads(line) for line in lines]
        found = {row[0]: row[2] for row in rows if id in row[:2]}
        return [Recall.model_validate_json(body) for body in found.values()]
