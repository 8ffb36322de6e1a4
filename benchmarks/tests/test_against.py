"""Two checkouts, compared in one run."""

import gc
import warnings
from pathlib import Path

import hebbgraph
import pytest

from hebbgraph_bench.against import compare_versions, measure_recalls
from hebbgraph_bench.datasets import Dataset

HERE = Path(hebbgraph.__file__).parents[2]


def test_a_version_answers_as_itself(dataset: Dataset, tmp_path: Path) -> None:
    recall, indexing = compare_versions(
        HERE, [dataset], tmp_path, chunks=[40], questions=3, rounds=1, indexing=40
    )
    assert (recall.different, indexing.different) == (0, 0)
    assert min(recall.other_ms, recall.ms, indexing.other_ms, indexing.ms) > 0
    for low, high in (recall.cpu[1:], recall.wall[1:], indexing.cpu[1:]):
        assert 0 < low <= high


def test_a_version_that_ends_leaves_nothing_open(tmp_path: Path) -> None:
    (tmp_path / "a-file").write_text("no index")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError, match="has ended"):
            measure_recalls("", [HERE / "src"] * 2, [tmp_path / "a-file"] * 2, ["Who?"])
        gc.collect()
    assert [str(one.message) for one in warned] == []
