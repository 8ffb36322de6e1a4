"""Each example runs as it stands, offline, and is short; notebooks print what they keep."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
IMPORTED = ("src", "integrations/langchain", "integrations/llama_index")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example: Path, tmp_path: Path) -> None:
    assert len(example.read_text("utf-8").splitlines()) <= 60
    path = os.pathsep.join(str(ROOT / name) for name in IMPORTED)
    env = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, str(example)]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not list(tmp_path.iterdir())
    if example.stem == "demo":
        fails_is_taught_and_succeeds(done.stdout)


@pytest.mark.parametrize("name", ["langchain", "llama_index"])
def test_a_notebook_prints_what_it_keeps(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = json.loads((ROOT / f"examples/{name}.ipynb").read_text("utf-8"))
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
            kept = ["".join(output["text"]) for output in cell["outputs"]]
            assert capsys.readouterr().out == "".join(kept)


def fails_is_taught_and_succeeds(said: str) -> None:
    """In the library, and in both frameworks."""
    core, langchain, llama_index = said.split("——")[::2]
    before, after = core.split("That is taught for")
    assert "Cancelling  " not in before
    assert "1. Cancelling  " in after
    for framework in (langchain, llama_index):
        assert framework.index("before: []") < framework.index("after:  ['refund'")
