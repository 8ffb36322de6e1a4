"""What the README shows runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    (tmp_path / "example.py").write_text(block, "utf-8")
    names = {"__name__": "__main__"}
    exec(compile(block, "example.py", "exec"), names)
    index = names["HebbianIndex"].open("memory.hebb", settings="saved")  # type: ignore[attr-defined]
    assert index.stats().chunks == 1
    index.close()
