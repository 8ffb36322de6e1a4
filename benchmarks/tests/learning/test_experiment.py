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
from hebbgraph_bench.learning.growth import grid, measure_growth
from hebbgraph_bench.learning.use import measure_use

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


def test_use_is_measured_beside_the_simple_arms(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "use.json"
    results = studies.bench_learning([folder], k=4, order="reworded", json_path=path)
    (result,) = json.loads(path.read_text())["sets"]
    assert json.loads(json.dumps(results)) == [result]
    assert result["scored"] == {"all": 3, "shares": 0, "rest": 0, "keywords": 2, "follow_up": 1}
    names = [system["name"] for system in result["systems"]]
    assert names == ["hebbgraph", "bm25", "cache", "expansion", "rm3"]
    assert result["systems"][0]["runs"]["right"]["feedbacks"] == 2
    assert "nDCG@10, asked before taught" in path.with_suffix(".md").read_text()


def test_with_an_embedder_the_arms_on_vectors_run_too(folder: Path) -> None:
    result = measure_use(folder, embedder=CachingEmbedder(Slow()), order="mixed", frozen=True, k=4)
    assert {"dense", "weighted", "weighted+expansion+erm"} < {
        system["name"] for system in result["systems"]
    }
    assert result["scored"]["all"] == 1


def test_growth_is_written_and_drawn(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "growth.json"
    studies.bench_growth([folder], 3, k=4, plots=tmp_path / "plots", json_path=path)
    (found,) = json.loads(path.read_text())["growth"]
    assert [point["feedbacks"] for point in found["points"]] == [0, 3]
    assert [file.name for file in (tmp_path / "plots").iterdir()] == ["growth-skarn.png"]


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


def test_attacks_are_measured_beside_honest_people(folder: Path, tmp_path: Path) -> None:
    [found] = studies.bench_attacks([folder], k=4, json_path=tmp_path / "attacks.json")
    by = {(one.name, one.honest): one for one in found}
    assert sorted({honest for _, honest in by}) == [0, 1, 3, 10, 25, 30, 75]
    lies = by["one new name lies, one pass", 1]
    assert (
        lies.before["MRR"].tolist()
        == by["two poisoned documents a question", 0].before["MRR"].tolist()
    )
    assert set(lies.believed) == {"eve", "reader"}
    # Documents alone displace what is right; readers who reject them bring it back.
    poisoned = [
        by["two poisoned documents a question", honest].after["MRR"].mean() for honest in (0, 10)
    ]
    assert poisoned[0] < lies.before["MRR"].mean()
    assert poisoned[0] < poisoned[1]
    written = json.loads((tmp_path / "attacks.json").read_text())
    assert [one["name"] for one in written["sets"][0]["attacks"]] == [one.name for one in found]
