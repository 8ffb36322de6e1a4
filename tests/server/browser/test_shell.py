"""The shell: tokens, namespaces, widths, colours, assistive technology, and the page's size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from manuals import QUESTION
from pages import ask, cards
from served import secret, token

PAGE = Path(__file__).parents[3] / "extensions/server/hebbgraph_server/page"
VIEWS = ("/", "/?q=How+do+I+publish+a+package", "/learned", "/documents",
         "/documents?place=docs/folders.md", "/?q=Where+are+executables&tag=bin")  # fmt: skip


def test_a_token_sees_its_own_namespace(open_page: Any) -> None:
    tokens = (token("other", namespaces=["other"]), token("all", role="admin"))
    page = open_page(f"/?namespace=default#token={secret('other')}", tokens=tokens)
    assert page.get_by_role("main").get_by_text("1 passage").is_visible()
    assert "token=" not in page.url
    assert page.get_by_role("combobox").count() == 0
    assert "empty" not in page.get_by_role("main").inner_text()
    ask(page, "What is the secret of the other tenant?")
    assert "The other tenant's secret." in cards(page).first.inner_text()
    page = open_page(f"/#token={secret('all')}")
    ask(page, QUESTION)
    page.get_by_role("combobox", name="Namespace").select_option("other")
    page.get_by_role("main").get_by_text("1 passage").wait_for()
    assert page.url.endswith("/?namespace=other")
    page.get_by_role("link", name="Learned").click()
    assert page.url.endswith("/learned?namespace=other")


def test_signing_in_and_out(open_page: Any) -> None:
    page = open_page("/documents", tokens=(token("ann"),))
    assert page.get_by_text("This server asks for a token").is_visible()
    box = page.get_by_label("Token")
    box.fill("not-the-right-one")
    box.press("Enter")
    page.get_by_role("alert").get_by_text("This token is not known here").wait_for()
    box.fill(secret("ann"))
    box.press("Enter")
    page.get_by_text("6 documents", exact=True).wait_for()
    assert page.get_by_role("button", name="Add files").count() == 0
    page.reload()  # the tab keeps it
    page.get_by_role("button", name="Sign out").click()
    page.get_by_text("This server asks for a token").wait_for()


@pytest.mark.parametrize("width", ["desk", "phone"])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_and_can_be_used_by_everybody(open_page: Any, width: str, dark: bool) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(width=width, dark=dark)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(21, 24, 28)") is dark
    for view in VIEWS:
        page.goto(view)
        page.get_by_role("main").get_by_role("heading").first.wait_for(state="attached")
        page.wait_for_load_state("networkidle")
        across = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert across[0] <= across[1], view
        found = Axe().run(page)
        assert found.violations_count == 0, (view, found.generate_report())


def test_the_page_is_small_and_sets_text_as_text() -> None:
    files = [path for path in PAGE.rglob("*") if path.is_file()]
    texts = {path: path.read_text("utf-8") for path in files}
    assert sum(text.count("\n") for text in texts.values()) <= 1_800
    served = [path for path in files if path.parent == PAGE]
    assert sum(path.stat().st_size for path in served) <= 60_000
    for path, text in texts.items():
        for way in ("innerHTML", "insertAdjacentHTML", "document.write", "eval(", "style="):
            assert way not in text, path
