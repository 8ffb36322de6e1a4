"""The entry points of the three strategies, and ``bench --paper`` on small sets."""

from __future__ import annotations

import argparse
import json
import re
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from hebbgraph_bench.commands import add_commands

from hebbgraph.errors import ParameterError
from hebbgraph.recall.strategies import Strategy, named_strategy


def bench(*words: str) -> int:
    """Run the command as the core's command line does."""
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers())
    arguments = parser.parse_args(["bench", *words])
    code: int = arguments.run(arguments)
    return code


def test_every_entry_point_is_a_strategy_of_its_name(points: dict[str, str]) -> None:
    assert set(points) == {"bambookg", "bio_rag", "nakg"}
    assert set(points) <= {point.name for point in entry_points(group="hebbgraph.strategies")}
    for name in points:
        strategy = named_strategy(name)
        assert isinstance(strategy, Strategy)
        assert strategy.name == name
    with pytest.raises(ParameterError, match="bambookg, bio_rag, nakg"):
        named_strategy("rag")


@pytest.mark.parametrize("page", ["docs/papers.md", "extensions/papers/README.md"])
def test_the_python_of_a_page_runs(page: str, capsys: Any) -> None:
    text = (Path(__file__).parents[2] / page).read_text("utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    exec(compile(block, page, "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert all("Petrel" in line for line in printed), printed
    assert printed


def test_a_paper_is_one_of_three() -> None:
    with pytest.raises(ParameterError, match="bambookg, bio_rag, nakg; got 'rag'"):
        bench("--paper", "rag")
    with pytest.raises(ParameterError, match="got ''"):
        bench("--paper")


def test_bambookg_measures_contexts(tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "musique_small"
    folder.mkdir()
    corpus = [
        {"id": "1", "title": "Petrel", "text": "The Petrel was built by Ida Moss."},
        {"id": "2", "title": "Ida Moss", "text": "Ida Moss was born in Tessel Bay."},
        {"id": "3", "title": "Tides", "text": "High water comes to Tessel Bay twice a day."},
    ]
    question = "Where was the builder of the Petrel born?"
    query = {"id": "q", "question": question, "supporting_ids": ["1", "2"], "type": "2hop"}
    query["answers"] = ["Tessel Bay"]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (folder / "queries.jsonl").write_text(json.dumps(query))
    (folder / "tags.jsonl").write_text(json.dumps({"id": "1", "entities": ["Petrel"]}))
    assert bench("--paper", "bambookg", str(folder)) == 0
    printed = capsys.readouterr().out
    assert "**musique, 2 hops: 1 questions**" in printed
    assert "| BambooKG 5-3, whole context | 1.000 | 1.000 | 2.0 | " in printed
    assert "| BambooKG 5-3, an LLM's tags, whole context | .000 | .000 | 0.0 | " in printed
    assert "\n| 3 | " in printed.partition("within communities")[2]


def test_bio_rag_learns_in_rounds(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from hebbgraph_bench.papers import bio_rag

    monkeypatch.setattr(bio_rag, "ROUNDS", 1)
    monkeypatch.setattr(bio_rag, "_CURVE", (10_000,))
    assert bench("--paper", "bio_rag", "harrow") == 0
    printed = capsys.readouterr().out
    assert "| Bio-RAG, static | .500 | .310 | .829 | .611 |" in printed
    assert "| weights at the ceiling, no decay | 255,888 | .743 | +.000 [+.000, +.000] |" in printed
    assert "**Remedy 5, harrow: nDCG@10, reinforced minus static**" in printed


def test_nakg_measures_the_growth_of_its_cost(capsys: Any) -> None:
    pytest.importorskip("torch")
    from hebbgraph_bench.papers.nakg import growth

    (few, more) = growth([100, 300], 0)
    assert (few["chunks"], few["clusters"]) == (100, 1)
    assert few["edges"] < more["edges"] < 300 * 299
