"""The page of the repository shows what stored results hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from usebench.tables import depth, gains

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "usebench.md"
STORED = sorted((ROOT / "benchmarks" / "results").glob("usebench-*.json"))


@pytest.mark.skipif(not PAGE.exists(), reason="the page is in the repository, not in this archive")
@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_every_stored_figure_stands_on_the_page(path: Path) -> None:
    page = PAGE.read_text("utf-8")
    for result in json.loads(path.read_text("utf-8"))["sets"]:
        table = gains(result) if result["scored"]["shares"] else depth(result)
        for row in table.splitlines()[2:]:
            assert row in page
