"""What a type checker tells users: nothing about a correct program, and every planted mistake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy", reason="needs mypy")

PROGRAM = Path(__file__).with_name("typed_program.py")
ROOT = Path(__file__).parents[2]

#: What is right, and what somebody may write instead.
MISTAKES = {
    "        k=5,\n        include_path": "        top_k=5,\n        include_path",
    "        model,\n        location": '        "local",\n        location',
    'search_type="mmr", include_path=True': 'search_type="mrr", include_path=True',
    "refresh(documents, delete_missing": 'refresh("Hello world", delete_missing',
    'learn_on="approval"': 'learn_on="aproval"',
    "score_threshold=0.2": 'score_threshold="0.2"',
}


def test_mistakes_are_found_before_the_program_runs(tmp_path: Path) -> None:
    text = PROGRAM.read_text(encoding="utf-8")
    assert 55 <= len(text.splitlines()) <= 75
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(text, encoding="utf-8")
    for correct, mistaken in MISTAKES.items():
        assert text.count(correct) == 1, correct
        text = text.replace(correct, mistaken)
    wrong.write_text(text, encoding="utf-8")
    options = ["--strict", "--no-error-summary", "--follow-imports=silent"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(right), str(wrong)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert not [line for line in errors if "right.py" in line], done.stdout
    assert len({line.split(":")[1] for line in errors}) == len(MISTAKES), done.stdout
