"""The README runs, twice; few names at the top."""

from __future__ import annotations

import re
from pathlib import Path

import langchain_hebbgraph
import pytest

from hebbgraph import HebbianIndex

ROOT = Path(__file__).parents[2]
README = (ROOT / "integrations/langchain/README.md").read_text(encoding="utf-8")


def test_the_quickstart_run_twice_has_the_same_passages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    for _ in range(2):
        names: dict[str, object] = {}
        for block in blocks:
            exec(block, names)
        names["retriever"].close()  # type: ignore[attr-defined]
    printed = "She grew up in Tessel Bay [2]. {'learned': 2}"
    assert capsys.readouterr().out.splitlines() == [printed] * 2
    with HebbianIndex.open("langchain.hebb", read_only=True) as index:
        assert len(index.ids()) == 2
        assert {lesson.actor for lesson in index.lessons()} == {"ann"}


def test_few_names_are_at_the_top() -> None:
    names = langchain_hebbgraph.__all__
    assert len(names) <= 11
    assert all(getattr(langchain_hebbgraph, name) for name in names)
    assert "CitingMiddleware" not in names  # import * works without its extra
    assert not hasattr(langchain_hebbgraph, "HebbianStore")
