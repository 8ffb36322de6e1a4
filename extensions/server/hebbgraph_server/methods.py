"""The methods that are served: the object that has each one, and its return type."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from hebbgraph.hebbian_index import MOVED, HebbianIndex
from hebbgraph.inspect.log import Log
from hebbgraph.inspect.maintenance import Maintenance
from hebbgraph.inspect.statistics import Stats
from hebbgraph.inspect.tags import Tags
from hebbgraph.inspect.view import Inspection
from hebbgraph.records.explanations import Explanation

__all__ = ["ROOMS", "home_of", "method_of", "returned_by"]

ROOMS = {"tags": Tags, "log": Log, "inspect": Inspection, "maintenance": Maintenance}
#: Types that the index names only in annotations, so that opening one does not load them.
_LOADED_LATE: dict[str, Any] = {"Explanation": Explanation, "Stats": Stats}


def home_of(name: str) -> tuple[str | None, str]:
    """Return the object that has a method (None for the index itself), and its name there."""
    if name in MOVED:
        return MOVED[name]
    return (None if hasattr(HebbianIndex, name) else "inspect"), name


def method_of(name: str) -> Callable[..., Any]:
    """Return the method that is served under a name."""
    room, method_name = home_of(name)
    method: Callable[..., Any] = getattr(HebbianIndex if room is None else ROOMS[room], method_name)
    return method


def returned_by(method: Callable[..., Any]) -> Any:
    """Return the type that a method returns."""
    names = vars(sys.modules[method.__module__])
    return eval(method.__annotations__["return"], {**names, **_LOADED_LATE})
