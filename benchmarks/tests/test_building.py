"""The commands that compare and time builds, on a set of our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hebbgraph_bench.build_equal import main as compare
from hebbgraph_bench.building import main as measure
from hebbgraph_bench.building import predicted, write_chunks


def test_a_build_equals_add(own_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare([str(own_folder), "--workers", "1"]) == 0
    assert "all equal" in capsys.readouterr().out


def test_more_workers_never_take_longer_in_the_model() -> None:
    steps = {"propose": 90.0, "commit": 10.0, "merge": 2.0, "vocabulary": 1.0, "match": 8.0}
    steps |= {"lexical": 8.0, "assemble": 1.0, "whole": 112.0}
    times = [predicted(steps, n) for n in (1, 2, 8, 64, 1000)]
    assert times == sorted(times, reverse=True)
    assert times[-1] > steps["commit"]  # the driver commits alone


@pytest.mark.parametrize("how", ["add", "1"])
def test_a_file_is_indexed_and_timed(
    how: str, own_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = write_chunks([own_folder], 60, tmp_path / "chunks.jsonl")
    assert measure(["--once", how, str(tmp_path / "chunks.jsonl"), str(tmp_path / "index")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["chunks"], written > 0) == (60, True)
    if how == "1":
        assert predicted(found, 2) < predicted(found, 1) + 2.0
