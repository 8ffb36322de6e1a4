"""What a type checker tells users: nothing about a correct program, and every planted mistake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy", reason="needs mypy")

PROGRAM = Path(__file__).with_name("typed_program.py")
ROOT = Path(__file__).parents[1]

#: What is right, and what somebody may write instead.
MISTAKES = {
    "        similarity_top_k=5,\n        include_path": "        top_k=5,\n        include_path",
    "over(vectors: VectorStoreIndex) -> HebbianRetriever:\n    return HebbianRetriever."
    "from_vector_store_index(vectors, similarity_top_k=5)": "over(vectors: VectorStoreIndex) -> "
    "HebbianRetriever:\n    return HebbianRetriever.from_vector_store_index("
    'vectors, similarity_top_k="5")',
    "refresh(documents, delete_missing": 'refresh("Hello world", delete_missing',
    "good=True": 'good="yes"',
    'learn_on="approval"': 'learn_on="aproval"',
}


def test_mistakes_are_found_before_the_program_runs(tmp_path: Path) -> None:
    text = PROGRAM.read_text()
    assert 55 <= len(text.splitlines()) <= 75
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(text)
    for correct, mistaken in MISTAKES.items():
        assert text.count(correct) == 1, correct
        text = text.replace(correct, mistaken)
    wrong.write_text(text)
    # With the package's own settings, which are strict, and so with its cache.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", str(right), str(wrong)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert not [line for line in errors if "right.py" in line], done.stdout
    assert len({line.split(":")[1] for line in errors}) == len(MISTAKES), done.stdout
