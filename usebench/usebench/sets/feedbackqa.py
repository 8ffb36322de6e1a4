"""FeedbackQA: questions about public health pages, and what people said of the answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from usebench.errors import SetError
from usebench.sets.plain import write_set
from usebench.sets.reading import Card, read_json

__all__ = ["CARD", "build"]

CARD = Card(
    name="FeedbackQA",
    source="McGill-NLP/feedbackqa or its data repository (Li et al., Findings of ACL 2022,"
    " arXiv:2204.03025); any folder that holds feedbackQA_data/SITE",
    licence="See the repository for the licence of data and pages.",
    feedback="people's ratings (Excellent to Bad) and explanations of passages that another system"
    " had returned, with `--order rated`; else citations of the gold passage among those shown.",
    shows="real questions, several a passage, so that use repeats; real ratings with real"
    " disagreement.",
    hides="its own split is lopsided: most passages asked in the test are never asked in train, so"
    " `--order split` has few questions that share. The default shuffles all. One gold passage a"
    " question, so a passage that answers as well counts as a miss.",
)

_SPLITS = ("train", "valid", "test")


def build(source: Path, out: Path) -> None:
    """Build a set of all sites in a clone."""
    root = _root(source)
    corpus: dict[str, dict[str, Any]] = {}
    queries: list[dict[str, Any]] = []
    feedback: list[dict[str, Any]] = []
    for site in sorted(path for path in root.iterdir() if path.is_dir()):
        for split in _SPLITS:
            questions = site / f"{split}.json"
            if questions.exists():
                _read_questions(questions, site.name, split, corpus, queries)
            ratings = site / f"feedback_{split}.json"
            if ratings.exists():
                feedback += _read_ratings(ratings, site.name, split, corpus)
    if not queries:
        raise SetError(f"{root}: expected SITE/train.json or SITE/test.json in it, got none")
    write_set(out, corpus.values(), queries, order="shuffled", feedback=feedback)


def _root(source: Path) -> Path:
    for root in (source, source / "feedbackQA_data", source / "experiments" / "feedbackQA_data"):
        if any(root.glob("*/test.json")):
            return root
    raise SetError(f"{source}: expected feedbackQA_data/SITE/test.json in it, got none")


def _read_questions(
    path: Path,
    site: str,
    split: str,
    corpus: dict[str, dict[str, Any]],
    queries: list[dict[str, Any]],
) -> None:
    data = read_json(path)
    for passage in data["passages"]:
        _add(passage, site, corpus)
    queries.extend(
        {
            "id": f"{site}-{split}-{example['id']}",
            "question": example["question"],
            "supporting_ids": [f"{site}-{example['passage_id']}"],
            "split": split,
            "site": site,
        }
        for example in data["examples"]
    )


def _read_ratings(
    path: Path, site: str, split: str, corpus: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    return [
        {
            "question": row["question"],
            "chunk": _add(row["passage"], site, corpus),
            "ratings": row["rating"],
            "explanations": row["feedback"],
            "split": split,
            "site": site,
        }
        for row in read_json(path)
    ]


def _add(passage: dict[str, Any], site: str, corpus: dict[str, dict[str, Any]]) -> str:
    """Add a passage unless it exists; return its id."""
    id_ = f"{site}-{passage['passage_id']}"
    page = passage["reference"]
    title = " > ".join([page["page_title"] or "", *(page["section_headers"] or [])])
    corpus.setdefault(
        id_, {"id": id_, "title": title, "text": page["section_content"], "uri": passage["uri"]}
    )
    return id_
