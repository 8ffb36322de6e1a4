"""The examples, the notebook and the README's code run as they stand."""

from __future__ import annotations

import json
import re
import socket
import warnings
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SAYS = {
    "query_engine.py": "it has rank 1.",
    "ingestion_pipeline.py": "One changed, two gone: 10 chunks",
    "agent.py": "First for a reworded question: Anton Reve kept bees",
    "over_vector_store_index.py": "After, the chapel's rank is 1",
}


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise OSError("an example reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.syspath_prepend(str(EXAMPLES))


def run(code: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, dict[str, Any]]:
    """Run code as a script would; in this process, since importing LlamaIndex takes long."""
    names = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Call to deprecated", module="__main__")
        exec(compile(code, "example", "exec"), names)
    return capsys.readouterr().out, names


@pytest.mark.parametrize("name", SAYS)
def test_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    said, _ = run((EXAMPLES / name).read_text(), capsys)
    assert SAYS[name] in said


def test_no_example_is_forgotten() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*SAYS, "offline.py"}


def test_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    notebook = json.loads((EXAMPLES / "learning.ipynb").read_text())
    assert notebook["nbformat"] == 4
    for cell in notebook["cells"]:
        assert cell["cell_type"] in ("code", "markdown")
        assert cell.get("outputs", []) == []
    cells = ["".join(one["source"]) for one in notebook["cells"] if one["cell_type"] == "code"]
    said, names = run("\n".join(cells), capsys)
    assert "recall@2" in said
    assert names["after_at_2"] > names["before_at_2"]
    assert names["untouched"] == 1.0


def test_the_page_leads_from_nothing_to_an_agent_that_learns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = ROOT.parents[1] / "docs" / "llama_index.md"
    if not page.exists():
        pytest.skip("the page is in the repository alone")
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    said, _ = run("\n".join(blocks), capsys)
    assert "Mooring costs four crowns" in said
    assert "net loft in Tessel Bay" in said


def test_the_tutorial_over_a_store(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = ROOT.parents[1] / "docs" / "tutorials" / "llama_index_store.md"
    if not page.exists():
        pytest.skip("the page is in the repository alone")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    said, _ = run("\n".join(blocks), capsys)
    assert "{'learned': 1}" in said


def test_readme(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 13
    said, _ = run("\n".join(blocks), capsys)
    assert "Tessel Bay" in said
