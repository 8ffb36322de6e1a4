"""The size gate of ``make check``, on a small tree of its own; and what the four verbs load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from size_budget import VERBS, closure, modules_below

import hebbgraph

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "size_budget.py"
PROJECT = """
[project]
name = "hebbgraph"

[tool.hatch.build.targets.wheel]
packages = ["src/hebbgraph"]

[tool.hebbgraph.sizes]
module_lines = 8
function_lines = 3

[tool.hebbgraph.sizes.budgets]
"closure" = { modules = 3, lines = 20 }
"hebbgraph" = { modules = 9, lines = 90 }
"hebbgraph-scale" = { modules = 9, lines = 90 }
"all" = { modules = 9, lines = 90 }

[tool.hebbgraph.sizes.long_modules]
"src/hebbgraph/unused.py" = 12

[tool.hebbgraph.sizes.long_functions]

[tool.other]
kept = true
"""
EXTENSION = """
[project]
name = "hebbgraph-scale"

[tool.hatch.build.targets.wheel]
packages = ["hebbgraph_scale"]
"""
INDEX = """from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hebbgraph import unused

def recall():
    from hebbgraph.recall import rank
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with one extension: the verbs reach three modules of four, in 9 lines."""
    files = {
        "pyproject.toml": PROJECT,
        "src/hebbgraph/__init__.py": '"""Not reached by name."""\n',
        "src/hebbgraph/index.py": INDEX,
        "src/hebbgraph/recall/__init__.py": "",
        "src/hebbgraph/recall/rank.py": "import numpy\nrank = numpy.sort\n",
        "src/hebbgraph/unused.py": "#\n" * 12,
        "extensions/scale/pyproject.toml": EXTENSION,
        "extensions/scale/hebbgraph_scale/__init__.py": "#\n",
        "extensions/scale/tests/test_scale.py": "#\n" * 50,
        "tools/size_budget.py": TOOL.read_text("utf-8"),
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


def run(tree: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run the gate on a tree."""
    command = [sys.executable, str(tree / "tools" / "size_budget.py"), *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_sizes_within_the_budget_pass(tree: Path) -> None:
    done = run(tree)
    assert (done.returncode, done.stderr) == (0, "")
    assert "closure                   3 modules of 3,      9 lines of 20" in done.stdout
    assert "hebbgraph                 5 modules of 9,     22 lines of 90" in done.stdout
    assert "hebbgraph-scale           1 modules of 9,      1 lines of 90" in done.stdout
    assert "all                       6 modules of 9,     23 lines of 90" in done.stdout


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("src/hebbgraph/recall/rank.py", "from hebbgraph import unused\n", "closure: 5 modules"),
        ("src/hebbgraph/unused.py", "#\n" * 13, "module src/hebbgraph/unused.py: 13 lines"),
        ("src/hebbgraph/recall/rank.py", "#\n" * 9, "rank.py: 9 lines, at most 8: split it"),
        (
            "extensions/scale/hebbgraph_scale/a.py",
            'class A:\n    def f():\n        """D."""\n' + "        f()\n" * 3,
            "function extensions/scale/hebbgraph_scale/a.py:A.f: 4 lines, at most 3",
        ),
        ("extensions/scale/pyproject.toml", EXTENSION.replace("scale", "new", 1), "has no budget"),
    ],
)
def test_what_outgrows_its_budget_is_named(tree: Path, name: str, text: str, problem: str) -> None:
    (tree / name).write_text(text, "utf-8")
    done = run(tree)
    assert done.returncode == 1
    assert problem in done.stderr


def test_lowering_writes_smaller_sizes_only(tree: Path) -> None:
    (tree / "src/hebbgraph/unused.py").write_text("#\n" * 10, "utf-8")
    (tree / "src/hebbgraph/recall/rank.py").write_text("#\n" * 15, "utf-8")
    assert run(tree, "--lower").returncode == 1  # rank.py is too long, and no exception
    project = tomllib.loads((tree / "pyproject.toml").read_text("utf-8"))["tool"]
    sizes = project["hebbgraph"]["sizes"]
    assert sizes["budgets"]["closure"] == {"modules": 3, "lines": 20}
    assert sizes["budgets"]["hebbgraph-scale"] == {"modules": 1, "lines": 1}
    assert sizes["long_modules"] == {"src/hebbgraph/unused.py": 10}
    assert project["other"] == {"kept": True}


def test_the_four_verbs_load_no_more_than_the_budget_counts() -> None:
    code = """
import json, sys
from hebbgraph import HebbianIndex
with HebbianIndex.open(":memory:") as index:
    index.add(["Synapses learn.", "Learning needs synapses."])
    recall = index.recall("Do synapses learn?")
    index.reinforce(recall, cited=[recall.hits[0].chunk.id])
    index.recall("Do synapses learn?")
print(json.dumps([name for name in sys.modules if name.split(".")[0] == "hebbgraph"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(Path(hebbgraph.__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    reached = closure(VERBS, modules_below(ROOT / "src", "hebbgraph"))
    # The face with its other verbs, and the list of rank steps that it hands to the recaller.
    face = {
        "hebbgraph",
        "hebbgraph._version",
        "hebbgraph.hebbian_index",
        "hebbgraph.index.forgetting",
        "hebbgraph.recall.step_list",
    }
    assert set(json.loads(done.stdout)) - face <= reached
