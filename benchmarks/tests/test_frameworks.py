"""What the comparison of frameworks asks: every answer is in the corpus, and a reader cites it."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hebbgraph import Chunk
from hebbgraph.embedders import passage_text

from hebbgraph_bench.baselines import Dense
from hebbgraph_bench.frameworks.__main__ import measure
from hebbgraph_bench.frameworks.questions import QUESTIONS, cite, corpus, holds


def test_every_question_has_an_answer_that_few_topics_hold() -> None:
    texts = corpus().values()
    for one in QUESTIONS:
        assert 1 <= sum(holds(text, one) for text in texts) <= 3, one
    assert len({wording for one in QUESTIONS for wording in one[:2]}) == 2 * len(QUESTIONS) == 60


def test_a_reader_cites_the_source_that_holds_the_answer() -> None:
    one = QUESTIONS[0]
    sources = f"[1] Owls hunt.\n\n[k2]\nIt is {one.answer.replace(' ', '  ')}.\n\n{one.asked}"
    assert cite(sources) == "It says so [k2]."
    assert cite(f"[1] Owls hunt.\n{one.asked}") == "The sources do not say."


class Letters:
    """Counts letters."""

    name = "letters"

    def embed_documents(self, texts: list[str]) -> Any:
        found = [[text.count(letter) + 0.1 for letter in "abcdefghijklmnop"] for text in texts]
        vectors = np.array(found, dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Any:
        return self.embed_documents([text])[0]


def test_cosine_ranks_passages_as_faiss_does() -> None:
    faiss = pytest.importorskip("faiss")
    chunks = [Chunk(id=name, text=text) for name, text in corpus().items()]
    dense, model = Dense(Letters()), Letters()
    dense.index(chunks)
    flat = faiss.IndexFlatIP(16)
    flat.add(model.embed_documents([passage_text(chunk) for chunk in chunks]))
    for one in QUESTIONS:
        _, rows = flat.search(model.embed_documents([one.asked]), 5)
        assert [ranked.id for ranked in dense.retrieve(one.asked, 5)] == [
            chunks[row].id for row in rows[0]
        ]


@pytest.mark.parametrize("name", ["langchain", "llama_index"])
def test_lessons_reach_the_index(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("langchain_core" if name == "langchain" else "llama_index.core")
    module = importlib.import_module(f"hebbgraph_bench.frameworks.of_{name}")
    few = {topic: corpus()[topic] for topic in ("assert", "break", "lambda")}
    monkeypatch.setattr(module, "corpus", lambda: few)
    listening: list[Any] = []
    learner = module.CitationLearner

    def listen(*args: Any, **options: Any) -> Any:
        listening.append(learner(*args, **options))
        return listening[-1]

    monkeypatch.setattr(module, "CitationLearner", listen)
    rows = measure(module, Letters())
    systems = ["BM25", "MiniLM, cosine", "hebbgraph", "hebbgraph, half taught"]
    assert [row[1] for row in rows] == 2 * systems
    # Three of the questions are about these topics.
    assert float(rows[2][3].split(",")[0]) == pytest.approx(3 / 15, abs=0.01)
    assert [one.counts["learned"] for one in listening] == [3, 3]


def test_pages_are_put_together_split_and_asked(tmp_path: Path) -> None:
    pytest.importorskip("llama_index.core")
    splitters = importlib.import_module("hebbgraph_bench.frameworks.splitters")
    rows = [
        ("b:2", "Boats > Petrel", "She sank off Skerrow in a gale."),
        ("b:1", "Boats > Petrel", "Ida Moss built the Petrel."),
        ("a", "Boats", "All about boats."),
    ]
    chunks = [
        {"id": id_, "title": title, "text": text, "url": title, "document_id": "boats"}
        for id_, title, text in rows
    ]
    questions = [
        {"id": "q1", "hops": 1, "question": "Who built the Petrel?", "rewording": "Which wright?"},
        {"id": "q2", "hops": 2, "question": "Petrel built, and sank?", "rewording": "Bread?"},
    ]
    evidence = {
        "q1": {"phrases": ["Ida Moss"]},
        "q2": {"phrases": ["Ida  Moss", "off Skerrow"]},
    }
    (tmp_path / "anchors.json").write_text(json.dumps({"x": "Boats", "y": "Boats > Petrel"}))
    (tmp_path / "evidence.json").write_text(json.dumps(evidence))
    for name, lines in (("corpus", chunks), ("queries", questions)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (page,) = splitters.pages(tmp_path)
    assert page.text == "\n\n".join(
        ["# Boats", rows[2][2], "## Petrel", rows[1][2], rows[0][2]],
    )
    table = splitters.measure(tmp_path, sizes=(64,))
    assert [row[:3] for row in table[::2]] == [
        ("64", splitter, system)
        for splitter in ("SentenceSplitter", "HebbianNodeParser")
        for system in ("BM25", "hebbgraph")
    ]
    assert {(row[5], row[7]) for row in table} == {("1.00", "1.00")}
