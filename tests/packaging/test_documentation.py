"""What the README and the pages of ``docs/`` show: it runs, and it is there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
import typer

import hebbgraph.embedders
from hebbgraph import Chunk, HebbianIndex
from hebbgraph.cli import app

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *DOCS,
    ROOT / "benchmarks" / "README.md",
    ROOT / "usebench" / "README.md",
    *sorted(ROOT.glob("extensions/*/README.md")),
    *sorted(ROOT.glob("integrations/*/README.md")),
]

DOCUMENTS = [
    {"id": "rooke", "title": "Anselm Rooke", "text": "He looked through the Halloran Refractor."},
    {"id": "lens", "title": "Halloran Refractor", "text": "Its lens was ground by Ismene Bright."},
]

#: Rooms of the source that open with a map of their files.
ROOMS = [
    ROOT / "src" / "hebbgraph" / name
    for name in (
        "citations", "derived", "formulas", "graph", "learning",
        "recall", "store", "text", "vectors",
    )
] + [
    ROOT / "extensions" / name / f"hebbgraph_{name}" for name in ("documents", "server")
] + [
    ROOT / "extensions" / "scale" / "hebbgraph_scale" / name for name in ("", "build")
]  # fmt: skip

#: Pages that the integrations' own tests run.
OF_INTEGRATIONS = ("langchain.md", "llama_index.md", "llama_index_store.md", "taking_over.md")
#: Blocks that need what no test has.
NOT_RUN = (
    "postgresql+psycopg://",
    "hebbgraph_papers import NeuralSpreading",
    "hebbgraph_papers.nakg",
)


class Vectors:
    """Embeds by letters; what a model's name is given to."""

    def __init__(self, name: str = "letters") -> None:
        self.model_name = name

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0 + text.lower().count(letter) for letter in "aeinorst"]


def blocks(page: Path, language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)
    return [textwrap.dedent(block) for block in found]


def framework_of(block: str) -> str:
    return next((one for one in ("langchain", "llama_index") if one in block), "")


def run(page: Path, names: dict[str, Any], framework: str = "") -> dict[str, Any]:
    """Run the blocks of a page one after the other, as a reader would."""
    for block in blocks(page, "python"):
        if framework_of(block) == framework and not any(one in block for one in NOT_RUN):
            exec(compile(block, page.name, "exec"), names)
    return names


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What a page takes for granted: texts, a model, an open index."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hebbgraph.embedders, "SentenceTransformerEmbedder", Vectors)
    now = datetime.now(UTC)
    names: dict[str, Any] = {
        "HebbianIndex": HebbianIndex,
        "documents": DOCUMENTS,
        "llm": lambda prompt: "Ida Moss [1].",
        "chat_model": lambda prompt: "[]",
        "prompt": str,
        "my_store": SimpleNamespace(texts=dict.fromkeys, search=lambda question: []),
        "yesterday": now - timedelta(days=1),
        "now": now,
    }
    own = names["index"] = HebbianIndex.open(":memory:")
    own.add([Chunk(id=f"c-{at}", title=f"Part {at}", text="Petrel captain") for at in range(8)])
    yield names
    own.close()
    if names["index"] is not own:
        names["index"].close()


def test_the_readme_runs(names: dict[str, Any]) -> None:
    done = run(README, names)
    assert done["recall"].hit("lens").path_text.startswith("question → ")
    with HebbianIndex.open("memory.hebb") as index:
        log = Path("feedback.jsonl")
        assert index.log.export(log) == 1


@pytest.mark.parametrize("framework", ["", "langchain", "llama_index"])
def test_the_first_blocks_of_the_readme_run_as_they_stand(
    framework: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing is defined for them, and no key is needed."""
    package = {
        "langchain": "langchain_hebbgraph",
        "llama_index": "llama_index.retrievers.hebbgraph",
    }
    if framework:
        pytest.importorskip(package[framework], reason="needs the integration")
    monkeypatch.chdir(tmp_path)
    block = next(one for one in blocks(README, "python") if framework_of(one) == framework)
    done: dict[str, Any] = {}
    exec(compile(block, "README.md", "exec"), done)
    if not framework:
        printed = capsys.readouterr().out
        exec(compile(block, "README.md", "exec"), done)  # it has learned meanwhile
        assert done["recall"].hits[0].chunk.id == "lens"
        assert capsys.readouterr().out == printed
        return
    answer = done["answer"]
    assert getattr(answer, "content", str(answer)) == "Ida Moss [1]."
    with done["retriever"].index as index:
        (lesson,) = index.lessons()
        assert [chunk.text for chunk in index.get(lesson.cited)] == [
            "The Petrel was built by Ida Moss."
        ]
        assert repr(lesson) in capsys.readouterr().out


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_pages_run(page: Path, names: dict[str, Any]) -> None:
    if "tenacity" in page.read_text("utf-8") or page.name == "taggers.md":
        pytest.importorskip("tenacity", reason="needs the extra hebbgraph[llm]")
    if page.name in ("serving.md", "team.md"):
        pytest.importorskip("fastapi", reason="needs the extra hebbgraph[server]")
    for block in blocks(page, "python"):
        compile(block, page.name, "exec")
    if page.name not in OF_INTEGRATIONS:
        run(page, names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.S | re.M)
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", text):
        if "://" in target:
            continue
        other = page.parent / target if target else page
        assert other.is_file(), target  # the site has no pages of folders
        if anchor:
            assert anchor in anchors(other), f"{target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as code hosts and the site make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.S | re.M)
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.M):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = name = re.sub(r"[^\w\- ]", "", shown).replace(" ", "-")
        for again in range(1, 100):
            if name not in found:
                break
            name = f"{slug}-{again}"
        found.add(name)
    return found


def test_the_animation_is_small_and_loads_nothing() -> None:
    drawn = (ROOT / "docs" / "images" / "recall.svg").read_text("utf-8")
    assert len(drawn) < 300_000
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(drawn).iter()}
    assert tags == {"svg", "title", "style", "text", "path", "g", "rect"}
    assert "url(" not in drawn


def test_every_page_is_in_the_navigation() -> None:
    front = (ROOT / "docs" / "index.md").read_text("utf-8")
    listed = {
        (ROOT / "docs" / target).resolve()
        for target in re.findall(r"^- .*\]\((.*)\)$", front, re.M)
    }
    assert {page.resolve() for page in PAGES} - listed == {ROOT / "docs" / "index.md"}


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_the_map_of_a_room_names_its_files(room: Path) -> None:
    told = (room / "__init__.py").read_text()
    files = (one.stem for one in room.glob("*.py") if one.name != "__init__.py")
    assert [name for name in sorted(files) if not re.search(rf"[`.]{name}(\.py)?`", told)] == []


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_a_page_begins_with_what_it_is_for(page: Path) -> None:
    title, blank, first = page.read_text("utf-8").splitlines()[:3]
    assert title.startswith("# ")
    assert not blank
    assert first[:1].isalpha()


def commands(page: Path) -> Iterator[list[str]]:
    for block in blocks(page, "(?:console)?"):
        for line in block.splitlines():
            shown = line.removeprefix("$ ").split("  #")[0].strip()
            if shown.startswith("hebbgraph "):
                yield shlex.split(re.sub(r"[\[\]]|…", "", shown))[1:]


def plugin_command(name: str) -> Any:
    """The command that another distribution brings; None if it is the core's own."""
    for entry in entry_points(group="hebbgraph.commands", name=name):
        plugin = typer.Typer()
        plugin.command(name)(entry.load())
        return typer.main.get_command(plugin)
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_their_options_exist(page: Path) -> None:
    group = typer.main.get_command(app)
    for words in commands(page):
        command: Any = group
        while hasattr(command, "commands"):
            command = command.commands[words[0]]
            words = words[1:]
        command = plugin_command(command.name) or command
        known = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known, words


def test_the_demo_shows_learning(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    before, after = done.stdout.split("After learning:")
    assert "not in the prompt" in before
    assert "not in the prompt" not in after
    rank = re.search(r"rank (\d+) +not in the prompt", before)
    assert rank is not None
    assert f"rank {rank[1]} again" in after
