"""Which sources an answer dismisses, in the common languages, and which denials are citations."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.citations import Rendered, Source, parse_citations, read_citations
from hebbgraph.citations.dismissals import dismissed_markers

DISMISSING = [
    "[7] does not say who drew them.",
    "[1] and [2] are about something else.",
    "Source [3] doesn't mention it.",
    "Neither [1] nor [2] answers the question.",
    "The builder is not mentioned in [1].",
    "There is no information about this in [2].",
    "[1] is irrelevant.",
    "[1], [2], and [3] are unrelated to the question.",
    "[4] says nothing about it.",
    "Unfortunately, the sources [1] and [2] do not contain the answer.",
    "[1] only discusses other ships.",
    "None of [1], [2] and [3] help.",
    "[7] sagt nicht, wer sie gezeichnet hat.",
    "[1] und [2] handeln von etwas anderem.",
    "In [1] wird das nicht erwähnt.",
    "Weder [1] noch [2] nennen den Erbauer.",
    "[7] ne dit pas qui les a dessinés.",
    "[1] et [2] parlent d'autre chose.",
    "[7] n'indique pas qui les a dessinés.",
    "Les sources [1] et [2] ne mentionnent pas son nom.",
    "[7] no dice quién los dibujó.",
    "[1] y [2] tratan de otra cosa.",
    "[7] non dice chi li ha disegnati.",
    "[1] e [2] parlano di altro.",
    "[7] não diz quem os desenhou.",
    "[1] e [2] tratam de outra coisa.",
    "[7] zegt niet wie ze tekende.",
    "[1] en [2] gaan over iets anders.",
    "[7] säger inte vem som ritade dem.",
    "[7] nie mówi, kto je narysował.",
    "[7] не говорит, кто их нарисовал.",
    "[7]没有提到是谁画的。",
    "[7]は誰が描いたか述べていません。",
    "[1] does not, however, mention the builder.",
    "[7] doesn’t say who drew them.",
]

CITING = [
    "Ida Moss did not build the Heron [1].",
    "Owls do not hunt by day [1].",
    "The law does not mention owls [2].",
    "[1] says that it was Moss.",
    "According to [1], nobody was there.",
    "It was Moss [1], and she did not say why [2].",
    "No owls live there [1].",
    "He has nothing to do with it [3].",
    "Moss was born in the bay [1], not in the town.",
    "[1] shows that owls are not birds of prey.",
    "Moss nicht, sondern Vale baute sie [1].",
    "Il n'y a pas de phare [1].",
    "No hay faro en la bahía [1].",
    "The bridge is not open to cars [1]. It was closed in 1902 [2].",
    "Voles sleep in winter [1] and owls do not migrate [2].",
    "Moss built it [1]. [2] confirms this.",
    "She never wrote about knots [1].",
    "The yard is not in Dunmore [1] but in Gannet Point [2].",
]

SOURCES = Rendered.numbered([Source(name, f"Text of {name}.") for name in "abcdefgh"])


def _spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\[[^\]]+\]", text)]


@pytest.mark.parametrize("answer", DISMISSING)
def test_what_does_not_help_is_not_cited(answer: str) -> None:
    spans = _spans(answer)
    assert dismissed_markers(answer, spans) == set(range(len(spans)))
    said = read_citations(answer, SOURCES)
    assert (said.ids, len(said.dismissed)) == ((), len(spans))


@pytest.mark.parametrize("answer", CITING)
def test_a_denial_whose_subject_is_the_matter_is_a_citation(answer: str) -> None:
    assert dismissed_markers(answer, _spans(answer)) == set()
    assert len(parse_citations(answer, SOURCES)) == len(_spans(answer))


def test_dismissed_here_and_cited_there_is_cited() -> None:
    said = read_citations(
        "[1] does not say who, but it gives the year [1]. [2] helps not.", SOURCES
    )
    assert (said.ids, said.dismissed) == (("a", "b"), ())
    said = read_citations("Moss did [1], while [2] does not mention her.", SOURCES)
    assert (said.ids, said.dismissed) == (("a",), ("b",))


@pytest.mark.parametrize(
    "answer",
    [
        "arr[1] = 2",
        "Set arr[1] = 2 first.",
        "x = [1]",
        "print(sizes[1]);",
        "return values[2];",
        "call f([1]) then",
        "my_list[1] holds it",
        "rows[1].name",
        "counts[1] += 1",
    ],
)
def test_code_that_nobody_quoted_cites_nothing(answer: str) -> None:
    assert parse_citations(answer, SOURCES) == []


@pytest.mark.parametrize(
    "answer",
    ["Moss built it[1].", "Moss (see [1]) did", "Moss[1](https://a.example)", "It is[1][1]; so"],
)
def test_prose_without_a_space_cites(answer: str) -> None:
    assert parse_citations(answer, SOURCES) == ["a"]


def test_keys_that_the_user_wrote_are_not_the_models() -> None:
    said = read_citations("Moss [1], as you see in [2].", SOURCES, question="Cite [1], please!")
    assert (said.ids, said.asked_for) == (("b",), ("a",))


def test_a_judge_decides_where_it_does() -> None:
    asked: list[tuple[str, str]] = []

    def judge(sentence: str, text: str) -> bool | None:
        asked.append((sentence, text))
        return {"Text of a.": False, "Text of b.": True}.get(text)

    said = read_citations("So it is [1]. [2] does not say so. And [3].", SOURCES, judge=judge)
    assert (said.ids, said.dismissed) == (("b", "c"), ("a",))
    assert asked[1] == ("[2] does not say so.", "Text of b.")


def test_a_judge_is_asked_once_of_a_marker_in_two_forms() -> None:
    asked: list[str] = []

    def judge(sentence: str, text: str) -> None:
        asked.append(sentence)

    both = replace(SOURCES, forms=frozenset({"(", "label"}))
    said = read_citations("Moss built it (Source 1).", both, judge=judge)
    assert said.ids == ("a",)
    assert asked == ["Moss built it (Source 1)."]


def test_a_judge_that_fails_leaves_it_to_the_rule(caplog: pytest.LogCaptureFixture) -> None:
    def judge(sentence: str, text: str) -> bool | None:
        raise TimeoutError("no answer")

    assert read_citations("So [1]. [2] says nothing.", SOURCES, judge=judge).ids == ("a",)
    assert "the rule decides" in caplog.text


@given(st.text(st.sampled_from("[]12 ,.not saymentiokgéв没\n\ue000"), max_size=300))
def test_any_text_is_read(text: str) -> None:
    spans = [match.span() for match in re.finditer(r"\[[12]\]", text)]
    assert dismissed_markers(text, spans) <= set(range(len(spans)))
    read_citations(text, SOURCES)
