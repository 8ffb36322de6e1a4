"""What a forked child inherits and must not touch.

A connection belongs to the process that made it. In the child even closing it is wrong:
SQLite would drop the parent's locks, a server would end the parent's session. So the
child keeps what it inherited, unused, until it ends.
"""

from __future__ import annotations

import os
import weakref

__all__ = ["leave_to_parent"]

_open: weakref.WeakSet[object] = weakref.WeakSet()
_inherited: list[object] = []


def leave_to_parent(holder: object) -> None:
    """Keep an object that holds connections from being cleared away in forked children."""
    _open.add(holder)


def _after_fork() -> None:
    _inherited.extend(_open)
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
