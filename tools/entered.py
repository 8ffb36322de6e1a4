"""Print which modules of the core an ``add`` and a warm ``recall`` enter, and how many calls.

usage: python tools/entered.py
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hebbgraph
from hebbgraph import HebbianIndex

ROOT = Path(hebbgraph.__file__).parent
CHUNKS = [
    {"id": "petrel", "title": "Petrel", "text": "The Petrel was built by Ida Moss."},
    {"id": "moss", "title": "Ida Moss", "text": "Ida Moss lived in Tessel Bay."},
    {"id": "bay", "title": "Tessel Bay", "text": "Tessel Bay lies on the north coast."},
]


def entered(call: Callable[[], object]) -> Counter[str]:
    """Return the calls of functions by module."""
    calls: Counter[str] = Counter()

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(ROOT)):
            path = Path(frame.f_code.co_filename).relative_to(ROOT).with_suffix("")
            calls[".".join(path.parts)] += 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return calls


def main() -> None:
    """Print both."""
    with HebbianIndex.open(":memory:") as index:
        index.add(CHUNKS[:2])
        added = entered(lambda: index.add(CHUNKS[2:]))
        question = "Where did the builder of the Petrel live?"
        index.recall(question)
        recalled = entered(lambda: index.recall(question))
    for name, calls in (("add", added), ("recall", recalled)):
        print(f"{name}: {len(calls)} modules, {calls.total()} calls")
        print("  " + ", ".join(f"{module} {n}" for module, n in calls.most_common()))


if __name__ == "__main__":
    main()
