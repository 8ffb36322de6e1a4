"""A record of one process of a load, in a file that survives it.

Each event is one line, written at once. So the file shows what a killed process had begun, and what
was acknowledged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Account", "Journal"]


@dataclass
class Account:
    """What one process did, over all its restarts, and the acknowledgements.

    Times are in seconds. ``held`` is the text of each acknowledged chunk; ``unsure`` names chunks
    of writes that ended in an error or a kill. ``unsure_feedbacks`` counts feedbacks without an
    answer.
    """

    number: int
    lives: int = 0
    seconds: dict[str, list[float]] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)
    feedbacks: set[str] = field(default_factory=set)
    unsure_feedbacks: int = 0
    waits: int = 0
    errors: list[str] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    memory: list[tuple[float, int]] = field(default_factory=list)

    @classmethod
    def read(cls, number: int, path: Path) -> Account:
        """Read the record of a process."""
        account = cls(number)
        if path.exists():
            for line in path.read_bytes().split(b"\n")[:-1]:  # the last line may be incomplete
                account.take(json.loads(line))
        return account

    def take(self, event: Mapping[str, Any]) -> None:
        """Apply one event."""
        for name, value in event.items():
            _ENTER[name](self, value)

    def _is_held(self, texts: dict[str, str]) -> None:
        self.held |= texts
        self.unsure -= texts.keys()

    def _is_gone(self, ids: list[str]) -> None:
        for id_ in ids:
            self.held.pop(id_, None)
        self.unsure -= set(ids)

    def _is_fed(self, ids: list[str]) -> None:
        self.feedbacks |= set(ids)
        self.unsure_feedbacks -= 1


def _live(account: Account, _: object) -> None:
    account.lives += 1


def _feed(account: Account, _: object) -> None:
    account.unsure_feedbacks += 1


def _wait(account: Account, _: object) -> None:
    account.waits += 1


_ENTER: dict[str, Callable[[Account, Any], object]] = {
    "life": _live,
    "begun": lambda account, ids: account.unsure.update(ids),
    "held": Account._is_held,
    "gone": Account._is_gone,
    "feeding": _feed,
    "fed": Account._is_fed,
    "wait": _wait,
    "error": lambda account, text: account.errors.append(text),
    "repair": lambda account, text: account.repairs.append(text),
    "took": lambda account, told: account.seconds.setdefault(told[0], []).append(told[1]),
    "memory": lambda account, told: account.memory.append((told[0], told[1])),
}


class Journal:
    """Keeps an account and the file of it in step.

    Parameters
    ----------
    number : int
        Number of the process.
    path : Path
        Continued if it exists.
    """

    def __init__(self, number: int, path: Path) -> None:
        self.account = Account.read(number, path)
        if path.exists():
            os.truncate(path, path.read_bytes().rfind(b"\n") + 1)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def tell(self, **event: Any) -> None:
        """Record one event."""
        os.write(self._file, json.dumps(event).encode() + b"\n")
        self.account.take(event)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
