"""What the README shows runs, and the strategies are known by the names that it gives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hebbgraph import HebbianIndex

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("block", [block for block in BLOCKS if "embedder=" not in block])
def test_the_examples_run(block: str) -> None:
    names: dict[str, Any] = {"HebbianIndex": HebbianIndex}
    exec(block, names)
    assert "petrel" in [hit.chunk.id for hit in names["recall"].hits]


@pytest.mark.parametrize("name", ["neighbourhood", "breadth_first"])
def test_a_recall_says_by_which_strategy_it_was(name: str) -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(["The Petrel was built by Ida Moss."])
        assert index.recall("Who built the Petrel?", strategy=name).strategy == name
