"""Raise an exception at a chosen line of hebbgraph, as Ctrl-C or a lack of memory would."""

from __future__ import annotations

import linecache
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import hebbgraph
from hebbgraph import HebbgraphError

__all__ = ["LineCounter", "interrupted_at"]

_LEAVES = re.compile(r"\s*(with .*|try:|return|break|continue)$")
_PACKAGE = str(Path(hebbgraph.__file__).parent)


def _traced(on_line: Callable[[str, int], None], call: Callable[[], Any]) -> None:
    def local(frame: FrameType, event: str, _: object) -> Any:
        if event == "line":
            on_line(frame.f_code.co_filename, frame.f_lineno)
        return local

    def each(frame: FrameType, event: str, _: object) -> Any:
        return local if frame.f_code.co_filename.startswith(_PACKAGE) else None

    before = sys.gettrace()
    sys.settrace(each)
    try:
        call()
    finally:
        sys.settrace(before)


class LineCounter:
    """The lines that a call runs, and how often each."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.times: dict[tuple[str, int], int] = defaultdict(int)

        def count(file: str, line: int) -> None:
            self.times[file, line] += 1

        _traced(count, call)

    def places(self) -> list[tuple[str, int]]:
        """Return the lines where a signal may arrive.

        Python also reports lines whose exceptions pass by the handlers around them: ``with`` once
        more when it is left, a bare ``return`` within it, and ``try``. No signal arrives there.
        """
        return [
            (file, line)
            for file, line in sorted(self.times)
            if not _LEAVES.match(linecache.getline(file, line))
        ]

    def choose(self, rng: random.Random) -> tuple[str, int, int]:
        """Return a line, each as likely as any other, and which of its runs."""
        file, line = rng.choice(self.places())
        return file, line, rng.randrange(self.times[file, line])


def interrupted_at(
    place: tuple[str, int, int], error: type[BaseException], call: Callable[[], Any]
) -> bool:
    """Make a call that an exception interrupts; return whether the place was reached."""
    file, line, left = place
    state = {"left": left, "raised": False}

    def check(at_file: str, at_line: int) -> None:
        if (at_file, at_line) != (file, line) or state["raised"]:
            return
        if state["left"] == 0:
            state["raised"] = True
            raise error("injected")
        state["left"] -= 1

    try:
        _traced(check, call)
    except (error, HebbgraphError) as raised:
        # A model of the caller's may have failed; that is an error of ours, with its cause.
        if "injected" not in (str(raised), str(raised.__cause__)):
            raise
    return bool(state["raised"])
