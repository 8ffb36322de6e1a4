"""Chosen on all sets but one, tested on that one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hebbgraph.formulas.dense_share import EvidenceWeights

from hebbgraph_bench.datasets import load
from hebbgraph_bench.leave_one_out import METRICS, Measured, bench_leave_one_out, leave_each_out


def values(*of: float) -> dict[str, np.ndarray]:
    return {metric: np.array(of) for metric in METRICS}


def measured(name: str, direct: float, **ours: float) -> Measured:
    return Measured(
        name,
        {"no model": {"BM25": values(direct, direct), "worse": values(0.0, 0.0)}},
        {"no model": {choice: values(value, value) for choice, value in ours.items()}},
    )


def test_a_set_has_no_part_in_the_choice_that_it_is_tested_with() -> None:
    sets = [
        measured("one", 0.5, old=0.5, new=0.7),
        measured("two", 0.5, old=0.5, new=0.6),
        measured("odd", 0.5, old=0.9, new=0.4),
    ]
    held = {one.name: one for one in leave_each_out(sets) if one.metric == "R@5"}
    assert {name: one.choice for name, one in held.items()} == {
        "one": "old",
        "two": "old",
        "odd": "new",
    }
    assert held["odd"].over == "BM25"
    assert held["odd"].difference.mean == pytest.approx(-0.1)


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    folder = tmp_path / "chats"
    folder.mkdir()
    said = ["We moor at Tessel Bay.", "Owls hunt voles by night.", "Bread rises for two hours."]
    rows = [
        {"id": f"{chat}-{n}", "text": f"{text} That is note {n}.", "chat": chat}
        for chat in (1, 2)
        for n, text in enumerate(said * 2)
    ]
    asked = [
        {"id": f"q{chat}", "question": "What do owls hunt?", "supporting_ids": [f"{chat}-1"]}
        | {"chat": chat}
        for chat in (1, 2)
    ]
    for name, lines in (("corpus", rows), ("queries", asked)):
        text = "\n".join(json.dumps(line) for line in lines)
        (folder / f"{name}.jsonl").write_text(text)
    return folder


def test_a_chat_is_a_corpus_of_its_own(chats: Path) -> None:
    parts = load(chats).by_namespace()
    assert sorted(len(part.corpus) for part in parts) == [6, 6]
    for part in parts:
        (query,) = part.queries
        assert set(query.relevant) <= {chunk.id for chunk in part.corpus}


def test_the_weak_embedder_is_a_mode_and_what_it_costs_is_told(chats: Path, tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    choices = {"by itself": EvidenceWeights(), "half": EvidenceWeights(dense=0.5)}
    held = bench_leave_one_out([chats, chats], choices=choices, json_path=found)
    assert {(one.mode, one.over) for one in held} >= {
        ("no model", "BM25"),
        ("LSA", "ours, no model"),
    }
    assert len(json.loads(found.read_text())["held"]) == len(held)
    assert "LSA" in found.with_suffix(".md").read_text()
