"""Make a set of a published file: HotpotQA, 2WikiMultiHopQA (JSON) or MuSiQue (JSON, JSON lines).

The paragraphs of all its questions are pooled into one corpus. So hotpot_dev_distractor_v1.json
becomes the corpus of 66,581 paragraphs on which others report.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from usebench.errors import SetError
from usebench.reading import read_set, write_set

__all__ = ["add_arguments", "build", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("file", type=Path, help="as published")
    parser.add_argument("out", type=Path, metavar="SET", help="the folder to write")
    parser.add_argument("--at-most", type=int, metavar="N", help="the first N questions only")


def run(options: argparse.Namespace) -> int:
    """Write the set and say what it holds."""
    build(options.file, options.out, at_most=options.at_most)
    uses = read_set(options.out)
    print(f"{options.out}: {len(uses.passages)} passages, {len(uses.events)} questions")
    return 0


def build(file: Path, out: Path, *, at_most: int | None = None) -> None:
    """Write a set with the paragraphs of the first questions of a file."""
    ids: dict[tuple[str, str], str] = {}
    queries = []
    for row in _rows(file)[:at_most]:
        supporting = []
        for title, text, is_supporting in _paragraphs(row):
            id_ = ids.setdefault((title, text), f"p{len(ids)}")
            if is_supporting:
                supporting.append(id_)
        name = str(row.get("_id") or row["id"])
        queries.append({"id": name, "question": row["question"], "supporting_ids": supporting})
    if not ids:
        raise SetError(f"{file}: expected questions with paragraphs or context, got none")
    corpus = [{"id": id_, "title": title, "text": text} for (title, text), id_ in ids.items()]
    write_set(out, corpus, queries, order="shuffled")


def _rows(file: Path) -> list[dict[str, Any]]:
    try:
        text = file.read_text("utf-8")
        if text.lstrip().startswith("["):
            rows: list[dict[str, Any]] = json.loads(text)
            return rows
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise SetError(f"{file}: expected JSON, or JSON lines; {error}") from error


def _paragraphs(row: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield title and text of each paragraph, and whether it answers the question."""
    if "paragraphs" in row:
        for paragraph in row["paragraphs"]:
            yield paragraph["title"], paragraph["paragraph_text"], paragraph["is_supporting"]
    elif "context" in row:
        supporting = {title for title, _ in row["supporting_facts"]}
        for title, sentences in row["context"]:
            text = " ".join(sentence.strip() for sentence in sentences)
            yield title, text, title in supporting
