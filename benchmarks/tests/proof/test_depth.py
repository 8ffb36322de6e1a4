"""How deep the evidence of a small set lies, worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hebbgraph_bench.proof.retrieval import measure_depth


def test_what_fifty_passages_hold(tmp_path: Path) -> None:
    # Eight passages hold the question's only word; the evidence is the longest, which BM25 puts
    # last, and one without the word, which no list of BM25 can hold.
    passages = [{"id": f"p{n}", "title": "", "text": "heron " + "reed " * n} for n in range(8)]
    passages.append({"id": "other", "title": "", "text": "A mill at the weir."})
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, passages)), "utf-8")
    asked = {"id": "q", "question": "heron?", "supporting_ids": ["p7", "other"]}
    (tmp_path / "queries.jsonl").write_text(json.dumps(asked), "utf-8")

    measured = measure_depth(tmp_path, model=None, cache=None)

    assert measured.figures["questions"] == 1
    words = measured.figures["systems"]["BM25"]
    assert words["R@5"] == 0
    assert words["R@10"] == words["R@20"] == pytest.approx(0.5)
    assert words["all-gold@5"] == 0
    assert measured.figures["systems"].keys() == {"BM25", "ours"}
