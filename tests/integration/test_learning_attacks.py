"""The table of attacks in docs/security.md, run: who says what, and what becomes of the ranking.

Towns have five trades each. A question names a town and describes a trade; eleven other chunks
share its trade, four its town.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hebbgraph import HebbianIndex, Recall

DOCS = Path(__file__).parents[2] / "docs" / "security.md"
TOWNS = (
    "Skarn", "Vell", "Tessel", "Corrin", "Halden", "Brome",
    "Ostrey", "Lund", "Marrow", "Pell", "Quarn", "Thessing",
)  # fmt: skip
#: Two of five questions fit other trades of the town as well.
TRADES = {
    "ropes are made of hemp for the boats": "What is made for the boats of {}?",
    "salt is boiled over fires beside the sea": "What do fires beside the sea serve in {}?",
    "bells are cast over fires in the churchyard": "What is poured over fires in {}?",
    "glass is blown over fires at night": "Who is awake at night in {}?",
    "boats are tarred at night with brushes": "What happens at night to the boats in {}?",
}
CHUNKS = [
    {"id": f"{town}-{number}", "text": f"In {town} {trade}. The people of {town} are proud of it."}
    for town in TOWNS
    for number, trade in enumerate(TRADES)
]
#: Which chunk answers which question.
QUESTIONS = {
    question.format(town): f"{town}-{number}"
    for number, question in enumerate(TRADES.values())
    for town in TOWNS[:8]
}
K = 10


@pytest.fixture
def index() -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:") as made:
        made.add(CHUNKS)
        yield made


def right(recall: Recall) -> list[str]:
    gold = QUESTIONS[recall.query]
    return [gold] if recall.hit(gold) else []


def wrong(recall: Recall, at: int) -> list[str]:
    others = [hit.chunk.id for hit in recall.hits if hit.chunk.id != QUESTIONS[recall.query]]
    return [others[at % len(others)]]


def teach(index: HebbianIndex, cite: Callable[[Recall], list[str]], actor: str | None) -> None:
    for question in QUESTIONS:
        recall = index.recall(question, k=K)
        if cited := cite(recall):
            index.reinforce(recall, cited, actor=actor)


def rank(index: HebbianIndex, question: str) -> int:
    hit = index.recall(question, k=len(CHUNKS)).hit(QUESTIONS[question])
    assert hit is not None
    return hit.rank


def mean_reciprocal_rank(index: HebbianIndex) -> float:
    return sum(1 / rank(index, question) for question in QUESTIONS) / len(QUESTIONS)


def first(index: HebbianIndex) -> int:
    return sum(rank(index, question) == 1 for question in list(QUESTIONS)[:30])


FOUND_FIRST = next(iter(QUESTIONS))


def against_one_question(index: HebbianIndex, names: int) -> None:
    for number in range(names):
        recall = index.recall(FOUND_FIRST, k=K)
        cited = [recall.hits[-1].chunk.id]
        index.reinforce(recall, cited, rejected=[QUESTIONS[FOUND_FIRST]], actor=f"name-{number}")


def one_actor_once(index: HebbianIndex) -> str:
    before = rank(index, FOUND_FIRST)
    against_one_question(index, 1)
    return f"{before} → {rank(index, FOUND_FIRST)}"


def ten_names(index: HebbianIndex) -> str:
    before = rank(index, FOUND_FIRST)
    against_one_question(index, 10)
    return f"{before} → {rank(index, FOUND_FIRST)}"


def forty_names_against_ten_readers(index: HebbianIndex) -> str:
    questions = list(QUESTIONS)
    for number, question in enumerate(questions):
        recall = index.recall(question, k=K)
        if cited := right(recall):
            index.reinforce(recall, cited, actor=f"reader-{number % 10}")
    before = rank(index, FOUND_FIRST)
    against_one_question(index, 40)
    return f"{before} → {rank(index, FOUND_FIRST)}"


def thirty_single_wrong(index: HebbianIndex) -> str:
    before = first(index)
    for number, question in enumerate(list(QUESTIONS)[:30]):
        recall = index.recall(question, k=K)
        index.reinforce(recall, wrong(recall, 7 * number), actor="eve")
    return f"{before} → {first(index)}"


def five_unnamed_passes(index: HebbianIndex) -> str:
    before = mean_reciprocal_rank(index)
    for number in range(5):
        teach(index, lambda recall, at=number: wrong(recall, 3 * at + len(recall.query)), None)
    return f"{before:.2f} → {mean_reciprocal_rank(index):.2f}"


def one_right_pass(index: HebbianIndex) -> str:
    before = mean_reciprocal_rank(index)
    teach(index, right, None)
    return f"{before:.2f} → {mean_reciprocal_rank(index):.2f}"


SCENARIOS: dict[str, Callable[[HebbianIndex], str]] = {
    "One actor, once": one_actor_once,
    "Ten new names, once each": ten_names,
    "Forty new names, after ten readers taught what is right": forty_names_against_ten_readers,
    "Thirty single wrong citations by one actor": thirty_single_wrong,
    "Five passes of wrong citations by nobody": five_unnamed_passes,
    "One pass of right citations by nobody": one_right_pass,
}


def documented() -> dict[str, str]:
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| (\S+ → \S+) \|$", DOCS.read_text("utf-8"), re.M)
    return {name: effect for name, effect in rows if name in SCENARIOS}


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_table_says_what_happens(index: HebbianIndex, name: str) -> None:
    assert SCENARIOS[name](index) == documented().get(name)
