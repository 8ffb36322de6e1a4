"""A little of what ``make fuzz`` does a million times."""

from __future__ import annotations

import runpy
from pathlib import Path


def test_strange_input_is_refused_in_our_own_words(tmp_path: Path) -> None:
    fuzzing = runpy.run_path(str(Path(__file__).parents[1] / "fuzz" / "fuzzing.py"))
    fuzzer = fuzzing["Fuzzer"](20_261, tmp_path)
    wrong = fuzzer.run(4000)
    assert not wrong, wrong[0]
    assert fuzzer.counts["refused"] > 100
    assert min(fuzzer.counts[name] for name in fuzzer.targets) >= 50
