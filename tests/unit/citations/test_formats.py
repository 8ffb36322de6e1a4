"""Formats that people use: each is learned from, or there is a named reason why not."""

from __future__ import annotations

import pytest
from recalls import recalled

from hebbgraph.citations import Exchange, Reason, Recalled, Reply, Source, parse_citations
from hebbgraph.citations import rendered_in as read
from hebbgraph.records import Chunk, Hit, Recall

PETREL = "The Petrel was built by Ida Moss,\nin the yard of Dunmore. It sailed for years."
MOSS = "Ida Moss was born in Tessel Bay.\nShe learned her craft from Corin Vale."
BAY = "Tessel Bay freezes in winter.\nIts lighthouse burned in 1902."
TEXTS = {"petrel": PETREL, "moss": MOSS, "bay": BAY}
SOURCES = [Source(id_, text) for id_, text in TEXTS.items()]
RECALLED = Recalled(
    None,  # type: ignore[arg-type]
    Recall(
        id="r",
        namespace="n",
        strategy="s",
        query="Who?",
        hits=tuple(
            Hit(chunk=Chunk(id=id_, text=text), score=1 / rank, rank=rank)
            for rank, (id_, text) in enumerate(TEXTS.items(), start=1)
        ),
    ),
)


def prompt_of(form: str) -> str:
    """Render all texts in a form; ``flat`` is the text on one line."""
    return "Answer from this.\n\n" + "\n\n".join(
        form.format(n=number, id=id_, text=text, flat=" ".join(text.split()))
        for number, (id_, text) in enumerate(TEXTS.items(), start=1)
    )


#: The form of a source, the answer, and the chunks cited or the reason why there are none.
#: More of them are scripts of ``hebbgraph.testing``, which the adapters run too.
MATRIX = [
    ("[{n}] {text}", "In the bay [3].", ["bay"]),
    ("[{n}]: {text}", "In the bay [3].", ["bay"]),
    ("[{n}] {flat}", "In the bay [3].", ["bay"]),
    ("[{id}]\n{text}", "In the bay [bay].", ["bay"]),
    ("{n}) {text}", "In the bay (3).", ["bay"]),
    ("{n}. {flat}", "In the bay, says source 3.", ["bay"]),
    ("({n}) {flat}", "In the bay (2, 3).", ["moss", "bay"]),
    ("[{n}] {text}", "In the bay.³", ["bay"]),
    ("[{n}] {text}", "In the bay<sup>3, 1</sup>.", ["bay", "petrel"]),
    ("[{n}] {text}", "In the bay.¹³", ["petrel", "bay"]),
    ("[{n}] {text}", "Perhaps [1]?</think>\n\nIn the bay [3].", ["bay"]),
    ("[{n}] {text}", "In the bay [3]. <reasoning>or [2]", ["bay"]),
    (
        "[{n}] {text}",
        "A number of the range [0, 1] and of the interval [1, 3].",
        Reason.NOTHING_CITED,
    ),
    ("[{n}] {text}", "It has 10² sails and 30 m² of cloth.", Reason.NOTHING_CITED),
    (
        '<document index="{n}">\n<source>{id}.md</source>\n<document_content>\n{text}\n'
        "</document_content>",
        "In the bay [3].",
        ["bay"],
    ),
    ("[{n}] {id}\nhttps://example.org/{id}\n{text}", "In the bay [3].", ["bay"]),
    (
        "Source: https://example.org/{id}?page=1&view=2\n{text}",
        "See https://example.org/bay?page=1&view=2.",
        ["bay"],
    ),
    ("Source {n}:\n{text}", "Source 3 says: in the bay.", ["bay"]),
    ("Source {n}: A title\n{text}", "In the bay [Source 3].", ["bay"]),
    ("Document {n} - {flat}", "In the bay [3].", ["bay"]),
    ('<source id="{id}">{flat}</source>', "In the bay [bay].", ["bay"]),
    (
        "Source: {{'source': 'docs/{id}.md', 'page': 1}}\nContent: {text}",
        "So (docs/bay.md).",
        ["bay"],
    ),
    ("Source: {{'source': 'docs/{id}.md'}}\nContent: {flat}", "So [docs/bay.md].", ["bay"]),
    ("Source: docs/{id}.md\n{text}", "In the bay [docs/bay.md].", ["bay"]),
    ("{flat}", "In the bay (3).", Reason.NO_KEYS),
    ("[{n}] {text}", "In the bay (3).", Reason.UNKNOWN_FORMAT),
    ("[{n}] {text}", "The third source has it: in the bay.", Reason.UNKNOWN_FORMAT),
]


@pytest.mark.parametrize(("form", "answer", "expected"), MATRIX)
def test_each_form_teaches_or_says_why_not(
    form: str, answer: str, expected: list[str] | Reason
) -> None:
    said = Reply(prompt=prompt_of(form), text=answer)
    outcome = Exchange(recalls=[RECALLED], replies=[said]).outcome()
    found = list(outcome.cited) if outcome.reason is None else outcome.reason
    assert found == expected


def test_a_list_in_parentheses_is_no_citation() -> None:
    rendered = read(prompt_of("({n}) {text}"), SOURCES)
    assert parse_citations("Two things: (1) she sailed, (2) she wrote.", rendered) == []
    assert parse_citations("(1) she sailed\n(2) she wrote", rendered) == []


def test_a_line_of_another_text_is_no_key() -> None:
    prompt = f"How to fire a kiln:\n1. Heat it.\n2. Wait.\n{PETREL}"
    assert read(prompt, SOURCES).keys == {}


def test_a_passage_from_the_middle_of_a_chunk() -> None:
    passage = "in the yard of Dunmore. It sailed for years."
    rendered = read(f"[1] Nothing of ours.\n\n[2] {passage}", SOURCES)
    assert rendered.keys == {}  # too short to be sure
    long = "learned her craft from Corin Vale, who kept the yard at Gannet Point for thirty years."
    whole = Source(
        "vale", f"As she told everybody, she {long} He wrote two long books about knots."
    )
    rendered = read(f"[1] Nothing.\n\n[2] {long} He wrote two long books about knots.", [whole])
    assert rendered.keys == {"2": "vale"}


def test_of_a_parent_document_the_children_that_were_found_get_the_credit() -> None:
    parent = Source("", f"All about ships.\n{PETREL}\n{MOSS}\nThe end.")
    other = Source("", f"Of places. {BAY} And so on.")
    prompt = f"[1] Ships\n{parent.text}\n\n[2] Places\n{other.text}"
    rendered = read(prompt, [*SOURCES, parent, other])
    assert rendered.ids == ("petrel", "moss", "bay")
    assert parse_citations("Moss [1].", rendered) == ["petrel", "moss"]
    assert parse_citations("The bay [2].", rendered) == ["bay"]
    outcome = Exchange(
        recalls=[RECALLED],
        replies=[Reply(prompt=prompt, text="Moss [1].")],
        foreign=[parent, other],
    ).outcome()
    assert (outcome.cited, outcome.shown) == (("petrel", "moss"), ("petrel", "moss", "bay"))


def test_all_of_many_says_nothing() -> None:
    found = recalled("r", *"abcde")
    prompt = "\n\n".join(f"[{n}]\nText of {id_}." for n, id_ in enumerate("abcde", start=1))
    for answer, reason in (("So [1-5].", Reason.ALL_OF_MANY), ("So [1-4].", None)):
        said = Reply(prompt=prompt, text=answer)
        assert Exchange(recalls=[found], replies=[said]).outcome().reason is reason
