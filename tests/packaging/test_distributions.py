"""What the wheels and source distributions hold."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import projects
import pytest

ROOT = projects.ROOT
PROJECTS = {folder: projects.package(folder).removeprefix("src/") for folder in projects.FOLDERS}


def built(project: str, into: Path, target: str) -> Path:
    """Build with the backend that is installed, so that nothing is fetched."""
    pytest.importorskip("hatchling", reason="needs hatchling, which builds the distributions")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)],
        cwd=ROOT / project,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"SOURCE_DATE_EPOCH": "1580601600"},
    )
    assert done.returncode == 0, done.stderr
    (path,) = into.iterdir()
    return path


@pytest.mark.parametrize("project", PROJECTS)
def test_a_wheel_holds_the_package_and_no_tests(project: str, tmp_path: Path) -> None:
    package = PROJECTS[project]
    names = zipfile.ZipFile(built(project, tmp_path, "wheel")).namelist()
    assert f"{package}/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    sources = {str(path.relative_to(ROOT / project)) for path in _package(project).rglob("*.py")}
    assert {name.removeprefix("src/") for name in sources} <= set(names)
    outside = [n for n in names if not n.startswith(f"{package}/") and ".dist-info/" not in n]
    assert outside == []
    if project == "extensions/server":
        page = {name.rpartition("/")[2] for name in names if "server/page/" in name}
        assert {"index.html", "page.js", "style.css", "icon.svg", "LICENSES.txt"} <= page
    if project == "benchmarks":
        corpus = [name for name in names if "bio_rag/corpus/" in name]
        assert len(corpus) == 41  # forty documents and their questions


@pytest.mark.parametrize("project", PROJECTS)
def test_a_source_distribution_holds_what_its_tests_need(project: str, tmp_path: Path) -> None:
    with tarfile.open(built(project, tmp_path, "sdist")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names
    tops = {name.partition("/")[0] for name in names}
    assert "tests" in tops
    if project == ".":
        assert {"docs", "src", "Makefile", "constraints.txt"} <= tops
        others = {name for name in PROJECTS if name != "."}
        assert {f"{name}/pyproject.toml" for name in others} <= names


def _package(project: str) -> Path:
    return ROOT / project / projects.package(project)
