"""Ablation, scale and the command line, on a few chunks."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hebbgraph import HebbianIndex
from hebbgraph.cli import app
from hebbgraph.errors import MissingExtraError, ParameterError
from hebbgraph.formulas.activation import SpreadingParameters
from hebbgraph.records import Chunk
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from hebbgraph_bench import Dataset, HebbianRetriever, ablation, peers, scale, studies, walks
from hebbgraph_bench.datasets import Extraction, Query
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.graph_peer import GraphRetrieverPeer
from hebbgraph_bench.scale import changing
from hebbgraph_bench.tables import Grid

from .conftest import HashEmbedder


def test_every_variant_changes_a_parameter_that_is_there() -> None:
    default = SpreadingParameters()
    changed = {name: replace(default, **change) for name, change in ablation.VARIANTS.items()}
    assert len(changed) > 15


def test_ablation_compares_with_the_default(own_folder: Path, tmp_path: Path) -> None:
    out = io.StringIO()
    path = tmp_path / "figures.json"
    (result,) = studies.bench_ablation(
        [own_folder], k=3, json_path=path, console=Console(file=out, width=200)
    )
    assert next(iter(result.values)) == ablation.AS_IT_IS
    assert "no title salience" in result.values
    found = result.difference("no graph", "R@2")
    assert found.wins + found.ties + found.losses == 3
    assert "R@2: each variant minus as it is" in out.getvalue()
    content = json.loads(path.read_text())
    assert content["variants"]["no inhibition"] == {"inhibition": 1.0}
    assert set(content["sets"]["harbour"]["no graph"]["R@2"]) > {"mean", "difference", "low"}
    assert "| no graph |" in path.with_suffix(".md").read_text()


def test_variants_that_change_nothing_are_left_out(dataset: Dataset) -> None:
    steps = SpreadingParameters().n_steps
    result = ablation.ablate(dataset, variants={"same": {"n_steps": steps}})
    assert list(result.values) == [ablation.AS_IT_IS]


def test_llm_tags_reach_the_index(dataset: Dataset) -> None:
    plain, tagged = (
        HebbianRetriever("neighbourhood", extractions=extractions)
        for extractions in (None, {"a": Extraction(("sea bird", "nesting place"))})
    )
    found = []
    for retriever in (plain, tagged):
        retriever.index(dataset.corpus)
        found.append([hit.id for hit in retriever.retrieve("a sea bird", 3)])
        retriever.close()
    assert found[0] == []
    assert found[1][0] == "a"
    assert tagged.name == "hebbgraph neighbourhood + LLM tags"


def test_recombined_chunks_speak_of_a_population_drawn_by_zipfs_law() -> None:
    corpus = tuple(
        Chunk(id=str(n), title=f"Boat {n}", text="The Old Petrel sailed far. She met Ida Moss.")
        for n in range(5)
    )
    dataset = Dataset("boats", corpus, (Query("q", "Who sailed the Petrel?", {"0": 1}),))
    made = scale.Recombined([dataset], 300, seed=1)
    chunks = list(made.chunks())
    assert all(60 <= len(chunk.text.split()) <= 100 for chunk in chunks)
    assert len({chunk.id for chunk in chunks}) == 300
    assert chunks[5:9] == list(scale.Recombined([dataset], 300, seed=1).chunks(5, 9))
    text = " ".join(chunk.text for chunk in chunks)
    assert "Petrel" not in text
    df = [text.count(made.population.name(number)) for number in (0, 9, 99)]
    assert df[0] > 4 * df[1] > 8 * df[2] > 0
    names = [made.population.name(number) for number in range(made.population.size)]
    assert any(name in made.questions(1)[0] for name in names)
    with pytest.raises(ParameterError, match="0 sentences"):
        scale.Recombined([Dataset("none", (), ())], 1)


def test_scale_fills_every_figure(
    own_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changing, "_ADDED", 20)
    path = tmp_path / "scale.json"
    results = studies.bench_scale([own_folder], [30], vectors=["ivf"], queries=5, json_path=path)
    assert [result.dimension for result in results] == [None, 384]
    for result in results:
        assert result.chunks == 30
        assert result.recall_ms > result.spreading_ms > 0
        assert result.recall_to_tantivy > 0
        assert result.disk_bytes_per_chunk > 0
    assert "| recall, ms median |" in path.with_suffix(".md").read_text()
    with pytest.raises(ParameterError, match="quantized, ivf"):
        studies.bench_scale([own_folder], [30], vectors=["random"])


def test_peers_need_an_embedder_and_their_packages(
    dataset: Dataset, embedder: HashEmbedder, own_folder: Path
) -> None:
    from hebbgraph_bench import bench

    with pytest.raises(ParameterError, match="name an embedder"):
        bench([own_folder], peers=True)
    for kind in (GraphRetrieverPeer, peers.QueryFusionPeer):
        try:
            peer = kind(CachingEmbedder(embedder))
        except MissingExtraError as error:
            assert 'pip install "hebbgraph-bench[peers]"' in str(error)  # noqa: PT017
            continue
        peer.index(dataset.corpus)
        assert peer.retrieve("Mira Voss", 2)[0].id == "c"


def test_grid_escapes() -> None:
    grid = Grid("[a]", ("name", "x"), [("one|two", "[0, 1]")])
    assert grid.markdown() == "| name | x |\n|---|---:|\n| one/two | [0, 1] |\n"
    out = io.StringIO()
    grid.print(Console(file=out, force_terminal=True))
    assert "[0, 1]" in out.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("width", [40, 80])
def test_every_figure_is_shown_whole(terminal: bool, width: int) -> None:
    """At the width of a terminal in several tables, in a pipe in one."""
    figures = [[f"+0.0{row}{at} [-0.1{at}0, +0.2{row}0]" for at in range(7)] for row in range(3)]
    grid = Grid(
        "learning",
        ("arm", *(f"asked heavily reworded ({at}00)" for at in range(7))),
        [(f"a cache of past questions, {row}", *cells) for row, cells in enumerate(figures)],
        frozenset({(0, 1)}),
    )
    out = io.StringIO()
    grid.print(Console(file=out, force_terminal=terminal, width=width, color_system=None))
    shown = out.getvalue()
    assert "…" not in shown
    assert all(figure in shown for row in figures for figure in row)
    if terminal:
        assert max(map(len, shown.splitlines())) <= width
    else:
        assert len(shown.splitlines()) == 5  # title, headings, rows


def test_command_line_runs_one_study_at_a_time(own_folder: Path, tmp_path: Path) -> None:
    runner = CliRunner()
    wrong = runner.invoke(app, ["bench", str(own_folder), "--ablation", "--learning"])
    assert wrong.exit_code == 2
    path = tmp_path / "x.json"
    right = runner.invoke(app, ["bench", str(own_folder), "--ablation", "--json", str(path)])
    assert right.exit_code == 0, right.output
    assert path.exists()


def test_spreading_is_what_the_whole_graph_gives(own_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "walks.json"
    (result,), _ = studies.bench_walks([own_folder], json_path=path)
    assert result.spreading == result.dense
    assert result.same_top5 == 1.0
    assert "| own |" in path.with_suffix(".md").read_text() or result.dataset in path.read_text()


def test_walks_are_timed_on_one_graph(own_folder: Path) -> None:
    pytest.importorskip("igraph")
    _, (times,) = studies.bench_walks([own_folder], [60], questions=3)
    assert (times.chunks, times.networkx_cpu_ms is not None) == (60, True)
    assert times.edges > 0
    assert times.igraph_to_spreading > 0


def test_dense_spreading_leaves_incidental_phrases_their_share() -> None:
    texts = [("", "Ada Fenn the mill"), ("", "the mill"), ("Flo Tarn", "the mill Ada Fenn")]
    with HebbianIndex.open(":memory:") as index:
        index.add([{"title": title, "text": text} for title, text in texts])
        question, _ = walks.ask_recorded(index, "Flo Tarn")
        dense = walks.dense_scores(question)
        activation = question.found
        assert dense[activation.chunks] == pytest.approx(activation.scores, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_dense_spreading_equals_spreading_without_its_bounds(data: st.DataObject) -> None:
    """On random small graphs the beam is never full, so both must agree to the last digit."""
    names = ["Ada Fenn", "Bo Mill", "Cy Gull", "Di Rock", "Ed Moss", "Flo Tarn"]
    text = st.lists(st.sampled_from([*names, "met", "the mill", "and"]), max_size=6).map(" ".join)
    made = data.draw(
        st.lists(st.tuples(st.sampled_from(["", *names]), text), min_size=2, max_size=9)
    )
    query = " ".join(data.draw(st.lists(st.sampled_from([*names, "met"]), min_size=1, max_size=3)))
    with HebbianIndex.open(":memory:") as index:
        index.add(
            [
                {"id": str(n), "title": title, "text": body or "nothing"}
                for n, (title, body) in enumerate(made)
            ]
        )
        question, _ = walks.ask_recorded(index, query)
        dense = walks.dense_scores(question)
        assert dense[question.found.chunks] == pytest.approx(question.found.scores, abs=1e-12)
