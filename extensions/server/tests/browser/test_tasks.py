"""What somebody new wants of the page, in at most six clicks or keys from the first screen.

Typing a question or a name counts as one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hebbgraph import HebbianIndex
from hebbgraph.labels import heading_of, place_of

if TYPE_CHECKING:
    from conftest import Server, Window
    from model_stub import Stub
    from playwright.sync_api import Locator, Page

QUESTION = "Who built the organ in the town where the captain of the Petrel Marrow was born?"
REWORDED = "In the home town of the Petrel Marrow's captain there is an organ: by whom?"


class Steps:
    """Clicks, keys and typing, counted."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.page: Page = window.go("")
        self.taken = 0

    def click(self, target: Locator) -> None:
        target.click()
        self.taken += 1

    def type(self, target: Locator, text: str) -> None:
        target.fill(text)
        self.taken += 1

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.taken += 1

    def ask(self, question: str) -> None:
        self.type(self.page.get_by_label("Question", exact=True), question)
        self.press("Enter")
        self.page.get_by_role("region", name=question).get_by_role("heading").first.wait_for()

    def hit(self, number: int) -> Locator:
        return self.window.hit(number)


def test_why_a_passage_came_third(window: Window, index: HebbianIndex) -> None:
    steps = Steps(window)
    steps.ask(QUESTION)
    steps.click(steps.hit(3).get_by_text(re.compile("^Why: .*%")))
    (third,) = (hit for hit in index.recall(QUESTION).hits if hit.rank == 3)
    steps.hit(3).get_by_text(f"Score {third.score:.3f}").wait_for()
    assert third.chunk.title in steps.hit(3).get_by_role("heading").inner_text()
    assert place_of(third.chunk) in steps.hit(3).inner_text()
    assert steps.taken <= 6


def test_teach_by_three_keys_see_it_help_and_take_it_back(
    window: Window, index: HebbianIndex
) -> None:
    steps = Steps(window)
    steps.ask(REWORDED)
    lessons = len(index.lessons())
    fifth = index.recall(REWORDED).hits[4]
    for key in "5ct":
        steps.press(key)
    steps.page.get_by_text("Learned: 1 cited, 0 wrong").wait_for()
    assert len(index.lessons()) == lessons + 1
    now = index.recall(REWORDED).hit(fifth.chunk.id)
    assert now is not None
    assert now.rank < 5
    steps.hit(now.rank).get_by_text("▲ from 5").wait_for()
    steps.click(steps.page.get_by_role("button", name="Undo"))
    steps.page.get_by_text("Taken back: the answer is as it was").wait_for()
    assert len(index.lessons()) == lessons
    assert index.recall(REWORDED).hits[4].chunk.id == fifth.chunk.id
    assert steps.taken <= 6


def test_what_the_index_knows_about_a_name(window: Window, index: HebbianIndex) -> None:
    steps = Steps(window)
    steps.click(steps.page.get_by_role("link", name="Map"))
    steps.type(steps.page.get_by_label("Tag", exact=True), "tessel bay")
    steps.press("Enter")
    about = steps.page.get_by_role("complementary", name="Chosen tag")
    about.get_by_role("heading", name="tessel bay").wait_for()
    around = index.tags.around("tessel bay", limit=39).chunks[:8]
    for chunk in index.get([one.chunk_id for one in around]):
        assert about.get_by_role("button", name=heading_of(chunk), exact=True).count() == 1
    steps.click(about.get_by_role("button").first)
    steps.page.get_by_role("dialog").get_by_text("Tags").wait_for()
    assert steps.taken <= 6


def test_replace_a_document(window: Window, index: HebbianIndex, tmp_path: Path) -> None:
    name = index.recall("Tessel Bay").hits[0].chunk.document_id
    assert name is not None
    new = tmp_path / "new.md"
    new.write_text("# Tessel Bay\n\nNow a harbour for kites.\n")
    steps = Steps(window)
    steps.click(steps.page.get_by_role("link", name="Documents"))
    with steps.page.expect_file_chooser() as chooser:
        steps.click(steps.page.get_by_role("button", name=f"Replace {name}"))
    chooser.value.set_files(new)
    steps.page.get_by_text(f"{name} was replaced").wait_for()
    found = index.get(index.ids({"$document_id": name}))
    assert [chunk.text for chunk in found] == ["Now a harbour for kites."]
    steps.click(steps.page.get_by_role("button", name=f"Delete {name}"))
    steps.click(steps.page.get_by_role("button", name=f"Delete {name}"))
    steps.page.get_by_text(f"{name} was deleted").wait_for()
    assert index.ids({"$document_id": name}) == []
    assert steps.taken <= 6


def test_a_folder_is_read_again(
    server: Server, open_window: Callable[..., Window], index: HebbianIndex, tmp_path: Path
) -> None:
    from hebbgraph_server.settings import Folder

    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "kites.md").write_text("# Kites\n\nKites need wind.\n")
    (folder / "broken.pdf").write_text("no PDF")
    server.stop()
    server.folder = Folder(path=folder, base=folder)
    server.start()
    page = open_window().go("operations")
    page.get_by_role("button", name="Read the folder again").click()
    page.get_by_text("The folder was read: 1 document indexed, 0 as before, 0 removed.").wait_for()
    page.get_by_text("broken.pdf: ").wait_for()
    assert str(tmp_path) not in page.content()
    row = page.get_by_role("row").filter(has_text="kites.md")
    row.get_by_text(re.compile(r"^\d+ \w+ 20\d\d, \d\d:\d\d$")).wait_for()
    assert index.ids({"$document_id": "kites.md"})


def test_a_question_has_an_address(window: Window) -> None:
    steps = Steps(window)
    page = steps.page
    steps.click(page.get_by_role("link", name=re.compile("^What is known about")))
    window.hits().first.wait_for()
    address = page.url
    page.keyboard.press("/")
    assert page.get_by_label("Question", exact=True).evaluate("e => e === document.activeElement")
    steps.ask(QUESTION)
    assert page.url != address
    page.reload()
    page.get_by_role("region", name=QUESTION).get_by_role("heading").first.wait_for()
    page.go_back()
    page.get_by_role("heading", name=re.compile("^What is known about")).wait_for()
    assert page.url == address


def test_a_model_answers_and_is_taught_by(
    server: Server, open_window: Callable[..., Window], index: HebbianIndex, stub: Stub
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    from hebbgraph_server.answering import Model

    server.stop()
    server.model = Model(stub.url, "owl")
    stub.streams = True
    server.start()
    before = len(index.lessons())
    for width, dark in ((1440, False), (390, True)):
        window = open_window(width=width, dark=dark)
        page = window.ask(QUESTION)
        answer = page.get_by_role("region", name="Answer")
        answer.get_by_text("It was built there").wait_for()
        first = index.recall(QUESTION).hits[0].chunk
        answer.get_by_role("button", name="Passage 1").click()
        assert window.hit(1).evaluate("e => e === document.activeElement")
        assert window.hit(1).get_by_role("heading").inner_text() == heading_of(first)
        found = Axe().run(page)
        assert not found.response["violations"], found.generate_report()
        if folder := os.environ.get("HEBBGRAPH_LOOK"):
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=f"{folder}/reply-{width}.png")
        answer.get_by_role("button", name="Right: teach what it cites").click()
        page.get_by_text("Learned: 1 cited, 0 wrong").wait_for()
        assert index.lessons()[-1].cited == (first.id,)
        page.get_by_role("button", name="Undo").click()
        page.get_by_text("Taken back").wait_for()
        answer.get_by_text("It was built there").wait_for()
    assert len(index.lessons()) == before
    assert len(stub.asked) == 2
    stub.status, stub.reply = 500, "out of memory"
    window = open_window()
    page = window.ask(QUESTION)
    page.get_by_role("alert").get_by_text("answered 500; the log").wait_for()
    assert window.hits().count() > 1


def test_readers_see_no_button_that_fails(
    server: Server, open_window: Callable[..., Window], index: HebbianIndex
) -> None:
    from hebbgraph_server.access import token_of

    secret = "secret-of-the-reader"
    server.stop()
    server.tokens = (token_of(secret, name="reader", role="read"),)
    server.start()
    for width, dark in ((1440, False), (390, True)):
        window = open_window(width=width, dark=dark)
        window.page.add_init_script(f"sessionStorage.setItem('hebbgraph-token', '{secret}')")
        page = window.go("learning")
        page.get_by_text("use a token with the role teach").wait_for()
        assert page.get_by_role("button").all_inner_texts() == ["Compare"]
        page = window.go("tags")
        tag = page.get_by_role("link", name="tessel bay")
        tag.wait_for()
        page.get_by_role("heading", name="Corrections in force").wait_for()
        assert page.get_by_role("button").all_inner_texts() == []
        assert page.get_by_role("checkbox").count() == 0
        if folder := os.environ.get("HEBBGRAPH_LOOK"):
            page.screenshot(path=f"{folder}/tags-{width}.png")
            window.go("learning").get_by_text("use a token with the role teach").wait_for()
            page.screenshot(path=f"{folder}/learning-{width}.png")
