"""Child processes that start fast, with the same modules at hand."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

__all__ = ["CONTEXT", "python"]

_SUPPORT = Path(__file__).parent
# A server of forks reads it when it starts; what it preloads comes from there.
os.environ["PYTHONPATH"] = os.pathsep.join([str(_SUPPORT.parents[1] / "src"), str(_SUPPORT)])

#: Starts each process by forking a small one that has imported everything and opened nothing.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["damage", "storms"])


def python(script: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Run a script in a Python of its own."""
    return subprocess.Popen([sys.executable, "-c", script, *arguments])
