"""MultiHop-RAG: questions whose evidence lies in several news articles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from usebench.sets.plain import write_set
from usebench.sets.reading import Card, cut, read_json, squeezed

__all__ = ["CARD", "build"]

CARD = Card(
    name="MultiHop-RAG",
    source="yixuantt/MultiHop-RAG (arXiv:2401.15391): dataset/corpus.json and MultiHopRAG.json",
    licence="ODC-BY; the articles are their publishers'.",
    feedback="citations of the passages that hold the evidence, among those shown.",
    shows="2,556 questions over 609 articles that share much evidence: the more is asked, the more"
    " an answer's passages have been cited before.",
    hides="a model wrote the questions from the facts; some facts support more than 170, so popular"
    " passages alone go far (see the arm most-cited). Questions without evidence are left out.",
)


def build(source: Path, out: Path) -> None:
    """Build the set from a clone; articles are cut into passages of about 1,000 characters."""
    folder = source / "dataset" if (source / "dataset").is_dir() else source
    corpus: list[dict[str, Any]] = []
    squeezed_pieces: dict[str, list[tuple[str, str]]] = {}
    for number, article in enumerate(read_json(folder / "corpus.json")):
        for part, piece in enumerate(cut(article["body"])):
            id_ = f"{number}-{part}"
            corpus.append({"id": id_, "title": article["title"], "text": piece})
            squeezed_pieces.setdefault(article["title"], []).append((id_, squeezed(piece)))
    queries = []
    for number, row in enumerate(read_json(folder / "MultiHopRAG.json")):
        gold = [_holding(fact, squeezed_pieces) for fact in row["evidence_list"]]
        if gold and all(gold):
            queries.append(
                {
                    "id": str(number),
                    "question": row["query"],
                    "supporting_ids": list(dict.fromkeys(gold)),
                    "type": row["question_type"],
                }
            )
    write_set(out, corpus, queries, order="shuffled")


def _holding(fact: dict[str, Any], pieces: dict[str, list[tuple[str, str]]]) -> str:
    """Return the passage that holds a fact, or its beginning if a cut divides it; "" if none."""
    words = squeezed(fact["fact"])
    article = pieces.get(fact["title"], [])
    for id_, text in article:
        if words in text:
            return id_
    return next((id_ for id_, text in article if words[:40] in text), "")
