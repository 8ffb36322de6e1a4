"""Three passages about a harbour, and how tests ask and read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from usebench.records import Event, Passage

PASSAGES = (
    Passage("moss", "Ida Moss built boats in a small yard.", "Ida Moss"),
    Passage("petrel", "A barque with three masts, lost in a storm.", "Petrel"),
    Passage("tide", "High water comes twice a day to the quay.", "Tides"),
)


def ask(number: int, question: str, *gold: str, **fields: Any) -> Event:
    return Event(str(number), question, dict.fromkeys(gold, 1), float(number), "ann", **fields)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
