"""The experiments of the papers, on a few chunks."""

from __future__ import annotations

import io
import json
from importlib import import_module
from pathlib import Path

import pytest
from hebbgraph.cli import app
from hebbgraph.errors import ParameterError
from hebbgraph.records import Chunk
from rich.console import Console
from typer.testing import CliRunner

from hebbgraph_bench import Dataset, Query
from hebbgraph_bench.papers import PAPERS, PaperOptions, bambookg, bench_paper
from hebbgraph_bench.papers.navigation import grids, measure_navigation

CHUNKS = (
    Chunk(id="a", title="Gull", text="A Gull nests near Mira Voss Harbour."),
    Chunk(id="b", title="Harbour", text="The harbour was built by Mira Voss."),
    Chunk(id="c", title="Mira Voss", text="Mira Voss was an engineer born in Tarn."),
    Chunk(id="d", title="Tarn", text="Tarn is a town in the north."),
)
QUERIES = (
    Query("1", "Where was the builder of the Harbour born?", {"b": 1, "c": 1}, ("Tarn",), "2hop"),
    Query("2", "Is Tarn in the north?", {"d": 1}, ("yes",), "3hop1"),
)
MUSIQUE = Dataset("musique_small", CHUNKS, QUERIES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "musique_small"
    path.mkdir()
    rows = [{"id": c.id, "title": c.title, "text": c.text} for c in CHUNKS]
    (path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = [
        {
            "id": q.id,
            "question": q.text,
            "answers": list(q.answers),
            "supporting_ids": list(q.relevant),
            "type": q.type,
        }
        for q in QUERIES
    ]
    (path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    return path


def test_every_paper_has_a_runner() -> None:
    assert all(callable(import_module(module).run) for module in PAPERS.values())


def test_an_unknown_paper_is_named() -> None:
    with pytest.raises(ParameterError, match=r"bambookg.*got 'bamboo'"):
        bench_paper("bamboo")


def test_bambookg_needs_a_set() -> None:
    with pytest.raises(ParameterError, match="evaluation set"):
        bench_paper("bambookg")


def test_contexts_count_answers_and_tokens() -> None:
    result = bambookg.measure_contexts(MUSIQUE, k=2)
    assert result.kinds == ("musique 2 hops", "musique 3 hops")
    by_name = {system.system: system.values for system in result.systems}
    assert {"RAG (BM25), top 5", "BambooKG 5-3, whole context"} <= set(by_name)
    rag = by_name["RAG (BM25), top 5"]
    assert rag["answer"][0] == 1.0
    assert str(rag["answer"][1]) == "nan"  # a yes stands in no text
    whole, cut = by_name["BambooKG 5-3, whole context"], by_name["BambooKG 5-3, top 2"]
    assert (whole["chunks"] >= cut["chunks"]).all()
    assert (whole["tokens"] >= cut["tokens"]).all()


def test_the_command_line_writes_figures_beside_the_papers(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "out.json"
    plots = tmp_path / "plots"
    arguments = ["bench", str(folder), "--paper", "bambookg", "--json", str(path)]
    done = CliRunner().invoke(app, [*arguments, "--plots", str(plots)])
    assert done.exit_code == 0, done.output
    content = json.loads(path.read_text())
    assert set(content["sets"][0]["kinds"]) == {"musique 2 hops", "musique 3 hops"}
    assert "| paper: BambooKG 5-3 | 69 % (judged)" in path.with_suffix(".md").read_text()
    assert [file.name for file in plots.iterdir()] == ["bambookg-contexts.png"]


def test_navigation_is_measured_at_every_size() -> None:
    points = measure_navigation(MUSIQUE, shares=(0.5, 1.0))
    assert [point.chunks for point in points] == [3, 4]  # the gold is always there
    whole = points[-1]
    assert whole.tokens_inside <= whole.tokens
    assert whole.recall_inside <= whole.recall
    assert -1.0 <= whole.agreement_anew <= 1.0
    assert len(grids("small", points)) == 2


def test_tables_go_to_the_console(folder: Path) -> None:
    out = io.StringIO()
    bench_paper("bambookg", [folder], PaperOptions(console=Console(file=out, width=200)))
    assert "musique 2 hops: 1 questions over 4 chunks" in out.getvalue()


def test_studies_exclude_each_other(folder: Path) -> None:
    done = CliRunner().invoke(app, ["bench", str(folder), "--paper", "bambookg", "--ablation"])
    assert done.exit_code == 2
