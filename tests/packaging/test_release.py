"""What a release must agree on: versions, licences, how to cite."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import version
from projects import FOLDERS, ROOT, project

import hebbgraph

SERVER = ROOT / "extensions" / "server"


def test_the_citation_names_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^version: (.+)$", citation, re.M)[1] == hebbgraph.__version__  # type: ignore[index]
    assert re.search(r"^license: (.+)$", citation, re.M)[1] == project(".")["license"]  # type: ignore[index]


def test_all_distributions_have_one_version() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "version.py"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, hebbgraph.__version__), done.stdout
    assert {str(Path(folder, "pyproject.toml")) for folder in FOLDERS[1:]} - set(
        version.PLACES
    ) == {
        "usebench/pyproject.toml"  # it reads its _version.py
    }


def test_a_new_version_is_written_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in version.PLACES:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes((ROOT / place).read_bytes())
    monkeypatch.setattr(version, "ROOT", tmp_path)
    assert version.main(["0.2.0rc1"]) == 0
    assert set(version.versions().values()) == {"0.2.0rc1"}
    assert version.main(["two"]) == 2
    (tmp_path / "CITATION.cff").write_text("version: 0.3.0\n", "utf-8")
    assert version.main([]) == 1


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_distribution_says_its_licence_and_the_same_versions_of_python(folder: str) -> None:
    own, core = project(folder), project(".")
    assert (own["license"], own["requires-python"]) == (core["license"], core["requires-python"])
    assert (ROOT / folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_each_distribution_is_published_from_an_environment_of_its_own() -> None:
    """PyPI takes one publisher of a project to be made for a workflow and environment."""
    workflow = (ROOT / ".github" / "workflows" / "publish.yml").read_text("utf-8")
    listed = re.search(r"^ +distribution:\n((?: +- \w+\n)+)", workflow, re.M)
    assert listed is not None
    names = [project(folder)["name"].replace("-", "_") for folder in FOLDERS]
    assert re.findall(r"- (\w+)", listed[1]) == names
    assert "environment: pypi-${{ matrix.distribution }}" in workflow


def test_every_extension_comes_with_an_extra_of_the_core() -> None:
    extras = project(".")["optional-dependencies"]
    needs = {re.split(r"[\[><=]", need)[0] for needs in extras.values() for need in needs}
    extensions = {project(folder)["name"] for folder in FOLDERS if folder.startswith("extensions/")}
    assert extensions <= needs


# usebench measures any retriever, and needs none of ours.
@pytest.mark.parametrize("folder", [name for name in FOLDERS[1:] if name != "usebench"])
def test_what_goes_with_the_core_takes_this_version_of_it(folder: str) -> None:
    (core,) = [
        need for need in project(folder)["dependencies"] if re.match(r"hebbgraph\b(?!-)", need)
    ]
    lowest, highest = re.findall(r"[><]=?\s*([\d.]+)", core)
    version = [int(part) for part in hebbgraph.__version__.split(".")]
    assert [int(part) for part in lowest.split(".")] <= version
    assert version < [int(part) for part in highest.split(".")]


def test_the_changelog_has_the_form_of_keep_a_changelog() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    versions = re.findall(r"^## (.+)$", text, re.M)
    assert versions[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", one) for one in versions[1:])
    for section in re.split(r"^## .+$", text, flags=re.M)[1:]:
        kinds = re.findall(r"^### (.+)$", section, re.M)
        assert len(kinds) == len(set(kinds)), kinds
        assert set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_licences_of_what_the_page_carries_are_listed() -> None:
    """The page's script holds other people's code, in the versions that its ``ui/`` names."""
    packages = json.loads((SERVER / "ui" / "package.json").read_text("utf-8"))["devDependencies"]
    shipped = {name: version for name, version in packages.items() if name != "esbuild"}
    page = SERVER / "hebbgraph_server" / "page"
    listed = (page / "LICENSES.txt").read_text("utf-8").splitlines()
    assert {f"{name} {version}" for name, version in shipped.items()} <= set(listed)
