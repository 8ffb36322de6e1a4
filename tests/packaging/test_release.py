"""What a release must agree on: versions, licences, how to cite."""

from __future__ import annotations

import json
import re

import pytest
from projects import FOLDERS, ROOT, project

import hebbgraph

SERVER = ROOT / "extensions" / "server"


def test_the_citation_names_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^version: (.+)$", citation, re.M)[1] == hebbgraph.__version__  # type: ignore[index]
    assert re.search(r"^license: (.+)$", citation, re.M)[1] == project(".")["license"]  # type: ignore[index]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_distribution_says_its_licence_and_the_same_versions_of_python(folder: str) -> None:
    own, core = project(folder), project(".")
    assert (own["license"], own["requires-python"]) == (core["license"], core["requires-python"])
    assert (ROOT / folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


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
