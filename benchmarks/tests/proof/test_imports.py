"""What a measurement follows from: modules, and what these import."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hebbgraph_bench.proof.imports import imported
from hebbgraph_bench.proof.rivals import RIVALS


def _names(*roots: str, **options: tuple[str, ...]) -> set[str]:
    return {"/".join(path.parts[-2:]) for path in imported(roots, **options)}


def test_ours_follows_from_the_core_and_from_what_measures_it() -> None:
    found = _names("hebbgraph_bench.proof.retrieval")
    assert {"index/asking.py", "formulas/activation.py", "strategies/spreading.py"} <= found
    assert {"hebbgraph_bench/baselines.py", "hebbgraph_bench/protocol.py"} <= found
    assert "hebbgraph_bench/linear_rag.py" not in found
    assert "server/app.py" not in found


@pytest.mark.parametrize("name", ["LinearRAG", "LlamaIndex", "LangChain"])
def test_a_rival_follows_from_no_index_of_ours(name: str) -> None:
    found = _names(*RIVALS[name].code)
    assert not any(one.startswith(("recall/", "graph/", "index/")) for one in found)


def test_what_walks_over_our_tags_follows_from_the_core() -> None:
    assert "index/asking.py" in _names(*RIVALS["graph-retriever"].code)


def test_a_closed_package_is_not_entered() -> None:
    assert any(one.startswith("derived/") for one in _names("hebbgraph.index"))
    closed = _names("hebbgraph.index", closed=("hebbgraph.derived",))
    assert not any(one.startswith("derived/") for one in closed)


def test_nothing_that_a_process_loads_is_overlooked() -> None:
    """All of ours that an index in use has loaded, but for packages passed through."""
    script = """
import sys
from hebbgraph.hebbian_index import HebbianIndex
with HebbianIndex.open(":memory:") as index:
    index.add(["The harbour was built by Mira Voss."])
    recall = index.recall("Who built the harbour?")
    index.reinforce(recall, cited=[recall.hits[0].chunk.id])
    index.recall("Who built it?")
print(*(m.__file__ for n, m in sys.modules.items() if n.split(".")[0] == "hebbgraph"), sep="\\n")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = {path for path in done.stdout.split() if not path.endswith("__init__.py")}
    found = {str(path) for path in imported(["hebbgraph.hebbian_index"])}
    overlooked = {path.rpartition("/hebbgraph/")[2] for path in loaded - found}
    assert overlooked <= {"_version.py"}


def test_an_unknown_module_is_told() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"hebbgraph\.nothing"):
        imported(["hebbgraph.nothing"])
