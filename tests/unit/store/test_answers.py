"""Answers, linked to their lessons: bounded rows of the truth that any process finds."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph import Chunk, FeedbackError, HebbianIndex, Hit, PathStep, Recall, Settings
from hebbgraph.records import AnswerRecord, Credit
from hebbgraph.settings import LearningSettings
from hebbgraph.store.packing import packed, unpacked

OWLS = [{"id": "owl", "text": "Owls hunt voles at night."}, {"id": "vole", "text": "Voles sleep."}]


def _answer(index: HebbianIndex, name: str = "run", **fields: object) -> AnswerRecord:
    recall = index.recall("When do owls hunt?")
    ids = tuple(hit.chunk.id for hit in recall.hits)
    credit = Credit(recall_id=recall.id, cited=ids[:1], shown=ids, actor="ida")
    return AnswerRecord.model_validate(
        {
            "outcome": "learned",
            "names": (name, recall.id),
            "recalls": (recall,),
            "credits": (credit,),
            **fields,
        }
    )


def test_another_process_finds_an_answer_by_any_of_its_names(
    tmp_path: Path,
) -> None:
    with HebbianIndex.open(tmp_path / "i") as index:
        index.add(OWLS)
        kept = index.keep_answer(_answer(index))
    with HebbianIndex.open(tmp_path / "i") as index:
        for name in (*kept.names, kept.credits[0].teaches()):
            found = index.find_answer(name)
            assert found is not None
            assert (found.number, found.credits, found.outcome) == (
                kept.number,
                kept.credits,
                "learned",
            )
        assert index.find_answer("another run") is None


def test_a_kept_answer_teaches_as_much_as_the_recall(
    open_index: Callable[..., HebbianIndex],
) -> None:
    index = open_index()
    index.add(OWLS)
    answer = _answer(index)
    index.keep_answer(answer)
    [recall] = answer.recalls
    [credit] = answer.credits
    at_once = index.reinforce(recall, credit.cited, shown=credit.shown, actor=credit.actor)
    assert at_once.id == credit.teaches()
    index.forget(everything=True)
    assert index.find_answer("run") is None
    index.keep_answer(answer)
    found = index.find_answer("run")
    assert found is not None
    [kept] = found.recalls
    later = index.reinforce(kept, credit.cited, shown=credit.shown, actor=credit.actor)
    assert later.model_copy(update={"created_at": at_once.created_at}) == at_once


def test_questions_are_kept_only_if_settings_allow(
    open_index: Callable[..., HebbianIndex],
) -> None:
    for keep, expected in ((False, ""), (True, "When do owls hunt?")):
        learning = LearningSettings(store_queries=keep)
        index = open_index(f"i{keep}", settings=Settings(learning=learning))
        index.add(OWLS)
        kept = index.keep_answer(_answer(index))
        assert kept.recalls[0].query == expected


def test_a_later_turn_finds_the_recalls_of_earlier_ones(
    open_index: Callable[..., HebbianIndex],
) -> None:
    index = open_index()
    index.add(OWLS)
    first = _answer(index, "one", conversation="chat")
    second = _answer(index, "two", conversation="chat")
    other = _answer(index, "three", conversation="another chat")
    for answer in (first, second, other):
        index.keep_answer(answer)
    found = index.earlier_recalls("chat")
    assert [recall.id for recall in found] == [first.recalls[0].id, second.recalls[0].id]
    assert {hit.chunk.text for hit in found[0].hits} == {one["text"] for one in OWLS}
    assert index.earlier_recalls("a third one") == []


def test_number_and_age_of_answers_are_bounded(open_index: Callable[..., HebbianIndex]) -> None:
    learning = LearningSettings(query_retention_days=1)
    index = open_index(settings=Settings(keep_recalls=3, learning=learning))
    index.add(OWLS)
    for number in range(9):
        index.keep_answer(_answer(index, f"run {number}"))
    assert [number for number in range(9) if index.find_answer(f"run {number}")] == [6, 7, 8]
    index.keep_answer(_answer(index, "old", created_at=time.time() - 2 * 86_400))
    assert index.find_answer("old") is None


def test_compacting_erases_answers_that_are_too_old(
    open_index: Callable[..., HebbianIndex],
) -> None:
    index = open_index(settings=Settings(learning=LearningSettings(query_retention_days=1)))
    index.add(OWLS)
    index.keep_answer(_answer(index, "new"))
    index.keep_answer(_answer(index, "old", created_at=time.time() - 2 * 86_400))
    index.compact()
    assert index.parts.database.ask("SELECT count(*) FROM answers") == [(1,)]
    assert index.find_answer("new") is not None


def test_keeping_an_answer_again_replaces_it(open_index: Callable[..., HebbianIndex]) -> None:
    index = open_index()
    index.add(OWLS)
    kept = index.keep_answer(_answer(index))
    index.keep_answer(kept.model_copy(update={"outcome": "undone"}))
    found = index.find_answer("run")
    assert found is not None
    assert (found.number, found.outcome) == (kept.number, "undone")


@pytest.mark.parametrize(
    ("selection", "left"),
    [
        ({"actor": "ida"}, False),
        ({"actor": "otto"}, True),
        ({"chunk": "owl"}, False),
        ({"chunk": "lynx"}, True),
        ({"since": 0.0}, False),
        ({"until": 1.0}, True),
        ({"actor": "ida", "until": 1.0}, True),
    ],
)
def test_forgetting_deletes_the_links(
    open_index: Callable[..., HebbianIndex], selection: dict[str, object], left: bool
) -> None:
    index = open_index()
    index.add(OWLS)
    index.keep_answer(_answer(index))
    index.forget(**selection)  # type: ignore[arg-type]
    assert (index.find_answer("run") is not None) is left


def test_forgetting_a_feedback_leaves_the_links_of_others(
    open_index: Callable[..., HebbianIndex],
) -> None:
    index = open_index()
    index.add(OWLS)
    answers = [_answer(index, name) for name in ("one", "two")]
    feedback = []
    for answer in answers:
        index.keep_answer(answer)
        [credit] = answer.credits
        feedback.append(
            index.reinforce(answer.recalls[0], credit.cited, shown=credit.shown, actor="ida")
        )
    index.forget(feedback[0])
    assert index.find_answer("one") is None
    assert index.find_answer("two") is not None


def test_compacting_drops_answers_that_name_deleted_phrases(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path / "i") as index:
        index.add([*OWLS, {"id": "z", "title": "Zanzibar Quux", "text": "About Zanzibar Quux."}])
        recall = index.recall("Where is Zanzibar Quux?")
        index.keep_answer(AnswerRecord(outcome="learned", names=("gone",), recalls=(recall,)))
        index.keep_answer(_answer(index))
        index.delete(["z"])
        index.compact()
        assert index.find_answer("gone") is None
        assert index.find_answer("run") is not None
        held = b"".join(path.read_bytes() for path in (tmp_path / "i").rglob("*") if path.is_file())
        assert b"anzibar" not in held


def test_a_recall_of_another_namespace_is_refused(open_index: Callable[..., HebbianIndex]) -> None:
    one, other = open_index(namespace="one"), open_index(namespace="other")
    one.add(OWLS)
    other.make_namespace()
    with pytest.raises(FeedbackError, match="belongs to namespace 'one'"):
        other.keep_answer(_answer(one))
    one.keep_answer(_answer(one, conversation="chat"))
    assert other.find_answer("run") is None
    assert other.earlier_recalls("chat") == []


def test_a_forged_recall_is_not_kept(open_index: Callable[..., HebbianIndex]) -> None:
    index = open_index(settings=Settings(keep_recalls=0))
    index.add(OWLS)
    answer = _answer(index)
    forged = answer.recalls[0].model_copy(update={"hits": answer.recalls[0].hits[::-1]})
    with pytest.raises(FeedbackError, match="not as this index returned it"):
        index.keep_answer(answer.model_copy(update={"recalls": (forged,)}))


_WORDS = st.text(st.characters(blacklist_categories=("Cs",)), max_size=20)
_STEPS = st.builds(
    PathStep,
    kind=st.sampled_from(["tag", "chunk", "query"]),
    value=_WORDS,
    weight=st.floats(0, 1),
)


@given(
    st.lists(
        st.tuples(st.text("abc", min_size=1), st.floats(0, 1), st.lists(_STEPS, max_size=4)),
        max_size=5,
    ),
    _WORDS,
)
def test_a_packed_recall_loses_texts_and_nothing_else(
    found: list[tuple[str, float, list[PathStep]]], query: str
) -> None:
    hits = [
        Hit(
            chunk=Chunk(id=id_, text=""),
            score=score,
            rank=rank,
            path=tuple(path),
            text_hash="0" * 16,
        )
        for rank, (id_, score, path) in enumerate(found, start=1)
    ]
    recall = Recall(id="r", namespace="n", strategy="s", query=query, hits=tuple(hits))
    assert unpacked(packed(recall)) == recall
