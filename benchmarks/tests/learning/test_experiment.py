"""The whole learning study on a corpus written for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from hebbgraph.errors import ParameterError

from hebbgraph_bench import studies
from hebbgraph_bench.datasets import load
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.learning import measure_growth, run_learning
from hebbgraph_bench.learning.growth import grid

CHUNKS = [
    ("lamp", "The lamp of the tower was made by Edda Lund and burned oil."),
    ("oil", "Oil came from the whales that the crews of Skarn hunted."),
    ("edda", "Edda Lund learned her craft in the glassworks of Vell."),
    ("vell", "Vell has glassworks, a bridge and a market for oil."),
    ("crew", "The crews of Skarn sailed in spring and came home in autumn."),
    ("tower", "The tower of Skarn stands on the northern rock."),
    ("rock", "On the northern rock gulls nest in summer."),
    ("bridge", "The bridge of Vell was built from stone of the northern rock."),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    def write(name: str, rows: list[dict[str, Any]]) -> None:
        path = tmp_path / "skarn" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    write("corpus.jsonl", [{"id": id_, "title": "", "text": text} for id_, text in CHUNKS])
    write(
        "queries.jsonl",
        [
            {"id": "1", "question": "Who made the lamp?", "supporting_ids": ["lamp", "edda"]},
            {"id": "2", "question": "Where did oil come from?", "supporting_ids": ["oil", "crew"]},
            {"id": "3", "question": "Where do gulls nest?", "supporting_ids": ["rock"]},
        ],
    )
    write(
        "variants.jsonl",
        [
            {"id": "1", "keywords": "lamp maker", "follow_up": "Where did the maker learn?"},
            {"id": "2", "keywords": "oil origin"},
        ],
    )
    return tmp_path / "skarn"


def test_ours_learns_and_none_does_not(folder: Path) -> None:
    result = run_learning(load(folder), k=4, rounds=2, parts=["baselines"])
    assert list(result.strata) == ["same", "keywords", "follow_up", "untouched"]
    assert (result.learned, result.exposed["same"], result.exposed["untouched"]) == (2, 1.0, 0.0)
    none, ours = result.arm("none"), result.arm("ours")
    assert [point.asked for point in ours.curve] == [0, 1, 2, 4]
    assert ours.curve[0].recall == none.curve[-1].recall
    assert ours.values["same"]["MRR"].mean() >= none.values["same"]["MRR"].mean()
    assert result.difference("ours", "none", "untouched", "R@2").losses == 0
    with pytest.raises(ParameterError, match="no arm is called"):
        result.arm("theirs")
    with pytest.raises(ParameterError, match="at least 1"):
        run_learning(load(folder), rounds=0)


def test_the_study_writes_tables_json_and_plots(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "learning.json"
    results, growths = studies.bench_learning(
        [folder, folder],
        k=4,
        rounds=1,
        seeds=1,
        feedbacks=3,
        plots=tmp_path / "plots",
        json_path=path,
    )
    content = json.loads(path.read_text())
    assert content["learning"]["families"] == ["words", "vectors", "pairs"]
    assert len(content["sets"]) == len(results) == len(growths) == 2
    (first, *_) = content["sets"]
    names = [arm["name"] for arm in first["arms"]]
    assert names[:2] == ["none", "ours"]
    assert "10% of actors promote one chunk" in names
    assert set(first["changed_by_ours"]["same"]) == {"won", "lost"}
    assert [point["feedbacks"] for point in content["growth"][0]["points"]] == [0, 3]
    text = path.with_suffix(".md").read_text()
    assert "share of our gain" in text
    assert "pooled over skarn, skarn" in text
    assert {file.name for file in (tmp_path / "plots").iterdir()} == {
        "learning-skarn.png",
        "growth-skarn.png",
    }


def test_growth_counts_edges_and_times_both(folder: Path) -> None:
    empty, full = measure_growth(load(folder), 8, k=4)
    assert sum(empty.edges.values()) == 0
    assert sum(full.edges.values()) > 0
    assert full.recall_ms > 0
    assert full.ratio > 0
    assert full.reinforce_ms is not None
    with pytest.raises(ParameterError, match="at least 1"):
        measure_growth(load(folder), 0)


class Slow:
    """Embeds by length, and takes its time."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        sleep(0.002)
        return [1.0, float(len(text))]


def test_growth_tells_what_the_embedding_takes_apart(folder: Path) -> None:
    _, without = measure_growth(load(folder), 4, k=4)
    assert (without.embedding_ms, without.ratio_with_embedding) == (None, None)
    points = measure_growth(load(folder), 4, k=4, embedder=CachingEmbedder(Slow()))
    assert points[-1].embedding_ms is not None
    assert points[-1].embedding_ms >= 2.0
    # It adds the same to both times, so their ratio comes nearer to one.
    point = replace(points[-1], recall_ms=3.0, unlearned_ms=2.0, embedding_ms=8.0)
    assert point.ratio_with_embedding == pytest.approx(1.1)
    *_, embedding, ratio = grid([point]).rows[-1]
    assert (embedding, ratio) == ("8.00", "1.10")


def test_attacks_are_measured_beside_what_is_right(folder: Path, tmp_path: Path) -> None:
    [found] = studies.bench_attacks([folder], k=4, json_path=tmp_path / "attacks.json")
    named = {one.name: one for one in found}
    right = named["one right pass by nobody"]
    assert right.after["nDCG@4"].mean() >= right.before["nDCG@4"].mean()
    wrong = named["5 wrong passes by nobody (last)"]
    assert wrong.questions == 2
    assert wrong.before["MRR"].tolist() == right.before["MRR"].tolist()
    written = json.loads((tmp_path / "attacks.json").read_text())
    assert [one["name"] for one in written["sets"][0]["attacks"]] == list(named)
