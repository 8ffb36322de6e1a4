"""Learning is the hero: teach, see it move, take it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from manuals import MANUALS, QUESTION
from pages import ask, card, cards, titles
from served import secret, token

from hebbgraph import HebbianIndex

REWORDED = "What makes a file executable in a package that I publish?"
FOLDERS = "folders: Where executables go"


def teach(page: Any, title: str, verdict: str = "Answers it") -> None:
    button = card(page, title).get_by_role("button", name=verdict)
    was = button.get_attribute("aria-pressed") == "true"
    button.click()
    card(page, title).get_by_role("button", name=verdict, pressed=not was).wait_for()


def test_the_taught_passage_arrives_first_and_is_seen(open_page: Any) -> None:
    page = open_page()
    page.set_viewport_size({"width": 1000, "height": 500})
    ask(page, QUESTION)
    before = titles(page)
    rank = before.index(FOLDERS) + 1
    page.get_by_placeholder("your name").fill("ann")
    page.get_by_placeholder("your name").blur()
    teach(page, "folders")
    first = cards(page).first
    assert titles(page)[0] == FOLDERS
    assert first.evaluate(
        "card => card === document.activeElement && card.getBoundingClientRect().top >= 0"
    )
    assert f"First because ann marked it for “{QUESTION}” · Undo" in first.inner_text()
    assert f"▲ from {rank}" in first.inner_text()
    assert "below 1, which a lesson raised" in cards(page).nth(1).inner_text()
    # Reworded, and after a reload, it is still there, and can be taken back.
    ask(page, REWORDED)
    page.get_by_text("because ann marked it").wait_for()
    page.reload()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Taken back").wait_for()
    ask(page, QUESTION)
    assert titles(page) == before
    assert page.get_by_role("button", name="Undo").count() == 0


@pytest.mark.parametrize("moving", [True, False])
def test_cards_glide_unless_people_want_stillness(open_page: Any, moving: bool) -> None:
    page = open_page(moving=moving)
    ask(page, QUESTION)
    page.evaluate("""() => document.addEventListener("animationstart", (event) => {
        document.documentElement.dataset[event.animationName] = "seen";
    })""")
    teach(page, "folders")
    way = card(page, "folders").evaluate("card => card.style.getPropertyValue('--way')")
    assert abs(float(way.removesuffix("px"))) > 50
    if moving:
        page.locator("html[data-glide]").wait_for(state="attached")
    assert bool(page.locator("html[data-glide]").count()) is moving


def test_one_switch_shows_the_ranking_without_lessons(open_page: Any) -> None:
    page = open_page()
    ask(page, QUESTION)
    before = titles(page)
    assert page.get_by_role("group", name="Ranking").count() == 0
    teach(page, "folders")
    taught = titles(page)
    page.get_by_role("group", name="Ranking").get_by_role("button", name="without").click()
    assert titles(page) == before != taught
    assert page.get_by_text("because").count() == 0
    assert page.url.endswith("&lessons=off")
    page.reload()
    cards(page).first.wait_for()
    assert titles(page) == before
    page.get_by_role("button", name="with lessons").click()
    assert titles(page) == taught


def test_wrong_passages_are_marked_and_unmarked(open_page: Any) -> None:
    page = open_page()
    ask(page, QUESTION)
    before = titles(page)
    teach(page, "npm publish", "Wrong")
    assert titles(page)[0] != before[0]
    page.reload()
    wrong = card(page, "npm publish")
    wrong.wait_for()
    assert f"Somebody marked it wrong for “{QUESTION}”" in wrong.inner_text()
    button = wrong.get_by_role("button", name="Wrong")
    assert button.get_attribute("aria-pressed") == "true"
    teach(page, "scope")  # one more word on the same question keeps the first
    assert card(page, "npm publish").get_by_text("marked it wrong").is_visible()
    teach(page, "scope")
    card(page, "npm publish").get_by_role("button", name="Wrong").click()
    page.get_by_text("marked it wrong").wait_for(state="detached")
    assert titles(page) == before


def test_a_passage_that_was_not_found_is_taught_by_search(open_page: Any, add: Any) -> None:
    add(*({"id": f"f{n}", "title": f"File {n}", "text": f"Make file {n} executable, publish the "
           "package."} for n in range(12)))  # fmt: skip
    page = open_page()
    ask(page, QUESTION)
    assert card(page, "npm ping").count() == 0
    page.get_by_text("The answer is not here?").click()
    page.get_by_label("Find the passage by words that it holds").fill("registry Pong")
    page.get_by_role("button", name="Find", exact=True).click()
    choices = page.get_by_role("list", name="Passages to choose from").get_by_role("listitem")
    choices.filter(has_text="npm ping").get_by_role("button", name="Answers it").click()
    card(page, "npm ping").wait_for()
    assert titles(page)[0] == "npm ping: How to ping the registry"


def test_lessons_are_listed_and_taken_back_after_a_look(open_page: Any) -> None:
    page = open_page("/learned")
    assert page.get_by_text("No lessons in force.").is_visible()
    page.get_by_role("link", name="Ask", exact=True).click()
    ask(page, QUESTION)
    teach(page, "folders")
    page.get_by_role("link", name="Learned").click()
    lesson = page.get_by_role("list", name="Lessons").get_by_role("listitem")
    lesson.wait_for()
    assert lesson.count() == 1
    for said in (QUESTION, f"Answered by {FOLDERS}", "Somebody"):
        assert said in lesson.inner_text()
    page.get_by_role("button", name="Did it help?").click()
    page.get_by_text("It takes answers to two questions to tell.").wait_for()
    lesson.get_by_role("button", name="Take back").click()
    dialog = page.get_by_role("dialog", name="Take this lesson back?")
    assert FOLDERS in dialog.inner_text()
    dialog.get_by_role("button", name="Cancel").click()
    assert lesson.count() == 1
    page.request.delete("/v1/documents?place=docs/folders.md")
    page.reload()
    lesson.get_by_role("button", name="Take back").click()
    assert "On what is gone" in dialog.inner_text()
    dialog.get_by_role("button", name="Take back").click()
    page.get_by_text("No lessons in force.").wait_for()


def test_who_may_not_teach_sees_no_buttons(open_page: Any) -> None:
    tokens = (token("reader"), token("ann", teach=True, actor="ann"), token("eve", teach=True))
    page = open_page(f"/#token={secret('reader')}", tokens=tokens)
    ask(page, QUESTION)
    assert page.get_by_role("button", name="Answers it").count() == 0
    page = open_page(f"/#token={secret('ann')}")
    ask(page, QUESTION)
    assert page.get_by_text("marking as ann").is_visible()
    page = open_page(f"/#token={secret('eve')}")
    ask(page, QUESTION)
    card(page, "folders").get_by_role("button", name="Answers it").click()
    page.get_by_text("it counts once another name says the same").wait_for()


def test_the_server_may_keep_no_questions(open_page: Any, tmp_path: Path) -> None:
    page = open_page(index=tmp_path / "unkept", keep_questions=False)
    with HebbianIndex.open(tmp_path / "unkept") as index:
        index.add(MANUALS)
    ask(page, QUESTION)
    card(page, "folders").get_by_role("button", name="Answers it").click()
    page.get_by_text("First because somebody marked it for an earlier question").wait_for()
    page.get_by_role("link", name="Learned").click()
    page.get_by_text("Questions are not kept, by a setting of the server.").wait_for()
    assert page.get_by_role("heading", name="A question that was not kept").is_visible()
