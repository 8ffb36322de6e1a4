"""The trace in docs/architecture.md is what the code does today."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_page_shows_todays_rows() -> None:
    tool = runpy.run_path(str(ROOT / "tools/trace.py"))
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    _, _, rest = page.partition(tool["BEGIN"] + "\n")
    shown, _, _ = rest.partition("\n" + tool["END"])
    assert shown == tool["trace"]()
