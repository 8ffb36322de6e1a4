"""Indexes below a temporary folder, closed when a test ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hebbgraph import HebbianIndex
from hypothesis import settings

settings.register_profile("deterministic", derandomize=True, deadline=None)
settings.load_profile("deterministic")


@pytest.fixture
def open_index(tmp_path: Path) -> Iterator[Callable[..., HebbianIndex]]:
    with ExitStack() as stack:

        def open_one(name: str = "index", **options: Any) -> HebbianIndex:
            index = HebbianIndex.open(tmp_path / name, **options)
            stack.callback(index.close)
            return index

        yield open_one


@pytest.fixture
def make_index(open_index: Callable[..., HebbianIndex]) -> Callable[..., HebbianIndex]:
    def make(chunks: Iterable[Any], name: str = "index", **options: Any) -> HebbianIndex:
        index = open_index(name, **options)
        index.add(list(chunks))
        return index

    return make
