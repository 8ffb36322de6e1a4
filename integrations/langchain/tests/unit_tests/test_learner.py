"""What a learner does by itself; what it makes of runs is in the integration tests."""

from __future__ import annotations

import copy
import dataclasses
import gc
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hebbgraph import NotFoundError, ParameterError
from hebbgraph.citations.worker import Worker
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langgraph.graph import START, StateGraph
from lc_helpers import RecordingIndex, ScriptedChat, citing

from langchain_hebbgraph import CitationLearner, HebbianRetriever, citation_prompt, format_documents
from langchain_hebbgraph.prompts import CitedAnswer

PETREL = "Who built the Petrel?"
Chat = Callable[..., ScriptedChat]


def run(
    index: RecordingIndex,
    learner: CitationLearner,
    llm: Any,
    question: str = PETREL,
    **metadata: Any,
) -> tuple[Any, uuid.UUID]:
    """One answer, and the id of its root run."""
    run_id = uuid.uuid4()
    chain = (
        {
            "context": HebbianRetriever(index=index, k=3) | format_documents,
            "question": RunnablePassthrough(),
        }
        | citation_prompt()
        | llm
    )
    message = chain.invoke(
        question, {"callbacks": [learner], "run_id": run_id, "metadata": metadata}
    )
    learner.flush()
    return message, run_id


def test_a_learner_that_was_made_for_one_call_learns(index: RecordingIndex, chat: Chat) -> None:
    learned = threading.Event()
    chain = (
        {
            "context": HebbianRetriever(index=index, k=3) | format_documents,
            "question": RunnablePassthrough(),
        }
        | citation_prompt()
        | chat(citing("petrel"))
    )
    chain.invoke(PETREL, {"callbacks": [CitationLearner(on_lesson=lambda _: learned.set())]})
    gc.collect()
    assert learned.wait(20)
    assert index.lessons[0].cited == ["petrel"]
    for _ in range(20):
        chain.invoke(PETREL, {"callbacks": [CitationLearner()]})
    own = [one for one in threading.enumerate() if one.name == "hebbgraph-learner"]
    assert len(own) <= 4  # that all of the process share, and that end when there is nothing to do


def test_the_application_vouches_for_some_and_a_judge_decides(
    index: RecordingIndex, chat: Chat
) -> None:
    asked: list[tuple[str, str]] = []

    def judge(sentence: str, text: str) -> bool | None:
        asked.append((sentence, text))
        return "Petrel" in text

    learner = CitationLearner(
        index, judge=judge, trusted=lambda metadata: metadata["user_id"] == "editor"
    )
    for user in ("editor", "visitor"):
        _, run_id = run(index, learner, chat(citing("petrel", "bay")), user_id=user)
    assert [(one.cited, one.trusted) for one in index.lessons] == [
        (["petrel"], True),
        (["petrel"], False),
    ]
    assert {text for _, text in asked} >= {
        hit.chunk.text for hit in index.lessons[0].recall.hits[:1]
    }
    learner.feedback(run_id, True, trusted=True)
    assert index.lessons[-1].trusted
    recall = index.lessons[0].recall
    learner.learn(AIMessage(f"See {recall.hits[0].chunk.id}."), recall, trusted=True)


def test_a_later_turn_may_cite_what_an_earlier_one_has_found(
    index: RecordingIndex, chat: Chat
) -> None:
    learner = CitationLearner(index)
    found = format_documents(
        HebbianRetriever(index=index, k=3).invoke(
            PETREL, {"callbacks": [learner], "metadata": {"thread_id": "t"}}
        )
    )
    for thread, expected in (("other", []), ("t", [["petrel"]])):
        chat(citing("petrel")).invoke(
            [HumanMessage(f"{found}\n\nAnd who built it?")],
            {"callbacks": [learner], "metadata": {"thread_id": thread, "user_id": "ann"}},
        )
        learner.flush()
        assert [lesson.cited for lesson in index.lessons] == expected
    assert index.lessons[0].actor == "ann"


@pytest.mark.parametrize("implicit", [True, False])
def test_a_question_asked_again_is_doubt(index: RecordingIndex, chat: Chat, implicit: bool) -> None:
    learner = CitationLearner(index, implicit=implicit)
    reworded = PETREL.replace("Who", "Which yard or person")
    for question in (PETREL, PETREL, reworded, "Where is the bay?"):
        run(index, learner, chat(citing("petrel")), question=question, thread_id="t")
    doubts = [one for one in index.lessons if one.kind == "asked again"]
    assert [(one.recall.query, one.cited, one.rejected) for one in doubts] == [
        (PETREL, [], ["petrel"])
    ] * implicit


async def test_thumbs_up_by_any_id_teaches_once(index: RecordingIndex, chat: Chat) -> None:
    learner = CitationLearner(index)
    message, run_id = run(index, learner, chat(citing("petrel")))
    for id_ in (run_id, str(run_id), message.id, index.lessons[0].recall.id):
        assert await learner.afeedback(id_, True)
    assert len(index.lessons) == 1


def test_an_actor_may_be_a_name_for_all(index: RecordingIndex) -> None:
    assert CitationLearner(index, actor="ida").actor({}) == "ida"
    for wrong in ("", 7):
        with pytest.raises(ParameterError, match=r"actor is a (name|printable)"):
            CitationLearner(index, actor=wrong)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("answer 17", "metadata"),
        ("answer 17", "configurable"),
        (f"chat-{uuid.UUID(int=7)}", "metadata"),
        ("answer " * 100, "metadata"),
        (17, "configurable"),
    ],
)
def test_callers_name_an_answer_themselves(
    documents: list[Document],
    chat: Callable[..., Any],
    name: str | int,
    place: str,
    tmp_path: Path,
) -> None:
    with HebbianRetriever.from_documents(documents, location=tmp_path, k=3) as retriever:
        learner = CitationLearner(retriever)

        def answered(said: str, named: str | int) -> None:
            model = chat(said)
            chain = (
                {"context": retriever | format_documents, "question": RunnablePassthrough()}
                | citation_prompt()
                | model
            )
            config: Any = {"callbacks": [learner], place: {"answer_id": named}}
            chain.invoke(PETREL, config)
            learner.flush()

        answered("Ida Moss [1].", name)
        (down,) = learner.feedback(name, False)
        assert down.rejected
        (up,) = CitationLearner(retriever).feedback(name, True)  # as another process would
        assert up.cited == down.rejected
        assert learner.undo(name) == 1
        answered("Nobody knows.", "uncited")
        assert learner.feedback("uncited", True) == []
        assert [one.code for one in learner.outcomes("uncited")] == ["nothing_cited"]
        assert learner.undo("uncited") == 0


@pytest.mark.parametrize("unknown", [uuid.UUID(int=7), str(uuid.UUID(int=8)), "nonsense", ""])
def test_feedback_for_an_unknown_run(index: RecordingIndex, unknown: Any) -> None:
    with pytest.raises(NotFoundError):
        CitationLearner(index).feedback(unknown, True)
    if unknown:
        with pytest.raises(NotFoundError, match="nor by an index"):
            CitationLearner(index).undo(unknown)
        with pytest.raises(NotFoundError, match="hand the learner its index"):
            CitationLearner().undo(unknown)


def test_a_message_names_its_answer(index: RecordingIndex, chat: Chat) -> None:
    learner = CitationLearner(index)
    message, _ = run(index, learner, chat(citing("petrel")))
    (rejected,) = learner.feedback(message, False)
    assert (list(rejected.rejected), learner.undo(message)) == (["petrel"], 1)
    with pytest.raises(NotFoundError, match="None is not the id of an answer"):
        learner.feedback(AIMessage("A private answer."), True)


async def test_learning_without_a_chain(index: RecordingIndex) -> None:
    learner = CitationLearner(index)
    recall = index.recall(PETREL, k=3)
    documents = HebbianRetriever(index=index, k=3).invoke(PETREL)
    prompt = [HumanMessage(format_documents(documents))]
    assert learner.learn("Moss [1].", recall, prompt=prompt, actor="ann")
    assert learner.learn(AIMessage("Moss [petrel]."), recall.id)
    assert await learner.alearn(CitedAnswer(answer="x", citations=["petrel"]), [recall])
    assert [lesson.cited for lesson in index.lessons] == [["petrel"]] * 3
    assert learner.learn("Moss [1].", recall) == []
    assert learner.learn("Moss.", recall, prompt=prompt) == []
    with pytest.raises(NotFoundError):
        learner.learn("[petrel]", "unknown")
    documents: Any = [Document("Moss.")]
    with pytest.raises(ParameterError, match="a recall is a Recall or its id"):
        learner.learn("[petrel]", documents)
    with pytest.raises(ParameterError, match="index"):
        CitationLearner().learn("[petrel]", recall)
    assert CitationLearner().learn("[petrel]", recall, index=index)


def test_the_actor(index: RecordingIndex, chat: Chat) -> None:
    learner = CitationLearner(actor=lambda metadata: metadata.get("session"))
    run(index, learner, chat(citing("petrel")), session="s-1", user_id="ann")
    run(index, learner, chat(citing("petrel")))
    assert [lesson.actor for lesson in index.lessons] == ["s-1", None]


def test_a_broken_actor_breaks_nothing(index: RecordingIndex, chat: Chat) -> None:
    learner = CitationLearner(actor=lambda metadata: metadata["missing"])
    message, _ = run(index, learner, chat(citing("petrel")))
    assert message.text.startswith("It is so")
    assert index.lessons == []


def test_in_the_foreground(
    index: RecordingIndex, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(Worker, "put", lambda *_: pytest.fail("learned in the background"))
    learner = CitationLearner(background=False, on_lesson=told.append)
    run(index, learner, chat(citing("petrel")))
    assert told == index.lessons


async def test_in_the_foreground_of_async_code_the_loop_is_not_blocked(
    index: RecordingIndex, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned_in: list[str] = []
    monkeypatch.setattr(
        index, "reinforce", lambda *_, **__: learned_in.append(threading.current_thread().name)
    )
    chain = (
        {
            "context": HebbianRetriever(index=index, k=3) | format_documents,
            "question": RunnablePassthrough(),
        }
        | citation_prompt()
        | chat(citing("petrel"))
    )
    await chain.ainvoke(PETREL, {"callbacks": [CitationLearner(background=False)]})
    assert len(learned_in) == 1
    assert learned_in[0] != threading.main_thread().name


def test_a_learner_is_shared_by_copies_of_a_configuration() -> None:
    learner = CitationLearner()
    assert copy.deepcopy({"callbacks": [learner]})["callbacks"][0] is learner
    chain = RunnableLambda(lambda x: x).with_config(callbacks=[learner])
    assert chain.invoke(1) == 1
    assert learner._trace_of == {}


@pytest.mark.parametrize("place", ["metadata", "configurable", "context"])
def test_the_actor_is_found_where_people_put_it(
    index: RecordingIndex, chat: Chat, place: str
) -> None:
    @dataclasses.dataclass
    class Context:
        user_id: str

    retriever = HebbianRetriever(index=index, k=3)
    model = chat(citing("petrel"))

    def node(state: dict[str, Any]) -> dict[str, Any]:
        return {"said": model.invoke(format_documents(retriever.invoke(PETREL))).content}

    graph = StateGraph(dict, context_schema=Context)
    graph.add_node("answer", node)
    graph.add_edge(START, "answer")
    learner = CitationLearner(index)
    config: Any = {"callbacks": [learner]}
    if place != "context":
        config[place] = {"user_id": "ida"}
    graph.compile().invoke({}, config, context=Context("ida") if place == "context" else None)
    learner.flush()
    assert [lesson.actor for lesson in index.lessons] == ["ida"]
