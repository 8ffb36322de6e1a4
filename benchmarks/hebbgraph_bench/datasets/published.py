"""Sets as their authors publish them: HotpotQA, 2WikiMultiHopQA, MuSiQue.

These files give every question its own paragraphs. The corpus is their union: equal
title and text make one chunk, and a chunk is gold by its own id, never by its title,
which several paragraphs may share.

References
----------
.. [1] Yang et al. (2018), HotpotQA: A Dataset for Diverse, Explainable Multi-hop Question
   Answering, EMNLP.
.. [2] Ho et al. (2020), Constructing A Multi-hop QA Dataset for Comprehensive Evaluation
   of Reasoning Steps, COLING.
.. [3] Trivedi et al. (2022), MuSiQue: Multihop Questions via Single-hop Question
   Composition, TACL 10.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from hebbgraph.records import Chunk

from hebbgraph_bench.datasets.reading import Row, build_chunk, read_json_lines, read_json_list
from hebbgraph_bench.datasets.records import Dataset, Query

__all__ = ["read_hotpot_file", "read_musique_file"]


class _Union:
    """The distinct paragraphs so far."""

    def __init__(self) -> None:
        self.chunks: dict[tuple[str, str], Chunk] = {}

    def add(self, row: Row, title: str, text: str) -> str:
        """Return the id of this paragraph, the same for the same title and text."""
        key = (" ".join(title.split()), " ".join(text.split()))
        if key not in self.chunks:
            self.chunks[key] = build_chunk(row, f"p{len(self.chunks):06d}", *key)
        return self.chunks[key].id


def read_hotpot_file(path: Path) -> Dataset:
    """Read HotpotQA or 2WikiMultiHopQA JSON.

    A list of ``{_id, question, answer, supporting_facts: [[title, sentence]], context:
    [[title, [sentence, ...]]]}``. A question is skipped and counted if a supporting title is
    missing from its context; its paragraphs stay.
    """
    union = _Union()
    queries: dict[str, Query] = {}
    skipped: Counter[str] = Counter()
    for row in read_json_list(path):
        query_id = row.get_id("_id", "id")
        if query_id in queries:
            raise row.fault(f"unique ids, got {query_id!r} again")
        text = row.get_text("question")
        by_title: dict[str, list[str]] = {}
        for paragraph in row.get_list("context"):
            title, sentences = _read_paragraph(row, paragraph)
            chunk_id = union.add(row, title, " ".join(part.strip() for part in sentences))
            by_title.setdefault(title, []).append(chunk_id)
        titles = _read_supporting_titles(row)
        if not titles or any(title not in by_title for title in titles):
            skipped["supporting paragraph not in the context"] += 1
            continue
        answer = row.get_text("answer", default="")
        queries[query_id] = Query(
            id=query_id,
            text=text,
            relevant={chunk_id: 1 for title in titles for chunk_id in by_title[title]},
            answers=(answer,) if answer else (),
            type=row.get_text("type", default="") or None,
        )
    return Dataset(path.stem, tuple(union.chunks.values()), tuple(queries.values()), dict(skipped))


def read_musique_file(path: Path) -> Dataset:
    """Read MuSiQue JSON Lines.

    ``{id, question, answer, answer_aliases, answerable, paragraphs: [{idx, title,
    paragraph_text, is_supporting}]}``. Unanswerable questions, the contrast half of
    MuSiQue-Full, are skipped and counted; their paragraphs stay.
    """
    union = _Union()
    queries: dict[str, Query] = {}
    skipped: Counter[str] = Counter()
    for row in read_json_lines(path):
        query_id = row.get_id("id")
        text = row.get_text("question")
        relevant: dict[str, int] = {}
        for position, paragraph in enumerate(row.get_list("paragraphs")):
            if not isinstance(paragraph, dict):
                raise row.fault(f"objects in 'paragraphs', got {paragraph!r}")
            inner = Row(f"{row.place}: paragraph {position}", paragraph)
            chunk_id = union.add(inner, inner.get_text("title"), inner.get_text("paragraph_text"))
            supporting = paragraph.get("is_supporting")
            if not isinstance(supporting, bool):
                raise inner.fault(f"true or false in 'is_supporting', got {supporting!r}")
            if supporting:
                relevant[chunk_id] = 1
        if row.fields.get("answerable") is False or not relevant:
            skipped["not answerable"] += 1
            continue
        if query_id in queries:
            raise row.fault(f"unique ids, got {query_id!r} again")
        answers = (row.get_text("answer", default=""), *row.get_texts("answer_aliases"))
        queries[query_id] = Query(
            id=query_id,
            text=text,
            relevant=relevant,
            answers=tuple(answer for answer in answers if answer),
            type=query_id.partition("__")[0] or None,
        )
    return Dataset(path.stem, tuple(union.chunks.values()), tuple(queries.values()), dict(skipped))


def _read_paragraph(row: Row, paragraph: Any) -> tuple[str, list[str]]:
    match paragraph:
        case [str(title), [*sentences]] if all(isinstance(part, str) for part in sentences):
            return title, sentences
        case _:
            raise row.fault(f"[title, [sentence, ...]] in 'context', got {str(paragraph)[:60]}")


def _read_supporting_titles(row: Row) -> list[str]:
    titles = []
    for fact in row.get_list("supporting_facts"):
        match fact:
            case [str(title), int()]:
                titles.append(title)
            case _:
                raise row.fault(f"[title, sentence number] in 'supporting_facts', got {fact!r}")
    return list(dict.fromkeys(titles))
