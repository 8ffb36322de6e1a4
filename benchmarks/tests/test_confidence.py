from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hebbgraph_bench import Dataset
from hebbgraph_bench.confidence import Sureness, applied, ask, fit, left_out, off_topic, shrunk
from hebbgraph_bench.confidence.__main__ import main, tables
from hebbgraph_bench.confidence.measure import KINDS


def sureness(name: str, own: list[float], off: list[float]) -> Sureness:
    values = np.array([*own, *off])
    return Sureness(name, np.arange(len(values)) < len(own), values, values[:, None])


def test_there_are_fifty_different_questions_of_each_kind() -> None:
    for name in KINDS:
        assert len(set(off_topic(name))) == 50
    assert len(set(off_topic("a set of nobody's"))) == 250


def test_a_threshold_lies_halfway_and_is_judged_on_the_others() -> None:
    sets = [
        sureness("a", [0.9, 0.7], [0.1, 0.3]),
        sureness("b", [0.8, 0.4], [0.2, 0.6]),
        sureness("c", [1.0, 0.8], [0.0, 0.2]),
    ]
    (_, at, shares), *_ = applied(sets, 1.0)
    assert at == pytest.approx(0.5)
    assert shares.tolist() == [[0.5, 0.5], [1.0, 1.0]]


def test_what_tells_best_gets_the_weight() -> None:
    rng = np.random.default_rng(0)
    own = np.arange(200) < 50
    features = np.column_stack([own + rng.normal(0, 0.5, 200), rng.normal(0, 1.0, 200)])
    one = Sureness("a", own, features[:, 0], features)
    intercept, telling, idle = fit([one])
    assert telling > 2.0
    assert abs(idle) < 0.5
    assert 0.3 < -intercept / telling < 0.7  # balanced, although few are the set's own
    other = replace(one, name="b", features=-features)
    found = left_out({"a": [one, one], "b": [other]})
    assert found["a"][1] < 0.0 < found["b"][1]


def test_a_small_set_holds_what_its_questions_need(dataset: Dataset) -> None:
    small = shrunk(dataset, 2, seed=0)
    ids = {chunk.id for chunk in small.corpus}
    assert small.queries
    assert len(ids) <= 3
    assert all(set(query.relevant) <= ids for query in small.queries)
    assert small == shrunk(dataset, 2, seed=0)


def test_a_set_is_asked(dataset: Dataset, embedder: Any) -> None:
    for model, n_features in ((None, 1), (embedder, 2)):
        one = ask(dataset, model)
        assert one.features.shape == (len(dataset.queries) + 250, n_features)
        assert one.own.sum() == len(dataset.queries)
        assert ((one.confidence >= 0.0) & (one.confidence <= 1.0)).all()
        assert one.confidence[one.own].mean() > one.confidence[~one.own].mean()
    ((_, *cells), *_) = tables({"a": [one]})[0].rows
    assert cells[-1] == "–"  # there is no other set


def test_on_the_command_line(
    own_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "figures.json"
    main([str(own_folder), "--fit", "--json", str(path)])
    assert "harbour" in capsys.readouterr().out
    kept, fitted = (rows for name, rows in json.loads(path.read_text()).items() if name[0] in "AC")
    assert kept[1][0] == "harbour"
    assert [row[0] for row in fitted[1:]] == ["the formula's", "of all sets"]
    assert "| of all sets |" in path.with_suffix(".md").read_text()
