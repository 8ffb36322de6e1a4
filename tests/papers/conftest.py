"""The strategies of this tree, whatever is installed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2] / "extensions/papers/pyproject.toml"
GROUP = "hebbgraph.strategies"


@pytest.fixture(autouse=True)
def points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Put the entry points of the project file on the path; return them."""
    found: dict[str, str] = tomllib.loads(PROJECT.read_text())["project"]["entry-points"][GROUP]
    folder = tmp_path / "site" / "hebbgraph_papers-0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: hebbgraph-papers\nVersion: 0\n")
    lines = [f"[{GROUP}]", *(f"{name} = {value}" for name, value in found.items())]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(folder.parent)
    return found
