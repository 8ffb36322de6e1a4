"""OR-ShARC: citizens' scenarios, several for each rule of a government's page."""

from __future__ import annotations

from pathlib import Path

from usebench.errors import SetError
from usebench.sets.plain import write_set
from usebench.sets.reading import Card, read_json, read_lines

__all__ = ["CARD", "build"]

CARD = Card(
    name="OR-ShARC",
    source="Yifan-Gao/open_retrieval_conversational_machine_reading (arXiv:2102.08633): data/",
    licence="The data is CC BY-SA 3.0 by the README.",
    feedback="citations of the one rule that decides, if it was shown.",
    shows="about seven situations of different people for each rule: does what one was helped by"
    " help the next, whose words differ?",
    hides="questions of one dialogue tree differ little, so a cache of questions does well;"
    " scenarios were written by crowd workers who saw the rule.",
)


def build(source: Path, out: Path) -> None:
    """Build the set from all splits in a clone, or in its folder ``data``."""
    folder = source / "data" if (source / "data").is_dir() else source
    rules = read_json(folder / "id2snippet.json")
    corpus = [{"id": f"rule-{id_}", "text": text} for id_, text in rules.items()]
    queries = []
    for split in ("train", "dev", "test"):
        path = folder / f"open_retrieval_sharc_{split}.json"
        if not path.exists():
            continue
        seen: set[tuple[str, str]] = set()
        for row in read_lines(path):
            question = (row["question"], row["scenario"])
            if question in seen:  # later turns of the same dialogue
                continue
            seen.add(question)
            queries.append(
                {
                    "id": f"{split}-{row['utterance_id']}",
                    "question": row["question"],
                    "scenario": row["scenario"],
                    "supporting_ids": [f"rule-{row['gold_snippet_id']}"],
                    "group": row["tree_id"],
                }
            )
    if not queries:
        raise SetError(f"{folder}: expected open_retrieval_sharc_dev.json in it, got none")
    write_set(out, corpus, queries, order="shuffled")
