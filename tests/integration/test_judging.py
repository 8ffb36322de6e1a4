"""A judge sees the question, the first hits and their paths, and says which are needed."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hebbgraph import HebbianIndex, Hit, ParameterError, Recall, RerankSettings, Settings

CORPUS = [
    {"id": "petrel", "title": "Petrel", "text": "The Petrel was built by Ida Moss."},
    {"id": "moss", "title": "Ida Moss", "text": "Ida Moss was born in Tessel Bay."},
    *(
        {"id": f"ship-{n}", "title": f"Ship {n}", "text": f"The builder of ship {n} was not born."}
        for n in range(6)
    ),
]
QUESTION = "Where was the builder of the Petrel born?"


def opened(judge: Any, below: float = 1.0, **settings: Any) -> HebbianIndex:
    index = HebbianIndex.open(
        ":memory:",
        judge=judge,
        judge_below=below,
        settings=Settings(rerank=RerankSettings(**settings)),
    )
    index.add(CORPUS)
    return index


def order(recall: Recall) -> list[str]:
    return [hit.chunk.id for hit in recall.hits]


def needs(*ids: str) -> Any:
    return lambda question, hits: [one for one in ids if one in {hit.chunk.id for hit in hits}]


def test_what_it_names_comes_first_in_its_order_and_the_rest_stays_in_the_recalls() -> None:
    with opened(None) as index:
        plain = index.recall(QUESTION, k=8)
    with opened(needs("ship-3", "moss")) as index:
        recall = index.recall(QUESTION, k=8)
    rest = [one for one in order(plain) if one not in ("ship-3", "moss")]
    assert order(recall) == ["ship-3", "moss", *rest]
    assert recall.judged == ("ship-3", "moss")
    assert [hit.score for hit in recall.hits] == [hit.score for hit in plain.hits]
    assert [hit.rank for hit in recall.hits] == list(range(1, 9))


def test_it_sees_the_path_that_found_each() -> None:
    seen: list[Hit] = []

    def judge(question: str, hits: Sequence[Hit]) -> list[str]:
        seen.extend(hits)
        return []

    with opened(judge) as index:
        index.recall(QUESTION, k=2)
    paths = {hit.chunk.id: hit.path_text for hit in seen}
    assert paths["moss"] == "question → «petrel» → Petrel → «ida moss» → Ida Moss"
    assert len(paths) > 2


class CrossEncoder:
    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    def predict(self, pairs: list[tuple[str, str]]) -> Any:
        self.pairs = pairs
        return np.array([float("Tessel" in text) for _, text in pairs])


def test_a_cross_encoder_reads_the_path_before_the_passage() -> None:
    model = CrossEncoder()
    with opened(model, weight=1.0) as index:
        recall = index.recall(QUESTION, k=1)
    assert order(recall) == ["moss"]
    (text,) = (text for _, text in model.pairs if "Tessel" in text)
    assert text.splitlines() == [
        "question → «petrel» → Petrel → «ida moss» → Ida Moss",
        "Ida Moss",
        "Ida Moss was born in Tessel Bay.",
    ]


class Model:
    """The interface of a LangChain chat model."""

    def __init__(self, answer: str) -> None:
        self.answer, self.prompts = answer, list[str]()

    def invoke(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self.answer


def test_a_language_model_is_asked_once_about_all() -> None:
    model = Model('These: {"passages": [3, 1, 3]}')
    with opened(None) as index:
        plain = order(index.recall(QUESTION, k=8))
    with opened(model) as index:
        assert order(index.recall(QUESTION, k=2)) == [plain[2], plain[0]]
    (prompt,) = model.prompts
    boundary = prompt.split("two lines that read ")[1][:16]
    data = json.loads(prompt.split(boundary)[2])
    assert data["question"] == QUESTION
    assert [passage["number"] for passage in data["passages"]] == list(range(1, 9))
    assert any("→ «ida moss» →" in passage["found"] for passage in data["passages"])


@pytest.mark.parametrize(
    ("judge", "reason"),
    [
        (needs(), None),
        (lambda question, hits: ["no such chunk"], "expected ids of its candidates"),
        (lambda question, hits: "moss", "expected a list of ids, or of scores; got 'moss'"),
        (lambda question, hits: [1.0], "expected 8 scores"),
        (lambda question, hits: None, "not iterable"),
        (Model("I cannot help with that."), "expected {"),
        (Model('{"passages": [9]}'), "numbers from 1 to 8, got 9"),
    ],
)
def test_a_recall_survives_it_and_says_so(judge: Any, reason: str | None) -> None:
    with opened(None) as index:
        plain = order(index.recall(QUESTION, k=8))
    with opened(judge) as index:
        recall = index.recall(QUESTION, k=8)
    assert order(recall) == plain
    assert recall.judged == ()
    notes = [note for note in recall.notes if note.startswith("not judged: ")]
    assert len(notes) == (reason is not None)
    assert all(str(reason) in note for note in notes)


def test_sure_recalls_cost_nothing() -> None:
    asked: list[str] = []

    def judge(question: str, hits: Sequence[Hit]) -> list[str]:
        asked.append(question)
        return []

    for below, count in ((0.0, 0), (1.0, 2)):
        asked.clear()
        with opened(judge, below=below) as index:
            index.recall(QUESTION, k=2)
            index.recall("Who built the Petrel?", k=2)
        assert len(asked) == count


def test_what_it_names_teaches_only_where_that_is_asked_for() -> None:
    for teaches in (False, True):
        with opened(needs("moss"), teaches=teaches) as index:
            index.recall(QUESTION, k=5)
            index.log.export(log := io.StringIO())
            actors = [json.loads(line)["actor"] for line in log.getvalue().splitlines()]
            assert actors == ["judge"] * teaches


@pytest.mark.parametrize("below", [-0.1, 1.5, "low"])
def test_what_cannot_be_asked_is_refused_at_once(below: Any) -> None:
    with pytest.raises(ParameterError, match="judge_below lies in"):
        HebbianIndex.open(":memory:", judge_below=below)
    with pytest.raises(ParameterError, match="judge is a callable"):
        HebbianIndex.open(":memory:", judge=3)
