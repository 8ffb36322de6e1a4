"""Each view of the page shows what the Python API says."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hebbgraph import Chunk, HebbianIndex
from hebbgraph.labels import heading_of

if TYPE_CHECKING:
    from conftest import Server, Window
    from playwright.sync_api import Page

SERVER = Path(__file__).parents[2]
PAGE = SERVER / "hebbgraph_server/page"
QUESTION = "Who built the organ in the town where the captain of the Petrel Marrow was born?"
REWORDED = "In the home town of the Petrel Marrow's captain there is an organ: by whom?"
VIEWS = ("ask", "replay", "map?tag=tessel%20bay", "learning", "tags", "operations")
#: What a view shows once it has all it wanted.
READY = {
    "ask": ".hit",
    "replay": ".spread",
    "map?tag=tessel%20bay": "[data-drawn]",
    "learning": "[data-lessons]",
    "tags": "[data-tags]",
    "operations": "[data-stat]",
}


def _numbers(page: Page, selector: str, attribute: str) -> list[float]:
    return [float(one.get_attribute(attribute) or "nan") for one in page.locator(selector).all()]


def _text(page: Page, selector: str) -> list[str]:
    return [" ".join(one.split()) for one in page.locator(selector).all_inner_texts()]


# -- ask --------------------------------------------------------------------------------


def test_hits_have_the_scores_and_causes_of_the_index(window: Window, index: HebbianIndex) -> None:
    page = window.ask(QUESTION)
    recall = index.recall(QUESTION)
    trace = index.inspect.trace(recall)
    hits = page.locator(".hit")
    assert [one.get_attribute("data-chunk") for one in hits.all()] == [
        hit.chunk.id for hit in recall.hits
    ]
    assert _numbers(page, ".hit", "data-score") == pytest.approx([h.score for h in recall.hits])
    assert _text(page, ".hit .rank") == [str(hit.rank) for hit in recall.hits]
    assert float(page.locator("[data-confidence]").get_attribute("data-confidence") or 0) == (
        pytest.approx(recall.confidence)
    )
    for at, hit in enumerate(trace.hits):
        shown = {
            str(one.get_attribute("data-cause")): str(one.text_content()).replace("−", "-")
            for one in hits.nth(at).locator("[data-cause]").all()
        }
        for cause, value in hit.causes.model_dump().items():
            assert float(shown.get(cause, 0)) == pytest.approx(value, abs=0.0006)
    path = _text(page, ".hit:nth-child(2) .path")[0]
    assert path.replace(" ", "") == recall.hits[1].path_text.replace("«", "").replace(
        "»", ""
    ).replace(" ", "")


def test_a_score_is_told_in_words_and_its_bar_stays_in_the_card(
    open_window: Callable[..., Window], index: HebbianIndex
) -> None:
    trace = index.inspect.trace(index.recall(QUESTION))
    lowered = next(at for at, hit in enumerate(trace.hits) if hit.causes.learned < -0.05)
    for width in (1440, 390):
        page = open_window(width=width).ask(QUESTION)
        page.get_by_text("Sure: passages hold what the question names.").wait_for()
        assert page.get_by_role("status").filter(has=page.locator(".hits")).count() == 0
        assert page.locator("[aria-live] .hits").count() == 0  # a screen reader reads no whole list
        for why in page.get_by_text(re.compile("^Why: ")).all():
            why.click()
        for card in page.get_by_role("listitem").filter(has_text="Why: ").all():
            box, bar = card.bounding_box(), card.locator(".bar").bounding_box()
            assert box is not None
            assert bar is not None
            parts = [part.bounding_box() for part in card.locator(".bar i").all()]
            assert all(part is not None for part in parts)
            right = max(part["x"] + part["width"] for part in parts if part is not None)
            assert right <= bar["x"] + bar["width"] + 1 <= box["x"] + box["width"]
        assert page.locator(".hit").nth(lowered).locator(".bar .minus").count() == 1


def test_passages_of_one_document_can_be_told_apart_in_every_view(window: Window) -> None:
    page = window.ask(QUESTION)
    names = ("Tessel Bay", "Tessel Bay › Access")
    for name in names:
        assert page.get_by_role("heading", name=name, exact=True).count() == 1
    page = window.go("replay")
    page.get_by_role("heading", name="Result").wait_for()
    ends = page.get_by_role("listitem")
    for name in names:
        assert ends.get_by_role("button", name=name, exact=True).count() == 1
    page = window.go("learning")
    compared = page.get_by_role("table").filter(has_text="without")
    for name in names:
        compared.get_by_role("button", name=name, exact=True).wait_for()


def test_lessons_behind_a_hit_are_named(window: Window, index: HebbianIndex) -> None:
    page = window.ask(QUESTION)
    recall = index.recall(QUESTION)
    hit = max(index.inspect.trace(recall).hits, key=lambda one: one.causes.learned)
    page.locator(f'.hit[data-chunk="{hit.chunk_id}"] h3 button').click()
    page.get_by_text("Effect of lessons on the last question").wait_for()
    effects = index.explain(recall, hit.chunk_id).learned[:8]
    shown = _text(page, "dialog ul.plain .learned")
    assert [float(one.replace("−", "-")) for one in shown] == (
        pytest.approx([one.effect for one in effects], abs=0.0006)
    )
    told = " ".join(_text(page, "dialog ul.plain li"))
    assert f"taught by {effects[0].actor}" in told
    assert not re.search("[0-9a-f]{8}", told)  # passages have names, not ids


def test_a_filter_and_a_second_question(window: Window, index: HebbianIndex) -> None:
    page = window.go("ask")
    page.get_by_text("Filter, compare").click()
    page.get_by_label("Question", exact=True).fill(QUESTION)
    page.get_by_label("A second question").fill(REWORDED)
    page.get_by_label("Only chunks whose metadata").fill('{"nowhere": 1}')
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_text("Nothing found").first.wait_for()
    page.get_by_label("Only chunks whose metadata").fill("{broken")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_text("The filter is not JSON").wait_for()
    page.get_by_label("Only chunks whose metadata").fill("")
    page.get_by_label("Hits", exact=True).fill("3")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator(".answers:nth-child(2) .hit").first.wait_for()
    page.locator(".answers:nth-child(1) .hit").first.wait_for()
    for column, question in enumerate((QUESTION, REWORDED), start=1):
        shown = page.locator(f".answers:nth-child({column}) .hit").all()
        assert [one.get_attribute("data-chunk") for one in shown] == [
            hit.chunk.id for hit in index.recall(question, k=3).hits
        ]


def test_what_is_marked_as_cited_teaches(window: Window, index: HebbianIndex) -> None:
    lessons = len(index.forget(everything=True, dry_run=True).feedback)
    page = window.ask(REWORDED)
    last = page.locator(".hit").last
    chunk_id = str(last.get_attribute("data-chunk"))
    before = float(last.get_attribute("data-score") or 0)
    last.get_by_role("button", name="Cited").click()
    page.get_by_label("as", exact=True).fill("ada")
    page.get_by_role("button", name="Teach").click()
    page.get_by_text("Learned: 1 cited, 0 wrong").wait_for()
    told = index.forget(everything=True, dry_run=True)
    assert len(told.feedback) == lessons + 1
    hit = index.recall(REWORDED).hit(chunk_id)
    assert hit is not None
    assert hit.score > before
    card = page.locator(f'.hit[data-chunk="{chunk_id}"]')
    assert float(card.get_attribute("data-score") or 0) == pytest.approx(hit.score)
    assert card.locator(".rank").inner_text() == str(hit.rank)
    assert card.locator(".moved").count() == 1


@pytest.mark.parametrize("learns", [True, False])
def test_what_is_opened_and_copied_teaches_where_the_server_learns_from_use(
    learns: bool, server: Server, open_window: Callable[..., Window], index: HebbianIndex
) -> None:
    server.stop()
    server.learns = learns
    server.start()
    page = open_window().ask(REWORDED)
    page.get_by_label("as", exact=True).fill("ada")
    second, third = (page.locator(".hit").nth(at) for at in (1, 2))
    chunks = [str(one.get_attribute("data-chunk")) for one in (second, third)]
    sent: list[str] = []
    page.on("response", lambda one: sent.append(one.url) if "reinforce" in one.url else None)
    for _ in range(2):  # once is enough to tell
        second.locator("h3 button").click()
        page.locator("dialog[open] h3").first.wait_for()
        page.get_by_role("button", name="Close").click()
    third.locator(".text").first.select_text()
    page.evaluate("document.execCommand('copy')")
    for _ in range(50 if learns else 5):
        page.wait_for_timeout(100)
        if len(sent) == 2:
            break
    done = [(one.kind, one.cited, one.actor) for one in index.lessons() if one.kind != "cited"]
    expected = [("opened", (chunks[0],), "ada"), ("copied", (chunks[1],), "ada")]
    assert done == (expected if learns else [])


# -- replay -----------------------------------------------------------------------------


def test_replay_shows_every_flow_of_every_step(window: Window, index: HebbianIndex) -> None:
    page = window.ask(QUESTION)
    page.get_by_role("link", name="Replay it").click()
    page.locator(".spread").wait_for()
    trace = index.inspect.trace(index.recall(QUESTION))
    expected: dict[tuple[object, ...], int] = {}
    for event in trace.events:
        kind = trace.nodes[event.target].kind
        key = ("start",) if event.over == "question" else (event.step, event.over, kind)
        expected[key] = expected.get(key, 0) + 1
    shown = []
    slider = page.get_by_role("slider", name="Step")
    for at in range(len(expected)):
        shown.append(int(page.locator("[data-flows]").get_attribute("data-flows") or 0))
        assert _text(page, ".caption b") == [f"{at + 1}/{len(expected)}"]
        slider.press("ArrowRight")
    assert shown == list(expected.values())
    assert page.get_by_label("Step forward").is_disabled()
    assert _text(page, ".ends .score") == [f"{hit.score:.3f}" for hit in trace.hits]
    learned = sum(event.learned >= 0.5 for event in trace.events)
    assert (page.locator("path.edge.learned").count() > 0) == (learned > 0)


def test_replay_fills_its_frame_and_shows_names_in_full(
    open_window: Callable[..., Window], index: HebbianIndex
) -> None:
    trace = index.inspect.trace(index.recall(QUESTION))
    for width in (1440, 2560):
        window = open_window(width=width)
        window.ask(QUESTION)
        page = window.go("replay")
        frame = page.get_by_role("region", name="The spread")
        inside, drawn = frame.bounding_box(), page.locator(".spread").bounding_box()
        assert inside is not None
        assert drawn is not None
        assert inside["width"] - 60 < drawn["width"] <= inside["width"]
        labels = {
            re.sub("[\u2068\u2069]", "", " ".join(label.locator("tspan").all_text_contents()))
            for label in page.locator(".spread text.label").all()
        }
        assert {node.value for node in trace.nodes if node.kind == "tag"} & labels
        assert "Sable Trench Expedition › Results" in labels
    for width in (768, 390):
        window = open_window(width=width)
        window.ask(QUESTION)
        page = window.go("replay")
        for _ in range(4):
            page.get_by_label("Step forward").click()
        inside = page.get_by_role("region", name="The spread").bounding_box()
        assert inside is not None
        for label in page.locator(".spread .now text.label").all():
            box = label.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= inside["x"] + inside["width"]


def test_replay_plays_by_itself(window: Window) -> None:
    page = window.go("replay")
    page.get_by_label("Question", exact=True).fill(QUESTION)
    page.get_by_role("button", name="Replay", exact=True).click()
    page.get_by_role("button", name="Play", exact=True).click()
    page.locator(".caption b", has_text=re.compile("^2/")).wait_for()
    page.get_by_role("button", name="Pause").click()


# -- map --------------------------------------------------------------------------------


def test_the_map_holds_the_neighbourhood(window: Window, index: HebbianIndex) -> None:
    page = window.go("map?tag=tessel%20bay")
    page.locator("[data-drawn]").wait_for()
    found = index.tags.around("tessel bay", limit=39)
    summary = page.locator("[data-nodes]")
    assert int(summary.get_attribute("data-nodes") or 0) == len(found.nodes)
    assert int(summary.get_attribute("data-edges") or 0) == len(found.edges)
    dots = page.get_by_role("group", name="Tags around tessel bay").get_by_role("button")
    assert [one.get_attribute("aria-label") for one in dots.all()] == [
        node.tag for node in found.nodes
    ]
    rows = _text(page, ".map tbody tr")
    assert rows == [f"{node.tag} {node.weight} {node.chunks}" for node in found.nodes[1:]]
    # From the tag to a passage, and on to another tag.
    title = heading_of(index.get([found.chunks[0].chunk_id])[0])
    page.get_by_role("button", name=title, exact=True).first.click()
    tags = {one.tag for one in index.tags.find(chunk=found.chunks[0].chunk_id)}
    page.locator("dialog .tagged").wait_for()
    assert set(_text(page, "dialog .tagged a")) == tags
    page.keyboard.press("Escape")
    page.locator(".map a.tag").first.click()
    page.get_by_role("heading", name=found.nodes[1].tag, exact=True).wait_for()


def test_no_label_of_the_map_covers_another(
    open_window: Callable[..., Window], index: HebbianIndex
) -> None:
    for width in (1440, 390):
        page = open_window(width=width).go("map?tag=tessel%20bay")
        page.locator("[data-drawn]").wait_for()
        for step in range(2):  # as it comes, and after more was opened
            boxes = [one.bounding_box() for one in page.locator(".dot text").all()]
            assert len(boxes) >= 15
            for at, one in enumerate(boxes):
                for other in boxes[at + 1 :]:
                    assert one is not None
                    assert other is not None
                    over = [
                        min(one[d] + one[size], other[d] + other[size]) - max(one[d], other[d])
                        for d, size in (("x", "width"), ("y", "height"))
                    ]
                    assert min(over) <= 1.0, (one, other)
            if step == 0:
                known = {one.get_attribute("aria-label") for one in page.locator(".dot").all()}
                opened = next(
                    tag
                    for tag in sorted(filter(None, known))
                    if {one.tag for one in index.tags.around(tag, limit=39).nodes} - known
                )
                page.get_by_role("button", name=opened, exact=True).press("Enter")
                page.locator(f'.picture:not([data-drawn="{len(boxes)}"])').wait_for()


def test_hubs_are_folded_and_a_tag_may_be_alone(window: Window, index: HebbianIndex) -> None:
    index.add(
        Chunk(id=f"h{n}", text="x", tags=("tide table", f"berth {n % 40}")) for n in range(400)
    )
    around = index.tags.around("berth 7", limit=39)
    assert [hub.tag for hub in around.hubs] == ["tide table"]
    page = window.go("map?tag=berth%207")
    page.get_by_text("1 hub, folded").wait_for()
    assert page.get_by_role("link", name="tide table").is_hidden()
    page.get_by_text("1 hub, folded").click()
    page.get_by_role("link", name="tide table").wait_for()


def test_a_tag_is_moved_by_dragging(window: Window) -> None:
    page = window.go("map?tag=tessel%20bay")
    dot = page.locator(".dot circle").nth(3)
    box = dot.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 3, box["y"] + 3)
    page.mouse.down()
    page.mouse.move(box["x"] + 63, box["y"] + 43, steps=4)
    page.mouse.up()
    moved = dot.bounding_box()
    assert moved is not None
    assert moved["x"] - box["x"] == pytest.approx(60, abs=2)
    assert page.get_by_role("heading", level=2).first.inner_text() == "tessel bay"  # no click


def test_a_place_on_the_map_is_the_same_tomorrow(open_window: Callable[..., Window]) -> None:
    pictures = []
    for _ in range(2):
        page = open_window().go("map?tag=tessel%20bay")
        page.locator("[data-drawn]").wait_for()
        pictures.append(page.locator(".picture").screenshot())
    assert pictures[0] == pictures[1]


def test_a_tag_is_searched_by_part_of_its_name(window: Window, index: HebbianIndex) -> None:
    page = window.go("map")
    page.get_by_label("Tag", exact=True).fill("bay")
    options = page.locator("#tag-names option")
    options.first.wait_for(state="attached")
    assert [one.get_attribute("value") for one in options.all()] == [
        one.tag for one in index.tags.find("bay", limit=20)
    ]
    page.get_by_label("Tag", exact=True).fill("no such tag")
    page.get_by_role("button", name="Show").click()
    page.get_by_text("no chunk holds the tag").wait_for()
    window.wrong.clear()  # the browser logs the 404, too


# -- learning ---------------------------------------------------------------------------


def test_lessons_are_previewed_and_taken_back(window: Window, index: HebbianIndex) -> None:
    page = window.go("learning")
    page.locator("[data-lessons]").wait_for()
    everything = index.forget(everything=True, dry_run=True)
    shown = int(page.locator("[data-lessons]").get_attribute("data-lessons") or 0)
    assert shown == len(everything.feedback) == len(index.lessons())
    newest = page.locator("[data-feedback]").first
    assert newest.get_attribute("data-feedback") == index.lessons()[-1].feedback_id
    assert f"{index.lessons()[-1].active} of " in newest.inner_text()
    assert [
        one.get_attribute("data-parameter") for one in page.locator("[data-parameter]").all()
    ] == [one.name for one in index.inspect.learned()]
    told = index.forget(actor="ada", dry_run=True)
    page.get_by_role("button", name="Take back what ada taught").click()
    preview = page.locator("[data-preview]")
    assert int(preview.get_attribute("data-preview") or 0) == len(told.feedback)
    assert f"{told.removed:,} learned edges would go, {told.changed:,} would change" in (
        preview.inner_text()
    )
    page.get_by_role("button", name=f"Take back {len(told.feedback)} lessons").click()
    page.locator("[data-forgotten]").wait_for()
    assert index.forget(actor="ada", dry_run=True).feedback == ()
    left = len(everything.feedback) - len(told.feedback)
    page.locator(f'[data-lessons="{left}"]').wait_for()
    # And put back.
    (taken,) = index.log.forgotten()
    page.locator(f'[data-forgetting="{taken.id}"]').get_by_role("button").click()
    page.locator(f'[data-undone="{len(told.feedback)}"]').wait_for()
    page.locator(f'[data-lessons="{len(everything.feedback)}"]').wait_for()
    assert index.forget(everything=True, dry_run=True) == everything


def test_proposals_are_accepted_and_dismissed(window: Window, index: HebbianIndex) -> None:
    recall = index.recall(QUESTION)
    one, two, three = (hit.chunk.id for hit in recall.hits[:3])
    for actor in ("ada", "bert"):
        index.reinforce(recall, outdated={one: two}, actor=actor)
    index.reinforce(recall, outdated={three: two}, actor="eve")
    lessons = len(index.lessons())
    page = window.go("learning")
    page.locator("[data-proposals='2']").wait_for()
    row = page.locator(f"li[data-old='{one}']")
    assert ", says ada, bert" in _text(page, f"li[data-old='{one}']")[0]
    row.get_by_role("button", name="Accept").click()
    page.locator("[data-proposals='1']").wait_for()
    stale = {hit.chunk.id: hit.stale for hit in index.recall(QUESTION).hits}
    assert stale[one] is not None
    assert stale[one].replaced_by == (two,)
    assert len(index.lessons()) == lessons + 1
    page.get_by_role("button", name="Dismiss").click()
    page.locator("[data-proposals]").wait_for(state="detached")
    assert "eve" not in [lesson.actor for lesson in index.lessons()]


def test_the_curve_of_the_report(window: Window, index: HebbianIndex) -> None:
    report = index.inspect.lesson_report()
    page = window.go("learning")
    page.get_by_role("button", name="Replay the log").click()
    told = page.locator("[data-verdict]")
    assert told.get_attribute("data-verdict") == report.verdict
    assert str(report).splitlines()[0] in told.inner_text()
    assert _numbers(page, "[data-point]", "data-point") == [one.lessons for one in report.points]
    for name in ("recall", "mrr"):
        shown = _numbers(page, f"[data-{name}]", f"data-{name}")
        assert shown == pytest.approx([getattr(one, name) for one in report.points])


def test_ranks_with_and_without_lessons(window: Window, index: HebbianIndex) -> None:
    window.ask(QUESTION)
    page = window.go("learning")
    page.locator(".slopes").wait_for()
    trace = index.inspect.trace(index.recall(QUESTION))
    rows = [row.split()[:2] for row in _text(page, ".slopes tbody tr")]
    assert rows == [[str(hit.rank), str(hit.unlearned_rank or "–")] for hit in trace.hits]


# -- tags -------------------------------------------------------------------------------


def test_tags_are_corrected_and_put_back(window: Window, index: HebbianIndex) -> None:
    before = index.recall(QUESTION).cues[0].tag
    page = window.go("tags")
    page.get_by_label("Find").fill(before)
    page.locator('[data-tags="1"]').wait_for()
    page.get_by_role("checkbox").first.check()
    page.get_by_text("A new name").click()
    page.get_by_label("Into").fill("The Good Ship")
    page.get_by_role("button", name="Correct", exact=True).click()
    page.get_by_text("Done: rename").wait_for()
    (correction,) = index.tags.corrections()
    assert (correction.kind, correction.tags) == ("rename", (before,))
    assert index.recall(QUESTION).cues[0].tag == correction.into
    page.locator(f'[data-correction="{correction.id}"]').get_by_role("button").click()
    page.get_by_text("None. Corrections also apply").wait_for()
    assert index.tags.corrections() == []
    assert index.recall(QUESTION).cues[0].tag == before


# -- operations -------------------------------------------------------------------------


def test_every_table_has_an_address(
    open_window: Callable[..., Window], index: HebbianIndex, server: Server
) -> None:
    page = open_window().go("operations")
    link = page.get_by_role("link", name="documents as CSV")
    with page.expect_download() as download:
        link.click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0].startswith("id,title,passages")
    assert len(lines) - 1 == page.locator("[data-document]").count()
    address = str(link.get_attribute("href"))[1:].replace(".csv", ".json")
    told = page.context.request.get(f"{server.url}{address}").json()
    assert [one["id"] for one in told] == [one.id for one in index.inspect.documents().documents]
    from hebbgraph_server.access import token_of

    secret = "the-secret-of-a-reader"
    server.stop()
    server.tokens = (token_of(secret, role="write"),)
    server.start()
    window = open_window()
    window.page.add_init_script(f"sessionStorage.setItem('hebbgraph-token', '{secret}')")
    page = window.ask(QUESTION)
    with page.expect_download() as download:  # a link carries no token
        page.get_by_role("link", name="hits as CSV").click()
    assert len(Path(download.value.path()).read_text().splitlines()) > len(
        index.recall(QUESTION).hits
    )
    for view, names in (
        ("learning", ("lessons", "edges", "ranks", "parameters")),
        ("tags", ("tags",)),
        ("replay", ("flows", "ranks")),
        ("map?tag=tessel%20bay", ("neighbours",)),
    ):
        page = window.go(view)
        for name in names:
            assert page.get_by_role("link", name=f"{name} as JSON").count() == 1, name


def test_the_numbers_of_the_index(window: Window, index: HebbianIndex) -> None:
    page = window.go("operations")
    page.locator("[data-stat]").first.wait_for()
    stats = index.stats().model_dump()
    for tile in page.locator("[data-stat]").all():
        name = str(tile.get_attribute("data-stat"))
        assert float(tile.get_attribute("data-value") or "nan") == pytest.approx(stats[name])
    page.get_by_role("button", name="Examine").click()
    page.get_by_text("All is well: ").wait_for()
    page.get_by_role("button", name="Find colonies").click()
    page.get_by_text(f"{len(index.inspect.colonies())} colonies:").wait_for()
    page.get_by_text("All is well: ").wait_for()  # neither takes the other's place


def test_text_is_added_with_progress(window: Window, index: HebbianIndex, tmp_path: Path) -> None:
    page = window.go("operations")
    page.get_by_label("Or a title").fill("Wick Light")
    page.get_by_label("and its text").fill("The Wick Light shines on Tessel Bay.")
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_text("1 passage added").wait_for()
    assert index.recall("Where does the Wick Light shine?").hits[0].chunk.title == "Wick Light"
    file = tmp_path / "more.jsonl"
    notes = [{"id": f"n{n}", "text": f"Note {n} on knots."} for n in range(300)]
    file.write_text("\n".join(map(json.dumps, notes)))
    page.get_by_label("Files").set_input_files(file)
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_text("300 passages added").wait_for()
    assert len(index.holds([f"n{n}" for n in range(300)])) == 300


def test_files_are_converted_and_replaced(
    window: Window, index: HebbianIndex, tmp_path: Path
) -> None:
    page = window.go("operations")
    good, noise = tmp_path / "wick.html", tmp_path / "noise.txt"
    noise.write_bytes(b"\x89PNG\r\n" + bytes(range(256)))
    for text in ("The Wick Light shines.", "The Wick Light is dark."):
        good.write_text(f"<h1>Wick Light</h1><p>{text}</p>")
        page.get_by_label("Files").set_input_files([good, noise])
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_text("noise.txt: is not UTF-8 text").wait_for()
        assert [chunk.text for chunk in index.get(index.ids({"$document_id": "wick.html"}))] == [
            text
        ]
        assert all("422" in problem for problem in window.wrong)  # as the browser logs it
        window.wrong.clear()
        page.reload()


# -- everywhere -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("width", "dark"), [(1440, False), (768, True), (390, False), (2560, True)]
)
def test_every_view_is_accessible_and_fits(
    open_window: Callable[..., Window], width: int, dark: bool
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    window = open_window(width=width, dark=dark)
    window.ask(QUESTION)
    pictures = os.environ.get("HEBBGRAPH_SCREENSHOTS")
    for view in VIEWS:
        page = window.go(view)
        page.locator(READY[view]).first.wait_for()
        if view == "replay":
            for _ in range(4):
                page.get_by_label("Step forward").click()
        page.wait_for_timeout(700)  # until plots and pictures are drawn
        found: Any = Axe().run(page).response["violations"]
        assert found == [], [(one["id"], one["nodes"][0]["html"]) for one in found]
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        if pictures:
            name = f"page-{view.split('?')[0]}-{width}.png"
            page.screenshot(path=str(Path(pictures) / name))


def test_documents_can_be_read_on_a_phone(open_window: Callable[..., Window]) -> None:
    page = open_window(width=390).go("operations")
    row = page.locator("[data-document]").first
    box, last = row.bounding_box(), row.get_by_role("button").last.bounding_box()
    assert box is not None
    assert last is not None
    assert box["height"] < 120  # a name is not broken letter by letter
    assert last["x"] + last["width"] <= 390


def test_the_api_is_described_for_people(open_window: Callable[..., Window]) -> None:
    from axe_playwright_python.sync_playwright import Axe

    for width in (1440, 390):
        window = open_window(width=width)
        page = window.page
        page.goto(f"{window.url}docs")
        page.get_by_role("heading", name="POST /v1/recall").wait_for()
        found: Any = Axe().run(page).response["violations"]
        assert found == [], [(one["id"], one["nodes"][0]["html"]) for one in found]
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        if pictures := os.environ.get("HEBBGRAPH_SCREENSHOTS"):
            page.screenshot(path=str(Path(pictures) / f"api-{width}.png"))


def test_it_can_be_used_without_a_mouse(window: Window) -> None:
    page = window.page
    page.goto(f"{window.url}#/ask")  # the first key comes at once
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    page.locator(".hit").first.wait_for()
    page.get_by_role("link", name="Replay it").focus()
    page.keyboard.press("Enter")
    page.locator(".spread").wait_for()
    assert page.evaluate("document.activeElement.id") == "main"


def test_what_is_typed_before_the_role_is_known_is_kept(window: Window) -> None:
    page = window.page
    held: list[Any] = []
    page.route("**/v1/access**", lambda route: held.append(route))
    page.goto(f"{window.url}#/ask")
    page.keyboard.press("/")
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    page.get_by_text("Asking …").wait_for()
    for route in held:
        route.continue_()
    page.get_by_role("button", name="Cited").first.wait_for()
    assert page.get_by_label("Question", exact=True).input_value() == QUESTION


def test_dark_and_light(window: Window) -> None:
    page = window.go("map?tag=tessel%20bay")
    page.locator("[data-drawn]").wait_for()
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_label("Colours").select_option("dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_a_restart_of_the_server_is_survived(window: Window, server: Server) -> None:
    page = window.ask(QUESTION)
    server.stop()
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_text("Waiting for it").wait_for()
    server.start()
    page.get_by_text("The server is back").wait_for()
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator(".hit").first.wait_for()
    window.wrong.clear()  # the browser logs what did not connect


def test_a_token_is_asked_for_and_its_role_told(window: Window, server: Server) -> None:
    from hebbgraph_server.access import token_of

    secret = "the-secret-of-a-reader"
    server.stop()
    server.tokens = (token_of(secret, role="read"),)
    server.start()
    page = window.page
    page.goto(f"{window.url}#/ask")
    page.locator("#token").fill(secret)
    page.get_by_role("button", name="Continue").click()
    page = window.ask(QUESTION)
    for view, button in (("ask", "Cited"), ("ask", "Teach"), ("operations", "Add")):
        page = window.go(view)
        page.locator(READY[view]).first.wait_for()
        assert page.get_by_role("button", name=button, exact=True).count() == 0
    assert secret not in page.url
    assert page.evaluate("localStorage.length + document.cookie.length") <= 1  # the colours
    assert not [one for one in window.wrong if "401" not in one and "403" not in one]
    window.wrong.clear()  # the browser logs what was refused


def test_two_tabs_see_the_same(open_window: Callable[..., Window], index: HebbianIndex) -> None:
    one, other = open_window(), open_window()
    one.ask(REWORDED).locator(".hit").last.get_by_role("button", name="Cited").click()
    one.page.get_by_role("button", name="Teach").click()
    one.page.get_by_text("Learned: 1 cited, 0 wrong").wait_for()
    page = other.ask(REWORDED)
    assert _numbers(page, ".hit", "data-score") == pytest.approx(
        [hit.score for hit in index.recall(REWORDED).hits]
    )


# -- the files --------------------------------------------------------------------------


def test_the_built_files_are_of_these_sources() -> None:
    source = SERVER / "ui/src"
    digest = hashlib.sha256()
    for path in sorted(source.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    assert (PAGE / "SOURCE").read_text().strip() == digest.hexdigest(), "run make ui"


def test_the_built_files_are_the_same_everywhere(tmp_path: Path) -> None:
    if not (SERVER / "ui/node_modules").exists():
        pytest.skip("make ui installs what builds the page")
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=SERVER / "ui", check=True)
    for path in PAGE.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_the_page_is_small_and_carries_its_licences() -> None:
    assert sum(path.stat().st_size for path in PAGE.iterdir()) < 250_000
    licences = (PAGE / "LICENSES.txt").read_text()
    assert all(name in licences for name in ("marked", "uplot", "MIT"))
