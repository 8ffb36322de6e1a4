"""Pages show what is kept: nobody changes a figure of one without the other."""

from __future__ import annotations

import re
from pathlib import Path

from hebbgraph_bench.proof.page import TABLES, fill_tables
from hebbgraph_bench.proof.stages import Results

ROOT = Path(__file__).parents[3]
PAGES = ("README.md", "docs/appendix.md", "docs/learning.md", "docs/proof.md")


def tables(page: str) -> dict[str, str]:
    return dict(re.findall(r"<!-- proof: ([\w -]+) -->\n(.*?)<!-- end -->", page, re.DOTALL))


def test_pages_show_what_is_kept() -> None:
    results = Results(ROOT / "benchmarks" / "results")
    seen = set()
    for place in PAGES:
        page = (ROOT / place).read_text("utf-8")
        shown, kept = tables(page), tables(fill_tables(page, results, ()))
        for name in shown.keys() & TABLES.keys():
            assert shown[name] == kept[name], f"{place}: {name}"
        seen |= shown.keys()
    assert TABLES.keys() <= seen
