"""The distributions of this repository, as their ``pyproject.toml`` describe them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
#: Folders of the distributions; the core first, then what goes with it.
FOLDERS = [
    ".",
    *sorted(
        path.parent.relative_to(ROOT).as_posix()
        for path in ROOT.glob("extensions/*/pyproject.toml")
    ),
    "usebench",
    "benchmarks",
    "integrations/langchain",
    "integrations/llama_index",
]


def pyproject(folder: str) -> dict[str, Any]:
    """The ``pyproject.toml`` of a distribution."""
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8"))


def project(folder: str) -> dict[str, Any]:
    """The table ``project`` of a distribution."""
    table: dict[str, Any] = pyproject(folder)["project"]
    return table


def package(folder: str) -> str:
    """The folder of a distribution's package, from that of the distribution."""
    wheel = pyproject(folder)["tool"]["hatch"]["build"]["targets"]["wheel"]
    (path,) = wheel.get("packages") or wheel["only-include"]
    return str(path)


def module(folder: str) -> str:
    """The name under which a distribution is imported."""
    return package(folder).removeprefix("src/").replace("/", ".")
