"""The toys of ``docs/extending.md`` take effect wherever a user would expect them to."""

from __future__ import annotations

import asyncio
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hebbgraph import Chunk, HebbianIndex, SettingsMismatchError
from hebbgraph.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"


def section(heading: str) -> str:
    """The example under a heading of the page."""
    text = PAGE.read_text("utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    return textwrap.dedent(block)


def toy(heading: str, name: str) -> Any:
    names: dict[str, Any] = {}
    exec(section(heading), names)
    return names[name]


@pytest.mark.parametrize("heading", ["A strategy of your own", "A tagger of your own"])
def test_a_toy_is_short(heading: str) -> None:
    assert len(section(heading).splitlines()) < 30


# -- the strategy -------------------------------------------------------------------

CHUNKS = [
    Chunk(id="log", text="Petrel, Petrel, Petrel: the Petrel sank.", metadata={"kind": "log"}),
    Chunk(id="ship", title="Petrel", text="A barque that Ida Moss built in a small yard."),
    Chunk(id="moss", title="Ida Moss", text="She was born in Tessel Bay."),
]


@pytest.fixture
def index() -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:") as opened:
        opened.keep_recalls()
        opened.add(CHUNKS)
        yield opened


def ids(recall: Any) -> list[str]:
    return [hit.chunk.id for hit in recall.hits]


@pytest.fixture
def titles_first() -> Any:
    return toy("A strategy of your own", "TitlesFirst")()


def test_the_strategy_ranks_in_its_own_way(index: HebbianIndex, titles_first: Any) -> None:
    recall = index.recall("What is the Petrel?", strategy=titles_first)
    assert ids(recall)[0] == "ship"
    assert recall.strategy == "titles_first"
    assert recall.hits[0].score > 1.0
    assert len(recall.hits) == 3  # it pads
    assert ids(index.recall("What is the Petrel?", strategy="breadth_first")) != ids(recall)


def test_the_strategy_holds_to_filters(index: HebbianIndex, titles_first: Any) -> None:
    for where in ({"kind": "log"}, lambda chunk: chunk.id == "log"):
        recall = index.recall("What is the Petrel?", strategy=titles_first, where=where)
        assert ids(recall) == ["log"]


def test_feedback_on_the_strategys_recall_moves_other_recalls(
    index: HebbianIndex, titles_first: Any
) -> None:
    before = index.recall("What is the Petrel?").hit("moss")
    recall = index.recall("What is the Petrel?", strategy=titles_first)
    index.reinforce(recall.id, cited=["moss"])  # by id: it is kept like any other
    after = index.recall("What is the Petrel?").hit("moss")
    assert before is not None
    assert after is not None
    assert after.score > before.score


def test_the_strategy_works_async(index: HebbianIndex, titles_first: Any) -> None:
    recall = asyncio.run(index.arecall("What is the Petrel?", strategy=titles_first))
    assert ids(recall)[0] == "ship"


# -- the tagger ---------------------------------------------------------------------

SHIPS = [
    {"id": "petrel", "text": "The barque Petrel was built by Ida Moss."},
    {"id": "tern", "text": "The schooner Tern carried hemp."},
    {"id": "wren", "text": "The skiff Wren lies in the harbour."},
]
WHICH = "Which sailing ship is there?"


def test_the_tagger_joins_what_has_no_word_in_common(tmp_path: Path) -> None:
    kinds = toy("A tagger of your own", "kinds")
    with HebbianIndex.open(":memory:") as plain:
        plain.add(SHIPS)
        assert plain.recall(WHICH).cues == ()
    with HebbianIndex.open(tmp_path / "i", tagger=kinds) as index:
        index.add(SHIPS)
        assert [cue.tag for cue in index.recall(WHICH).cues] == ["sailing ship"]
        assert set(ids(index.recall(WHICH, k=2))) == {"petrel", "tern"}
        index.reinforce(index.recall(WHICH), cited=["tern"])
        assert ids(asyncio.run(index.arecall(WHICH)))[0] == "tern"
    with HebbianIndex.open(tmp_path / "i") as index:  # its tags stay without it
        assert [cue.tag for cue in index.recall(WHICH).cues] == ["sailing ship"]
    with pytest.raises(SettingsMismatchError, match="kinds"):
        HebbianIndex.open(tmp_path / "i", tagger=lambda chunk: ())


def test_the_tagger_works_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_tagger.py").write_text(section("A tagger of your own").partition("\nwith")[0])
    for ship in SHIPS:
        (tmp_path / f"{ship['id']}.txt").write_text(ship["text"])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    made = run(
        app,
        [
            "index",
            "petrel.txt",
            "tern.txt",
            "wren.txt",
            "--db",
            "db",
            "--tagger",
            "my_tagger:kinds",
        ],
    )
    assert made.exit_code == 0, made.output
    asked = run(app, ["query", WHICH, "--db", "db", "--json"])
    assert [cue["tag"] for cue in json.loads(asked.output)["cues"]] == ["sailing ship"]
