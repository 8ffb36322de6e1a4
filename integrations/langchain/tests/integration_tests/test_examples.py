"""The examples run, offline, and say what they promise; so does the README."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parents[2]
EXAMPLES = HERE / "examples"


def run(name: str) -> str:
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, name],
        cwd=EXAMPLES,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_rag_chain() -> None:
    out = run("rag_chain.py")
    ranks = [int(rank) for rank in re.findall(r"at rank (\d+)", out)]
    assert len(ranks) == 4
    assert ranks[2] < ranks[0]
    assert ranks[3] < ranks[1]
    assert "J. Ash drew them [" in out


def test_agent() -> None:
    out = run("agent.py")
    assert "learned: [('ledger-of-1871',)]" in out
    assert "taken back: [('ledger-of-1871',)]" in out


def test_wrap_vector_store() -> None:
    lines = run("wrap_vector_store.py").splitlines()
    before, after = ([*line.split("'")[1::2]] for line in (lines[1], lines[-1]))
    assert after.index("Ida Moss") < before.index("Ida Moss")


def test_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = json.loads((EXAMPLES / "learning.ipynb").read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = notebook["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert all(cell["cell_type"] in ("code", "markdown") for cell in cells)
    assert all(cell["outputs"] == [] for cell in cells if cell["cell_type"] == "code")
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names: dict[str, Any] = {"__name__": "__main__"}
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for cell in cells:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    assert names["after"][0] == 1.0
    assert names["after"][1] > names["before"][1]
    assert "recall@3 after:" in out.getvalue()


def test_the_page_leads_from_nothing_to_an_agent_that_learns(tmp_path: Path) -> None:
    """Its blocks, one after the other, in a process of their own."""
    page = HERE.parents[1] / "docs" / "langchain.md"
    if not page.exists():
        pytest.skip("the page is in the repository alone")
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "Mooring costs four crowns" in done.stdout
    assert "net loft in Tessel Bay" in done.stdout


def test_readme(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All Python of the README, in one go, with a scripted model in place of the real one."""
    text = (HERE / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 5
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    from scripted import ScriptedChat  # type: ignore[import-not-found]

    names: dict[str, Any] = {"__name__": "__main__"}
    monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda name: ScriptedChat())
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    names["learner"].uninstall()
    assert names["learner"].flush(10)
