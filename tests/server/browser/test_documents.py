"""Documents: found, uploaded over what is there, deleted, read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from manuals import QUESTION
from pages import ask, card

PING = "# npm ping\n\n## How to ping the registry\n\nPing it, and it says Pong, Pong.\n"


def rows(page: Any) -> Any:
    return page.get_by_role("list", name="Documents").get_by_role("listitem")


def choose(page: Any, *files: tuple[str, str], button: str = "Add files") -> Any:
    """Choose files; return the list in which they wait."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=button).click()
    chooser.value.set_files([
        {"name": name, "mimeType": "application/octet-stream", "buffer": text.encode()}
        for name, text in files
    ])  # fmt: skip
    page.get_by_text("read; nothing is stored yet").wait_for()
    return page.get_by_role("region", name="Files to add")


def test_documents_are_found_by_title_and_by_place(open_page: Any) -> None:
    page = open_page("/documents")
    page.get_by_text("6 documents", exact=True).wait_for()
    find = page.get_by_role("searchbox", name="Find documents")
    find.fill("PUBLISH")
    page.get_by_text("1 document", exact=True).wait_for()
    assert "npm publish" in rows(page).inner_text()
    assert page.url.endswith("/documents?find=PUBLISH")
    find.fill("docs npm-ca")
    page.get_by_text("npm cache").wait_for()
    assert rows(page).count() == 1
    find.fill("tmp")
    page.get_by_text("No title and no place holds this.").wait_for()
    page.get_by_role("link", name="Documents").click()
    page.get_by_text("6 documents", exact=True).wait_for()
    assert find.input_value() == ""


def test_an_upload_replaces_the_document_of_its_place_once_confirmed(open_page: Any) -> None:
    page = open_page("/documents")
    page.get_by_role("link", name="npm ping").click()
    page.get_by_text("Ping the configured registry").wait_for()
    waiting = choose(page, ("npm-ping.md", PING), button="Replace")
    assert "docs/npm-ping.md" in waiting.inner_text()
    assert "Replaces “npm ping”. Passages: 1 changed." in waiting.inner_text()
    assert "Pong, Pong" in waiting.inner_text()
    assert rows(page).count() == 6
    waiting.get_by_role("button", name="Replace 1").click()
    page.get_by_text("1 document stored").wait_for()
    assert rows(page).count() == 6
    page.get_by_role("link", name="npm ping").click()
    page.get_by_text("Pong, Pong").wait_for()
    assert page.get_by_text("Ping the configured registry").count() == 0


def test_two_files_of_one_name_are_not_stored_over_each_other(open_page: Any) -> None:
    page = open_page("/documents")
    waiting = choose(page, ("new.md", "# One\n\nHerons."), ("new.md", "# Two\n\nGulls."))
    waiting.get_by_text("A file of this name waits already.").wait_for()
    waiting.get_by_role("button", name="Add 1").click()
    page.get_by_text("1 document stored").wait_for()
    assert waiting.get_by_role("listitem").count() == 1
    rows(page).filter(has_text="One").wait_for()


def test_a_replacement_says_what_differs_and_which_lessons_rest(open_page: Any) -> None:
    page = open_page()
    ask(page, QUESTION)
    card(page, "folders").get_by_role("button", name="Answers it").click()
    page.get_by_text("First because").wait_for()
    card(page, "folders").get_by_role("link", name="folders").click()
    page.get_by_text("When in global mode").wait_for()
    waiting = choose(page, ("x.md", "# Folders\n\nLinks go to bin."), button="Replace")
    waiting.get_by_text("1 lesson will rest until the same text is back.").wait_for()
    assert "Links go to bin." in waiting.locator("ins").all_inner_texts()
    assert any("When in global mode" in line for line in waiting.locator("del").all_inner_texts())
    waiting.get_by_role("button", name="Replace 1").click()
    page.get_by_text("1 document stored").wait_for()
    page.get_by_role("link", name="Learned").click()
    page.get_by_text("moves nothing").wait_for()


def test_a_document_of_the_same_name_elsewhere_is_asked_about(open_page: Any) -> None:
    page = open_page("/documents")
    waiting = choose(page, ("npm-ping.md", PING), ("new.md", "# New\n\nNews."))
    assert "There is a document of this name. Is it this one?" in waiting.inner_text()
    assert waiting.get_by_role("button", name="Add 1", exact=True).is_visible()
    waiting.get_by_role("radio", name="Replace docs/npm-ping.md").click()
    waiting.get_by_text("Replaces “npm ping”").wait_for()
    waiting.get_by_role("button", name="Add 1, Replace 1").click()
    page.get_by_text("2 documents stored").wait_for()
    rows(page).filter(has_text="new.md").wait_for()
    assert rows(page).count() == 7
    assert rows(page).filter(has_text="npm-ping.md").count() == 1
    assert page.get_by_role("banner").get_by_text("7 documents").is_visible()


def test_what_failed_says_why(open_page: Any) -> None:
    page = open_page("/documents")
    waiting = choose(page, ("broken.json", "{"), ("empty.md", ""))
    assert "is not valid JSON" in waiting.get_by_role("alert").first.inner_text()
    assert waiting.get_by_role("alert").nth(1).inner_text() == "empty.md: is empty"
    assert waiting.get_by_role("button", name="Add").count() == 0
    waiting.get_by_role("button", name="Leave out").first.click()
    waiting.get_by_role("button", name="Leave out").first.click()
    waiting.wait_for(state="hidden")


def test_files_are_dropped_anywhere(open_page: Any) -> None:
    page = open_page()
    dropped = page.evaluate_handle("""() => {
        const data = new DataTransfer();
        data.items.add(new File(["# Owls\\n\\nOwls hunt voles."], "owls.md"));
        return data;
    }""")
    page.dispatch_event("body", "dragover", {"dataTransfer": dropped})
    assert page.get_by_text("Drop files to add them to manuals").is_visible()
    page.dispatch_event("body", "drop", {"dataTransfer": dropped})
    page.get_by_text("A new document, “Owls”: 1 passage.").wait_for()
    page.get_by_role("button", name="Add 1").click()
    page.get_by_text("1 document stored").wait_for()
    page.get_by_role("link", name="Ask", exact=True).click()
    ask(page, "What do owls hunt?")
    card(page, "Owls").get_by_role("link", name="Owls").click()
    page.get_by_role("heading", name="Owls", level=1).wait_for()
    assert page.locator(":focus").inner_text().startswith("Owls")


def test_deleting_says_first_what_goes(open_page: Any) -> None:
    page = open_page()
    ask(page, QUESTION)
    card(page, "folders").get_by_role("button", name="Answers it").click()
    page.get_by_text("First because").wait_for()
    card(page, "folders").get_by_role("link", name="folders").click()
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog", name="Delete “folders”?")
    assert "lessons on it rest" in dialog.inner_text()
    assert dialog.get_by_role("button", name="Delete 1 passage").is_visible()
    dialog.get_by_role("button", name="Cancel").click()
    assert page.get_by_text("When in global mode").is_visible()
    page.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete 1 passage").click()
    page.get_by_text("5 documents", exact=True).wait_for()


def test_the_folder_is_read_again(open_page: Any, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "owls.md").write_text("# Owls\n\nOwls hunt voles.\n")
    (folder / "broken.json").write_text("{")
    page = open_page("/documents", index=tmp_path / "fresh", folder=str(folder))
    again = page.get_by_role("button", name="Read the folder again")
    again.click()
    report = page.get_by_role("region", name="The folder").or_(
        page.get_by_role("status", name="The folder")
    )
    report.get_by_role("heading", name="Nothing is changed yet").wait_for()
    assert "2 new, 0 changed, 0 as before, 0 gone" in report.inner_text()
    assert rows(page).count() == 0
    report.get_by_role("button", name="Read 2 files").click()
    report.get_by_text("1 new, 0 changed, 0 as before, 0 gone; 0 passages deleted").wait_for()
    assert "is not valid JSON" in report.inner_text()
    (folder / "broken.json").unlink()
    (folder / "owls.md").unlink()
    (folder / "larks.md").write_text("# Larks\n\nLarks sing at dawn.\n")
    again.click()
    report.get_by_text("1 new, 0 changed, 0 as before, 1 gone").wait_for()
    report.get_by_role("button", name="Read 1 file").click()
    report.get_by_text("Gone: 1 file").click()
    assert report.get_by_text("folder/owls.md").is_visible()
    assert rows(page).count() == 2  # nothing is deleted before it is confirmed
    report.get_by_role("button", name="Delete 1 document").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    page.get_by_text("1 document", exact=True).wait_for()
    assert "Larks" in rows(page).inner_text()
