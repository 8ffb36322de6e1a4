"""NAKG's experiment on a few chunks, and the growth of its cost on a few vectors."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hebbgraph import Chunk, ParameterError
from hebbgraph_papers.nakg import NeuralSettings

from hebbgraph_bench import Dataset, Query
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.papers import PaperOptions, bench_paper, nakg, nakg_growth

TINY = NeuralSettings(
    heads=2, head_size=4, edge_layers=1, hidden=8, layer_heads=2, edge_epochs=1, retrieval_epochs=1
)
TOPICS = ("owl", "reef", "kiln")
SET = Dataset(
    "three topics",
    tuple(
        Chunk(id=f"{topic}{n}", text=f"Note {n} about the {topic}.")
        for topic in TOPICS
        for n in "abcd"
    ),
    tuple(
        Query(f"{topic}{n}", f"What is said of the {topic}, in note {n}?", {f"{topic}{n}": 1})
        for topic in TOPICS
        for n in "abcd"
    ),
)


class Hashed:
    model_name = "hashed"

    def embed_query(self, text: str) -> list[float]:
        seed = int(hashlib.md5(text.encode()).hexdigest()[:8], 16)
        vector = 0.1 * np.random.default_rng(seed).standard_normal(6)
        vector[:3] += [text.count(topic) for topic in TOPICS]
        return list(vector)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def test_half_teaches_and_the_other_half_is_asked(tmp_path: Path) -> None:
    result = nakg.measure_nakg(SET, CachingEmbedder(Hashed()), settings=TINY)
    assert (result.chunks, result.learned, result.asked) == (12, 6, 6)
    arms = (*nakg.UNTAUGHT, *nakg.TAUGHT)
    assert set(result.values) == {arm.name for arm in arms}
    assert all(0 <= column.mean() <= 1 for v in result.values.values() for column in v.values())
    assert result.reports[0].questions == 0
    assert result.reports[1].questions > 0
    assert all((result.difference(arm, "R@5") is None) == (arm.baseline is None) for arm in arms)
    grids = nakg._grids(result)
    assert "spreading + NAKG edges" in grids[0].markdown()
    pytest.importorskip("matplotlib")
    assert nakg.plot_differences([result], tmp_path).stat().st_size > 0


def test_growth_is_measured_stage_by_stage(tmp_path: Path) -> None:
    points = nakg_growth.measure_growth((40, 80, 160), settings=TINY, dimension=8)
    assert [point.chunks for point in points] == [40, 80, 160]
    assert all(point.edges >= 2 * point.chunks for point in points)
    assert "exponent" in nakg_growth.growth_grid(points).markdown()
    pytest.importorskip("matplotlib")
    assert nakg_growth.plot_growth(points, tmp_path).stat().st_size > 0


def test_the_command_shows_the_papers_figures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        nakg, "measure_growth", lambda **_: nakg_growth.measure_growth((40, 80), settings=TINY)
    )
    results, points = bench_paper("nakg", (), PaperOptions(json_path=tmp_path / "nakg.json"))
    assert (results, len(points)) == ([], 2)
    assert "0.943 ± 0.008" in (tmp_path / "nakg.md").read_text()


def test_sets_need_an_embedder(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="--embedder"):
        bench_paper("nakg", [tmp_path])
