"""The pages for readers: their Python runs, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import hebbgraph
from hebbgraph import HebbianIndex

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
AT_THE_TOP = [ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")]
PAGES = [*AT_THE_TOP, *sorted(DOCS.glob("*.md"))]
#: What an inline link leads to; code is taken out first.
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]+`")


def _anchors(page: Path) -> set[str]:
    """Return what GitHub and Sphinx call the headings of a page."""
    headings = re.findall(r"^#+ +(.+)$", _FENCED.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", DOCS / "start.md"], ids=lambda page: page.stem
)
def test_the_python_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "dogs.md").write_text("# Dogs\n\nDogs sleep in the wood store.\n")
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    prose = _INLINE_CODE.sub("", _FENCED.sub("", page.read_text("utf-8")))
    lost = []
    for link in _LINK.findall(prose):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            lost.append(link)
    assert lost == []


def test_the_root_of_the_site_lists_every_page() -> None:
    root = (DOCS / "index.md").read_text("utf-8")
    (tree,) = re.findall(r"^```\{toctree\}\n(.*?)^```", root, re.MULTILINE | re.DOTALL)
    listed = {line for line in tree.splitlines() if line and not line.startswith(":")}
    assert listed == {page.stem for page in DOCS.glob("*.md")} - {"index"}


def test_the_page_of_names_lists_what_is_public() -> None:
    page = (DOCS / "api.md").read_text("utf-8")
    exported, methods = (
        _named(page, heading) for heading in ("## `hebbgraph`", "### Methods of `HebbianIndex`")
    )
    assert exported == set(hebbgraph.__all__) - {"__version__"}
    public = {name for name in dir(HebbianIndex) if not name.startswith("_")}
    assert methods - {"settings", "embedder", "tagger", "read_only", "namespace"} == public


def _named(page: str, heading: str) -> set[str]:
    """Return the names in the first column of the table below a heading."""
    table = page.partition(f"{heading}\n")[2].partition("\n#")[0]
    cells = [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| `")]
    return set(re.findall(r"`(\w+)", " ".join(cells)))
