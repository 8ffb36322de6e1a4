"""What an exchange teaches, and the reason when it teaches nothing."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest
from recalls import recalled

from hebbgraph import Chunk
from hebbgraph.citations import Exchange, Reason, Rendered, Reply, Source, sources_of
from hebbgraph.records import Hit

OWN = recalled("one", "a", "b", "c")
PROMPT = "\n\n".join(f"[{key}]\nText of {id_}." for key, id_ in zip("123", "abc", strict=True))


def said(text: str, prompt: str = PROMPT) -> Reply:
    return Reply(prompt=prompt, text=text)


def taught(exchange: Exchange) -> list[tuple[str, ...]]:
    outcome = exchange.outcome()
    assert bool(outcome.lessons) == (outcome.reason is None)
    return [lesson.cited for lesson in outcome.lessons]


def test_a_citation() -> None:
    outcome = Exchange(recalls=[OWN], replies=[said("So it is [2].")], actor="ida").outcome()
    (lesson,) = outcome.lessons
    assert (lesson.recalled, lesson.cited, lesson.shown) == (OWN, ("b",), ("a", "b", "c"))
    assert lesson.actor == "ida"
    assert (outcome.cited, outcome.shown, outcome.feedback) == (("b",), ("a", "b", "c"), ())


@pytest.mark.parametrize(
    ("exchange", "reason"),
    [
        (Exchange(replies=[said("[1]")]), Reason.NOTHING_RECALLED),
        (Exchange(recalls=[OWN]), Reason.NO_REPLY),
        (Exchange(recalls=[OWN], replies=[said("[1]", "Hi!")]), Reason.NOTHING_SHOWN),
        (Exchange(recalls=[OWN], replies=[said("I do not know.")]), Reason.NOTHING_CITED),
        (Exchange(recalls=[OWN], replies=[said("As told [7].")]), Reason.OUT_OF_RANGE),
        (
            Exchange(recalls=[OWN], replies=[said("[1]", "Text of a.\n\nText of b.")]),
            Reason.NO_KEYS,
        ),
        (Exchange(recalls=[OWN], replies=[said("[1]")], taught={"a"}), Reason.ALREADY_TAUGHT),
        (Exchange(recalls=[OWN], replies=[said("[1] says nothing.")]), Reason.DISMISSED),
        (Exchange(recalls=[OWN], replies=[said("So ①.")]), Reason.UNKNOWN_FORMAT),
        (
            Exchange(recalls=[recalled("Cite [1]!", "a")], replies=[said("So [1].")]),
            Reason.ASKED_FOR,
        ),
        (Exchange(recalls=[OWN], failed=True), Reason.FAILED),
    ],
    ids=lambda value: value.name if isinstance(value, Reason) else "",
)
def test_why_nothing_is_taught(exchange: Exchange, reason: Reason) -> None:
    outcome = exchange.outcome()
    assert (outcome.lessons, outcome.reason) == ((), reason)


def test_reading_changes_nothing() -> None:
    exchange = Exchange(recalls=[OWN], replies=[said("[1]")])
    assert exchange.outcome() == exchange.outcome()
    assert exchange.taught == set()


DRAFTS = [said("First I thought it was [1]."), said("But it is [2] for certain."), said("Hm.")]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (["First I thought it was [1]."], [("a",)]),
        (["It says: First I thought it was [1]. So there."], [("a",)]),
        ([reply.text for reply in DRAFTS], [("a", "b")]),
        (["Hm."], []),
        (["But it is for certain."], [("b",)]),  # the markers were taken out
        (["for certain"], [("b",)]),
        (["something else"], []),
        (["So it is [3]."], [("c",)]),
        (["Text of a."], [("b",)]),  # the context, and no answer
        ([], [("b",)]),
        (["", "  "], [("b",)]),
    ],
)
def test_the_answer_is_what_was_returned_or_the_last_that_cites(
    output: list[str], expected: list[tuple[str, ...]]
) -> None:
    assert taught(Exchange(recalls=[OWN], replies=DRAFTS, output=output)) == expected


def test_what_takes_the_place_of_an_answer_is_the_answer() -> None:
    outcome = Exchange(recalls=[OWN], replies=DRAFTS, output=["I may not say."]).outcome()
    assert (outcome.reason, outcome.cited) == (Reason.REPLACED, ())
    parsed = Reply(prompt=PROMPT, structured=[{"answer": "Ida Moss", "citations": [2]}])
    assert taught(Exchange(recalls=[OWN], replies=[parsed], output=["Ida Moss"])) == [("b",)]
    quoted = said('{"answer": "She \\"did\\" it\\nin caf\\u00e9s.", "citations": [3]}')
    answer = 'She "did" it\nin cafés.'
    assert taught(Exchange(recalls=[OWN], replies=[quoted], output=[answer])) == [("c",)]
    begun = said("By Moss [1], who was born up north [2].")
    for left, cited in (
        ("By Mo", ("a", "b")),
        ("By Moss [", ("a", "b")),
        ("By Moss [1], wh", ("a",)),  # more did not reach the reader
        ("By Moss [1].", ("a",)),
        ("By Moss (Petrel), who was born up north (Tessel Bay).", ("a", "b")),
        ("Von Moss, die im Norden geboren wurde.", None),
    ):
        exchange = Exchange(recalls=[OWN], replies=[begun], output=[left])
        assert taught(exchange) == ([] if cited is None else [cited])


def test_each_reply_is_read_by_the_keys_of_its_own_prompt() -> None:
    other = "[1]\nText of c."
    replies = [said("One says [1].  "), said("The other [1].", other)]
    output = ["One says [1].", "The other [1]."]
    assert taught(Exchange(recalls=[OWN], replies=replies, output=output)) == [("a", "c")]


def test_a_key_before_a_foreign_text_is_not_ours() -> None:
    web = Source("", "Something from the web.")
    prompt = f"{PROMPT}\n\n[1]\n{web.text}"
    exchange = Exchange(recalls=[OWN], replies=[said("[1] [2]", prompt)], foreign=[web])
    assert taught(exchange) == [("b",)]


def test_structured_native_and_given_renderings() -> None:
    reply = Reply(
        prompt=PROMPT,
        structured=[{"citations": ["[3]"]}],
        annotations=[{"source": "b"}],
        text="As in [1].",
    )
    assert taught(Exchange(recalls=[OWN], replies=[reply])) == [("a", "c", "b")]
    given = Reply(text="[9]", rendered=Rendered((Source("c", "?"),), {"9": "c"}))
    assert taught(Exchange(recalls=[OWN], replies=[given])) == [("c",)]


def test_sources_are_the_texts_that_came_back() -> None:
    hit = OWN.recall.hits[0]
    lacking = Hit(chunk=Chunk(id="x", text=""), score=0.1, rank=2, text_hash="0" * 16)
    recall = OWN.recall.model_copy(update={"hits": (hit, lacking)})
    assert [one.id for one in sources_of([replace(OWN, recall=recall), OWN])] == ["a", "b", "c"]


def test_long_lists_of_texts_take_no_time() -> None:
    """A list that a model said, and an output of other texts: each pair was compared."""
    reply = said(json.dumps([f"Thing {n} of the many that were said [1]" for n in range(2_000)]))
    output = [f"another text that was put out as number {n}" for n in range(2_000)]
    started = time.process_time()
    assert Exchange(recalls=[OWN], replies=[reply], output=output).outcome().cited == ()
    assert time.process_time() - started < 5  # it was 17 s, and four times that for twice as many
