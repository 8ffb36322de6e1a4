"""The pages for readers: their Python runs, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from served import served_process

import hebbgraph
from hebbgraph import HebbianIndex

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
AT_THE_TOP = [ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")]
PAGES = [*AT_THE_TOP, *sorted(DOCS.glob("*.md"))]
READMES = [*ROOT.glob("*/README.md"), *ROOT.glob("*/*/README.md")]
SERVER = ROOT / "extensions/server/README.md"
#: Pages whose Python other tests run, of their distribution.
RUN_ELSEWHERE = {
    SERVER,
    DOCS / "papers.md",
    DOCS / "scale.md",
    ROOT / "extensions/papers/README.md",
    ROOT / "integrations/langchain/README.md",
    ROOT / "integrations/llama_index/README.md",
    ROOT / "usebench/README.md",
}
#: What an inline link leads to; code is taken out first.
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]+`")


def _blocks(page: Path) -> list[str]:
    """Return the Python of a page."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def _shown(page: Path) -> str:
    return str(page.relative_to(ROOT))


RUN_HERE = [page for page in [*PAGES, *READMES] if _blocks(page) and page not in RUN_ELSEWHERE]


def _anchors(page: Path) -> set[str]:
    """Return what GitHub and Sphinx call the headings of a page."""
    headings = re.findall(r"^#+ +(.+)$", _FENCED.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", RUN_HERE, ids=_shown)
def test_the_python_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("docs/guide", "backups"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("docs/dogs.md", "docs/guide/setup.md", "notes.pdf"):
        (tmp_path / name).write_text("# Dogs\n\nDogs sleep in the wood store.\n")
    with HebbianIndex.open("pages.hebb") as index:
        index.add(
            [{"id": "deposit", "text": "A deposit is refunded."}, {"id": "money", "text": "Cash."}]
        )
        lesson = index.reinforce(index.recall("Who pays?"), cited=["money"])
        names: dict[str, Any] = {"index": index, "lesson": lesson, "data": b"# Dogs\n\nThey sleep."}
        for block in _blocks(page):
            exec(compile(block, str(page), "exec"), names)


def test_the_client_on_the_page_of_the_server_asks_and_teaches(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path / "pages.hebb") as index:
        index.add([{"id": "publish", "text": "Publish a package with twine."}])
    (block,) = _blocks(SERVER)
    with served_process(tmp_path / "pages.hebb") as (_, url, _):
        there = block.replace("http://127.0.0.1:4321", url).replace('"…"', "None")
        exec(compile(there, str(SERVER), "exec"), {})
    with HebbianIndex.open(tmp_path / "pages.hebb", read_only=True) as index:
        assert [list(lesson.cited) for lesson in index.lessons()] == [["publish"]]


@pytest.mark.parametrize("page", [*PAGES, *READMES], ids=_shown)
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
