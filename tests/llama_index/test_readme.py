"""The README's programs run, twice, and leave the same chunks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hebbgraph import HebbianIndex

README = Path(__file__).parents[2] / "integrations/llama_index/README.md"


def test_the_readme_runs_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = README.read_text()
    assert len(text.splitlines()) <= 165
    program = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        names: dict[str, Any] = {}
        exec(compile(program, str(README), "exec"), names)
        assert names["learner"].counts == {"learned": 1}
        for path in ("llama_index.hebb", "pipeline.hebb"):
            with HebbianIndex.open(path) as index:
                assert index.stats()["chunks"] == 2
