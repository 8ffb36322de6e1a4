"""The page shows what is kept: nobody changes a figure of one without the other."""

from __future__ import annotations

import re
from pathlib import Path

from hebbgraph_bench.proof.page import TABLES, written
from hebbgraph_bench.proof.stages import Results

ROOT = Path(__file__).parents[3]


def tables(page: str) -> dict[str, str]:
    return dict(re.findall(r"<!-- proof: ([\w -]+) -->\n(.*?)<!-- end -->", page, re.DOTALL))


def test_the_page_shows_what_is_kept() -> None:
    page = (ROOT / "docs" / "proof.md").read_text("utf-8")
    shown, kept = tables(page), tables(written(page, Results(ROOT / "benchmarks" / "results"), ()))
    assert TABLES.keys() <= shown.keys()
    for name in TABLES:
        assert shown[name] == kept[name], name
