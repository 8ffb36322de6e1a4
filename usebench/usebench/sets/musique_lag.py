"""MuSiQue in the split of log-augmented generation: past questions, and unseen ones."""

from __future__ import annotations

from pathlib import Path

from usebench.sets.plain import write_set
from usebench.sets.reading import Card, read_json

__all__ = ["CARD", "build"]

CARD = Card(
    name="MuSiQue, LAG's split",
    source="peterbaile/lag (arXiv:2505.14398), with data/musique/dev_docs.json, which its README"
    " says how to get",
    licence="MuSiQue is CC BY 4.0.",
    feedback="citations of the gold paragraphs among those shown.",
    shows="questions of two to four hops in a published split, 70 % past and 30 % unseen; most"
    " unseen ones share a paragraph with a past one, so use can help what was never asked.",
    hides="the split was drawn at random, so past and unseen are equally hard. Questions were made"
    " by composition, and nobody needed an answer.",
)


def build(source: Path, out: Path) -> None:
    """Build the set from a clone, or from its folder ``data/musique``."""
    folder = source / "data" / "musique" if (source / "data").is_dir() else source
    documents = read_json(folder / "dev_docs.json")
    corpus = [
        {"id": id_, "title": document["title"], "text": document["content"]}
        for id_, document in documents.items()
    ]
    queries = [
        {
            "id": row["id"],
            "question": row["question"],
            "supporting_ids": [hop["document_id"] for hop in row["question_decomposition"]],
            "split": split,
        }
        for split, name in (("log", "dev_train.json"), ("test", "dev_test.json"))
        for row in read_json(folder / name)
    ]
    write_set(out, corpus, queries, order="split")
