"""The whole bench, with a stand-in for the index."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest
from hebbgraph.errors import DatasetError, ParameterError
from rich.console import Console

from hebbgraph_bench import HebbianRetriever, bench, report
from hebbgraph_bench.memory import PeakMemory

from .conftest import QUERIES, HashEmbedder


class FakeIndex:
    """Returns all chunks in the order of their ids."""

    opened: ClassVar[list[FakeIndex]] = []

    def __init__(self, path: str, embedder: Any) -> None:
        self.path, self.embedder, self.chunks, self.closed = Path(path), embedder, [], False

    @classmethod
    def open(cls, path: str, *, embedder: Any = None) -> FakeIndex:
        cls.opened.append(cls(path, embedder))
        return cls.opened[-1]

    def add(self, chunks: Any, **kwargs: Any) -> None:
        self.chunks = sorted(chunks, key=lambda chunk: chunk.id)

    def recall(self, query: str, k: int, strategy: str, history: Any = ()) -> Any:
        found = self.chunks[:: -1 if history else 1] if strategy == "spreading" else []
        return SimpleNamespace(hits=[SimpleNamespace(chunk=chunk, score=1.0) for chunk in found])

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def _fake_index(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("hebbgraph.hebbian_index")
    module.HebbianIndex = FakeIndex  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hebbgraph.hebbian_index", module)
    monkeypatch.setattr(FakeIndex, "opened", [])


def test_adapter_opens_in_a_directory_that_goes(dataset: Any) -> None:
    retriever = HebbianRetriever()
    with pytest.raises(ParameterError, match="nothing is indexed yet"):
        retriever.retrieve("x", 2)
    retriever.index(dataset.corpus)
    assert [hit.id for hit in retriever.retrieve("x", 2)] == ["a", "b"]
    (index,) = FakeIndex.opened
    assert index.path.parent.exists()
    retriever.close()
    retriever.close()
    assert index.closed
    assert not index.path.parent.exists()


def test_bench_without_embedder(own_folder: Path, tmp_path: Path) -> None:
    out = io.StringIO()
    path = tmp_path / "figures.json"
    (result,) = bench(
        [own_folder],
        k=2,
        json_path=path,
        seed=7,
        compare_at_tokens=[20],
        console=Console(file=out, width=120),
    )
    names = ["BM25", "hebbgraph spreading", "hebbgraph neighbourhood"]
    assert [system.name for system in result.systems] == names
    assert result.system("hebbgraph neighbourhood").mean("R@2") == 0

    shown = out.getvalue()
    assert "harbour: 3 chunks, 3 questions" in shown
    assert "hebbgraph spreading minus …" in shown
    assert "at equal context tokens" in shown

    content = json.loads(path.read_text())
    assert content["seed"] == 7
    assert content["settings"]["k"] == 2
    assert content["environment"]["versions"]["numpy"]
    (only,) = content["sets"]
    assert [system["name"] for system in only["systems"]] == names
    assert only["systems"][0]["settings"]["k1"] == 1.2
    assert only["systems"][0]["metrics"]["R@2"] == result.system("BM25").mean("R@2")
    assert only["systems"][0]["at_tokens"]["20"]["chunks"] > 0
    assert {row["theirs"] for row in only["differences"]} == {"BM25", "hebbgraph neighbourhood"}
    assert {"mean", "low", "high", "wins", "losses", "ties"} < set(only["differences"][0])


def test_bench_with_embedder_adds_dense_and_fusions(
    own_folder: Path, embedder: HashEmbedder, tmp_path: Path
) -> None:
    path = tmp_path / "figures.json"
    (result,) = bench([own_folder], embedder=embedder, strategies=["spreading"], json_path=path)
    assert [system.name for system in result.systems] == [
        "BM25",
        "dense",
        "RRF",
        "0.7 dense + 0.3 BM25",
        "hebbgraph spreading",
    ]
    assert FakeIndex.opened[0].embedder.inner is embedder
    content = json.loads(path.read_text())
    assert content["settings"]["embedder"] == "words"
    assert content["sets"][0]["embedding"]["query_ms_median"] > 0


def test_rewordings_are_one_more_set_and_types_are_told_apart(
    own_folder: Path, write: Callable[[str, Any], Path], tmp_path: Path
) -> None:
    gull = {
        "id": "q4",
        "question": "Gull?",
        "supporting_ids": ["a"],
        "rewording": "Tarn",
        "hops": 1,
    }
    write("harbour/queries.jsonl", [*QUERIES, gull])
    out, path = io.StringIO(), tmp_path / "figures.json"
    own, reworded = bench(
        [own_folder],
        k=2,
        json_path=path,
        strategies=[],
        rewordings=True,
        console=Console(file=out, width=120),
    )
    assert (own.name, len(own.query_ids)) == ("harbour", 4)
    assert (reworded.name, reworded.query_ids) == ("harbour, rewording", ("q4 rewording",))
    assert reworded.system("BM25").mean("R@2") == 0, "only Mira Voss was born there"
    assert "by type of question" in out.getvalue()
    types = {
        name: part["queries"]
        for name, part in json.loads(path.read_text())["sets"][0]["types"].items()
    }
    assert types == {"other": 2, "bridge": 1, "1-hop": 1}


def test_with_history_direct_search_is_also_asked_with_the_turns(
    own_folder: Path, write: Callable[[str, Any], Path]
) -> None:
    asked = {
        "question": "And born where?",
        "history": ["Who is Mira Voss?"],
        "supporting_ids": ["c"],
    }
    write("harbour/queries.jsonl", [{"id": "q1", **asked}])
    out = io.StringIO()
    console = Console(file=out, width=120)
    (result,) = bench([own_folder], k=1, strategies=["spreading"], history=True, console=console)
    assert result.system("BM25, turns joined").rankings == (("c",),)
    assert result.system("hebbgraph spreading").rankings == (("a",),)
    assert result.system("hebbgraph spreading + history").rankings == (("c",),)
    assert "hebbgraph spreading + history minus …" in out.getvalue()
    assert bench([own_folder], strategies=[])[0].systems[-1].name == "BM25"


def test_same_seed_same_rankings(own_folder: Path) -> None:
    first, second = (bench([own_folder], seed=3)[0] for _ in range(2))
    assert first.system("BM25").rankings == second.system("BM25").rankings


def test_bench_fails_before_it_measures(own_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="does not exist"):
        bench([own_folder, tmp_path / "none"])
    with pytest.raises(ParameterError, match="in a directory that exists"):
        bench([own_folder], json_path=tmp_path / "no" / "x.json")
    with pytest.raises(ParameterError, match="at least one evaluation set"):
        bench([])
    assert FakeIndex.opened == []


def test_markdown(own_folder: Path) -> None:
    (result,) = bench([own_folder], k=2, strategies=[])
    heading, rule, row = report.markdown(result).splitlines()
    assert heading.startswith("| system | R@2 | all-gold@2 | nDCG@2 | MRR | tokens |")
    assert rule.count("|") == heading.count("|") == row.count("|")
    assert row.startswith("| BM25 |")


def test_figures_that_are_not_numbers_become_null(tmp_path: Path) -> None:
    report.write_json(tmp_path / "x.json", {"a": [float("nan"), 1.0], "b": (None, "ü")})
    text = (tmp_path / "x.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"a": [None, 1.0], "b": [None, "ü"]}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux only")
def test_peak_memory_sees_what_is_gone_again_and_forgets_earlier_peaks() -> None:
    block = b"x" * 60_000_000
    del block
    with PeakMemory() as peak:
        block = b"x" * 30_000_000
        del block
    assert peak.megabytes is not None
    assert 25 < peak.megabytes < 45
