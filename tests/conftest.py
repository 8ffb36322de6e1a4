"""Indexes over a little corpus, and places to keep them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from postgres import server as server
from ships import CORPUS
from soak import SOAK

from hebbgraph import HebbianIndex

# The same examples in every run; ``--hypothesis-profile=default`` draws others.
settings.register_profile("deterministic", derandomize=True, deadline=None)
settings.load_profile("deterministic")


@pytest.fixture
def soak() -> bool:
    """Whether to run the heavy counts: ``HEBBGRAPH_SOAK=1``."""
    return SOAK


@pytest.fixture
def memory() -> Iterator[HebbianIndex]:
    """An empty index in memory."""
    with HebbianIndex.open(":memory:") as index:
        yield index


@pytest.fixture
def ships(tmp_path: Path) -> Iterator[HebbianIndex]:
    """An index of the little corpus in a directory."""
    with HebbianIndex.open(tmp_path / "ships") as index:
        index.add(CORPUS)
        yield index


@pytest.fixture
def mount() -> Iterator[Callable[..., Path]]:
    """Mount something at a new directory; skip the test where that is not allowed."""
    mounted: list[Path] = []

    def run(*command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"cannot mount here: {done.stderr.strip()}")

    def do(at: Path, *, size: str | None = None, read_only_view_of: Path | None = None) -> Path:
        if os.name != "posix" or os.geteuid() != 0:
            pytest.skip("mounting takes root")
        at.mkdir(parents=True)
        if read_only_view_of is None:
            run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(at))
            mounted.append(at)
        else:
            run("mount", "--bind", str(read_only_view_of), str(at))
            mounted.append(at)
            run("mount", "-o", "remount,ro,bind", str(at))
        return at

    yield do
    for at in reversed(mounted):
        subprocess.run(["umount", "-l", str(at)], check=False)
