"""Markup in any field shows as text; long, right-to-left and very many things are borne."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from hebbgraph import Chunk, HebbianIndex

if TYPE_CHECKING:
    from conftest import Window

EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"
SPELL = "javascript:alert(3)"


def _evil(where: str) -> str:
    return f"{EVIL} {where}"


@pytest.fixture
def index() -> Iterator[HebbianIndex]:
    """An index with a script in every field that takes text."""
    with HebbianIndex.open(":memory:") as opened:
        opened.add([
            Chunk(
                id=_evil("id"),
                title=_evil("title"),
                text=f"The Scripted Quay {EVIL} lies by the Second Quay. {SPELL}",
                document_id=_evil("document"),
                metadata={_evil("key"): _evil("value"), "href": SPELL},
                tags=(_evil("tag"), "scripted quay"),
                addresses=(SPELL,),
            ),
            Chunk(id="two", title="Second Quay", text=f"Second Quay and Scripted Quay. {EVIL}"),
            Chunk(id="rtl", title="رصيف", text="\u202eרציף\u202c " + "الرصيف Second Quay " * 40),
            Chunk(id="long", title="Long", text="Second Quay " + "word " * 60_000),
            *(Chunk(id=f"many{n}", text="x", tags=tuple(f"tag{n}x{m} name" for m in range(250)))
              for n in range(44)),
        ])  # fmt: skip
        recall = opened.recall("Where does the Scripted Quay lie?")
        opened.reinforce(recall, cited=[recall.hits[0].chunk.id], actor=_evil("actor"))
        opened.tags.correct("rename", "second quay", into="quay two", actor=_evil("actor"))
        yield opened


def test_planted_scripts_show_as_text(window: Window, index: HebbianIndex) -> None:
    page = window.ask("Where does the Scripted Quay lie?")
    assert page.get_by_text(_evil("title")).count() >= 1
    page.get_by_role("button", name=_evil("title"), exact=True).first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("term").get_by_text(_evil("key"), exact=True).wait_for()
    assert EVIL in dialog.inner_text()
    assert dialog.locator("img, script, iframe, a[href^='javascript']").count() == 0
    page.keyboard.press("Escape")
    window.hit(1).get_by_role("button", name="Cited").click()
    page.get_by_label("as", exact=True).fill(_evil("actor"))
    page.get_by_role("button", name="Teach").click()
    page.get_by_text("Learned:").wait_for()
    ready = {
        "replay": ("img", "Activation from left to right"),
        "map?tag=scripted%20quay": ("group", "Tags around scripted quay"),
        "learning": ("region", "Lessons, the newest first"),
        "tags": ("button", "Undo: rename"),
        "operations": ("region", "Documents"),
    }
    for view, (role, name) in ready.items():
        page = window.go(view)
        window.wait_for(role, name)
        page.wait_for_timeout(300)
        assert (
            page.locator("main img, main script, main iframe, a[href^='javascript']").count() == 0
        )
    page = window.go("learning")
    assert _evil("actor") in page.get_by_role("main").inner_text()
    page = window.go(f"map?tag={EVIL}")
    page.get_by_text("no chunk holds the tag").wait_for()
    # The browser logs that 404; a script that ran would have opened a dialog.
    assert not [one for one in window.wrong if "404" not in one]
    window.wrong.clear()


MARKDOWN = (
    f"""# Kites\n
The **kite quay** has [a door](https://quay.example/door), [a trap]({SPELL}) and ![a picture](http://evil.example/x.png).

- one `code`
- {EVIL}

| kite | long |
|---|---|
| red | <b onclick="alert(4)">2</b> |

<a href="{SPELL}">raw</a> [ref]: {SPELL} [data](data:text/html,<script>alert(5)</script>)
"""
    + "Kites fly over the quay. " * 20
)


def test_markdown_is_drawn_and_markup_in_it_is_text(window: Window, index: HebbianIndex) -> None:
    index.add([
        Chunk(
            id="kites",
            text="Kites > Quay\n\n" + MARKDOWN,
            title="Kites",
            document_id="/srv/secret-folder/kites.md",
            metadata={
                "headings": ["Kites", "Quay"],
                "position": 0,
                "source": "/srv/secret-folder/kites.md",
            },
        )
    ])  # fmt: skip
    page = window.ask("Which kite quay has a door for kites?")
    card = window.hits().filter(has=page.get_by_role("heading", name="Kites › Quay", exact=True))
    assert "kites.md, passage 1" in card.inner_text()
    assert "kite" in [word.lower() for word in card.get_by_role("mark").all_inner_texts()]
    card.get_by_role("button", name="Show all").click()
    assert card.get_by_role("cell", name="red").count() == 1
    assert card.get_by_role("strong").inner_text() == "kite quay"
    links = [str(link.get_attribute("href")) for link in card.get_by_role("link").all()]
    assert [link for link in links if not link.startswith("#/")] == ["https://quay.example/door"]
    assert card.locator("img, script, b, [onclick]").count() == 0
    assert EVIL in card.inner_text()
    card.get_by_role("heading").get_by_role("button").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Close").wait_for()
    assert dialog.evaluate("dialog => dialog.scrollTop") == 0
    # The name of a folder of the server is in no view, not even as a hint.
    for view, role, name in (("ask", "list", "Passages"), ("operations", "region", "Documents")):
        page = window.go(view)
        window.wait_for(role, name)
        assert "secret-folder" not in page.get_by_role("main").inner_text()


def test_right_to_left_and_huge_texts(open_window: Callable[..., Window]) -> None:
    window = open_window(width=390)
    page = window.ask("الرصيف Second Quay word")
    card = window.hits().filter(has=page.get_by_role("heading", name="رصيف", exact=True))
    mark = card.get_by_role("mark").first
    assert mark.evaluate("e => getComputedStyle(e).direction") == "rtl"
    long = window.hits().filter(has=page.get_by_role("heading", name="Long", exact=True))
    long.get_by_role("button", name="Show all").click()
    long.get_by_role("heading").get_by_role("button").click()
    page.get_by_text("This is the beginning").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_ten_thousand_tags_in_view(window: Window, index: HebbianIndex) -> None:
    page = window.go("tags")
    page.get_by_role("button", name="Show up to 10,000").click()
    tags = page.get_by_role("list", name="10,000 tags").get_by_role("listitem")
    tags.first.wait_for()
    assert tags.count() == len(index.tags.find(limit=10_000)) == 10_000
    page.get_by_role("searchbox", name="Find").fill("tag43x249 name")
    page.get_by_role("list", name="1 tag", exact=True).wait_for()
