"""Make an index directory, a backup and a feedback log to keep as test data.

``python tests/data/make_kept.py NAME`` writes ``NAME.zip`` beside this file: ``index/`` with all
its derived parts, ``backup/``, ``feedback.jsonl``, and ``expected.json``, what recalls answered.
Later versions must open it, without building anything anew, and answer the same.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hebbgraph import HebbianIndex

QUESTIONS = [
    "Where was the builder of the Petrel born?",
    "Who kept the yard at Gannet Point?",
    "What burned in 1902?",
    "Which ship carried slate?",
    "How does a knot hold?",
]
CHUNKS: list[dict[str, Any]] = [
    {
        "id": "petrel",
        "title": "Petrel (schooner)",
        "text": "The Petrel was a schooner built by Ida Moss for the ice trade.",
        "metadata": {"kind": "ship", "year": 1871},
        "document_id": "ships",
    },
    {
        "id": "heron",
        "title": "Heron (barque)",
        "text": "The Heron carried slate until Ida Moss sold it to Corin Vale.",
        "metadata": {"kind": "ship", "year": 1880},
        "document_id": "ships",
    },
    {
        "id": "moss",
        "title": "Ida Moss",
        "text": "Ida Moss was born in Tessel Bay and learned her craft from Corin Vale.",
        "metadata": {"kind": "person"},
    },
    {
        "id": "vale",
        "title": "Corin Vale",
        "text": "Corin Vale kept the yard at Gannet Point and wrote about knots.",
        "metadata": {"kind": "person"},
    },
    {
        "id": "bay",
        "title": "Tessel Bay",
        "text": "Tessel Bay freezes in winter; its lighthouse burned in 1902.",
        "metadata": {"kind": "place"},
    },
    {
        "id": "point",
        "title": "Gannet Point",
        "text": "Gannet Point is a headland with a yard, a chapel and no road.",
        "metadata": {"kind": "place"},
    },
    {"id": "knots", "text": "A bowline holds under load and unties when the load is gone."},
    {"id": "gone", "title": "Gone", "text": "This chunk was deleted again."},
]


class Letters:
    """Embeds by counts of letters, the same on every machine."""

    name = "letters"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0 + text.lower().count(letter) for letter in "abcdefghiklmnoprstuvwy"]


def answers(index: HebbianIndex) -> dict[str, list[list[Any]]]:
    """Return what the index answers: ids and scores by question."""
    return {
        question: [[hit.chunk.id, round(hit.score, 9)] for hit in index.recall(question, k=5).hits]
        for question in QUESTIONS
    }


def make(root: Path) -> None:
    """Fill a directory with all that is kept."""
    expected: dict[str, Any] = {}
    with HebbianIndex.open(root / "index", embedder=Letters()) as index:
        index.add(CHUNKS)
        index.delete(["gone"])
        expected["unlearned"] = answers(index)
        for question, cited, actor in (
            (QUESTIONS[0], ["petrel", "bay"], None),
            (QUESTIONS[1], ["vale"], "ana"),
            (QUESTIONS[3], ["heron"], "ben"),
        ):
            recall = index.recall(question, k=5, id=f"recall-{question[:8]}")
            index.reinforce(recall, cited, actor=actor)
        index.colonies()
        expected["learned"] = answers(index)
        expected["feedbacks"] = index.export_feedback(root / "feedback.jsonl")
        index.backup(root / "backup")
    (root / "expected.json").write_text(json.dumps(expected, indent=1))


def main() -> int:
    """Run the command line; see the module."""
    path = Path(__file__).parent / f"{sys.argv[1]}.zip"
    with tempfile.TemporaryDirectory() as scratch:
        make(Path(scratch))
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(Path(scratch).rglob("*")):
                archive.write(file, file.relative_to(scratch))
    return 0


if __name__ == "__main__":
    sys.exit(main())
