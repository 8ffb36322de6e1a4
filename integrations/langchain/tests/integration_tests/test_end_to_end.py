"""A real index on disk: taught through LangChain, it answers better by the core's own API."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hebbgraph import Chunk, HebbianIndex
from langchain_core.runnables import Runnable, RunnablePassthrough
from lc_helpers import TEXT, ScriptedChat, citing

from langchain_hebbgraph import (
    CitationLearner,
    HebbianRetriever,
    citation_prompt,
    format_documents,
)

QUESTION = "Who drew the plans of the lighthouse at Tessel Bay?"
REWORDED = "Tessel Bay lighthouse: whose plans?"
GOLD = "ledger"
LEDGER = "Paid to J. Ash for drawing the tower at Tessel Bay."

Chat = Callable[..., ScriptedChat]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Chunks that speak of the lighthouse; the one that answers never names it."""
    guide = [
        "The lighthouse at Tessel Bay was lit in 1871.",
        "Plans of the harbour at Dunmore hang in the town hall.",
        "Visitors draw the lighthouse at Tessel Bay in summer.",
        "Who goes to Tessel Bay goes for the lighthouse.",
        "The plans of the yard at Tessel Bay were lost.",
        "A lighthouse keeper at Tessel Bay drew birds.",
    ]
    rows = [
        (GOLD, "Ledger of 1871", LEDGER),
        *((f"guide-{at}", f"Guide, page {at}", text) for at, text in enumerate(guide)),
        *((id_, "", text) for id_, text in TEXT.items()),
    ]
    with HebbianIndex.open(tmp_path / "memory.hebb") as index:
        index.add([Chunk(id=id_, title=title, text=text) for id_, title, text in rows])
    return tmp_path / "memory.hebb"


@pytest.fixture
def opened(place: Path) -> Iterator[HebbianIndex]:
    with HebbianIndex.open(place) as index:
        yield index


def rank(index: HebbianIndex, question: str, id_: str = GOLD) -> int:
    hit = index.recall(question, k=50).hit(id_)
    assert hit is not None
    return hit.rank


def rag(index: HebbianIndex, llm: Any) -> Runnable[str, Any]:
    retriever = HebbianRetriever(index=index, k=30)
    return (
        {"context": retriever | format_documents, "question": RunnablePassthrough()}
        | citation_prompt()
        | llm
    )


def test_taught_through_langchain_better_by_the_core(place: Path, chat: Chat) -> None:
    with HebbianIndex.open(place) as index:
        before = rank(index, QUESTION), rank(index, REWORDED)
        other = [hit.chunk.id for hit in index.recall("yeast and sugar").hits]
        for reader in ("ada", "ben", "cleo", "dora"):  # one who repeats himself counts little more
            learner = CitationLearner(actor=reader)
            rag(index, chat(citing(GOLD, texts={GOLD: LEDGER}))).invoke(
                QUESTION, {"callbacks": [learner]}
            )
            assert learner.flush(10)
    code = (
        "import sys; from hebbgraph import HebbianIndex\n"
        "with HebbianIndex.open(sys.argv[1]) as index:\n"
        "    for question in sys.argv[2:]:\n"
        "        print(index.recall(question, k=50).hit('ledger').rank)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(place), QUESTION, REWORDED],
        check=True,
        capture_output=True,
        text=True,
    )
    after = [int(line) for line in done.stdout.split()]
    assert min(before) > 5
    assert max(after) <= 2
    with HebbianIndex.open(place) as index:
        assert [hit.chunk.id for hit in index.recall("yeast and sugar").hits] == other


def test_nothing_cited_leaves_recall_as_it_was(opened: HebbianIndex, chat: Chat) -> None:
    before = opened.recall(QUESTION, k=50)
    learner = CitationLearner()
    for _ in range(3):
        rag(opened, chat("I do not know.")).invoke(QUESTION, {"callbacks": [learner]})
    assert learner.flush(10)
    after = opened.recall(QUESTION, k=50)
    assert [(hit.chunk.id, hit.score) for hit in after.hits] == [
        (hit.chunk.id, hit.score) for hit in before.hits
    ]


def test_thumbs_down_undoes_and_rejects(opened: HebbianIndex, chat: Chat) -> None:
    learner = CitationLearner(opened)
    wrong = "guide-1"
    before = rank(opened, QUESTION, wrong)
    message = rag(opened, chat(citing(wrong, texts={wrong: opened.get([wrong])[0].text}))).invoke(
        QUESTION, {"callbacks": [learner]}
    )
    assert learner.flush(10)
    taught = rank(opened, QUESTION, wrong)
    assert taught <= before
    (rejection,) = learner.feedback(message.id, False)
    assert rejection.rejected == (wrong,)
    assert rank(opened, QUESTION, wrong) >= before
    (approval,) = learner.feedback(message.id, True)
    assert approval.cited == (wrong,)
    assert rank(opened, QUESTION, wrong) == taught


def test_what_is_waiting_is_learned_before_the_process_ends(place: Path) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from hebbgraph import HebbianIndex
from lc_helpers import ScriptedChat
from langchain_core.runnables import RunnableParallel, RunnablePassthrough
from langchain_hebbgraph import *

index = HebbianIndex.open(sys.argv[1])
llm = ScriptedChat(script=lambda messages: "So [1].", seen=[])
chain = (
    RunnableParallel(context=HebbianRetriever(index=index) | format_documents,
                     q=RunnablePassthrough())
    | (lambda given: f"{{given['context']}}\\n\\n{{given['q']}}")
    | llm
)
learner = CitationLearner()
for number in range(20):
    chain.invoke(f"Who built the Petrel? {{number}}", {{"callbacks": [learner]}})
"""
    subprocess.run([sys.executable, "-c", code, str(place)], check=True)
    with HebbianIndex.open(place) as index:
        assert index.log.export(place.parent / "log.jsonl") == 20
