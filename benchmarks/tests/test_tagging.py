from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from rich.console import Console

from hebbgraph_bench import Dataset, HebbianRetriever, studies
from hebbgraph_bench.tagging import (
    MODEL_FREE,
    SPOILT,
    Arm,
    generic_added,
    grids,
    measure_taggers,
    randomised,
    thinned,
)


def test_spoiling_changes_postings_and_nothing_else(dataset: Dataset) -> None:
    retriever = HebbianRetriever()
    try:
        retriever.index(dataset.corpus)
        graph = retriever.opened.parts.derived.graph
        before = graph.incidence.postings(np.arange(graph.n_slots))
        rng = np.random.default_rng(0)
        dealt = randomised(graph, rng)
        titles = before.tags[before.is_title]
        assert sorted(dealt.tags[dealt.is_title]) == sorted(titles)
        assert set(dealt.tags) == set(before.tags)
        assert len(thinned(graph, rng, 0.5).tags) < len(before.tags)
        assert len(thinned(graph, rng, 0.0).tags) == len(before.tags)
        more = generic_added(graph, rng, pool=9, count=2)
        assert np.array_equal(np.diff(more.indptr), np.diff(before.indptr) + 2)
        after = graph.incidence.postings(np.arange(graph.n_slots))
        assert all(np.array_equal(*pair) for pair in zip(before, after, strict=True))
    finally:
        retriever.close()


def test_taggers_are_compared_with_none(dataset: Dataset) -> None:
    arms = [Arm(MODEL_FREE), Arm("callable", lambda chunk: ["sea bird"])]
    results = measure_taggers(dataset, arms=arms, n_seeds=2)
    assert [result.name for result in results] == [MODEL_FREE, "callable", *SPOILT]
    assert results[1].calls == len([c for c in dataset.corpus if c.title or c.text])
    assert results[1].tags_per_chunk > results[0].tags_per_chunk
    (table,) = grids({"harbour": results}, 10)
    assert len(table.rows) == len(results)


def test_on_the_command_line(own_folder: Path, tmp_path: Path) -> None:
    out = io.StringIO()
    path = tmp_path / "figures.json"
    results = studies.bench_taggers(
        [own_folder], json_path=path, console=Console(file=out, width=250)
    )
    names = [result.name for result in results["harbour"]]
    assert names[0] == MODEL_FREE
    assert "model-free, aliases: spelling" in names
    assert "random tags, titles kept" in out.getvalue()
    assert "| random tags, titles kept |" in path.with_suffix(".md").read_text()
