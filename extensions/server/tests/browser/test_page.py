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
    from playwright.sync_api import Locator, Page

SERVER = Path(__file__).parents[2]
PAGE = SERVER / "hebbgraph_server/page"
QUESTION = "Who built the organ in the town where the captain of the Petrel Marrow was born?"
REWORDED = "In the home town of the Petrel Marrow's captain there is an organ: by whom?"
VIEWS = ("ask", "replay", "map?tag=tessel%20bay", "learning", "tags", "operations")
#: What a view shows once it has all it wanted.
READY: dict[str, tuple[str, str | re.Pattern[str]]] = {
    "ask": ("list", "Passages"),
    "replay": ("img", "Activation from left to right"),
    "map?tag=tessel%20bay": ("group", "Tags around tessel bay"),
    "learning": ("region", "Lessons, the newest first"),
    "tags": ("list", re.compile(r"^\d+ tags$")),
    "operations": ("region", "Documents"),
}
#: How the page calls what the index calls otherwise.
CAUSES = {"lexical": "words", "dense": "meaning"}
STATISTICS = {
    "passages": "chunks",
    "passage – tag edges": "postings",
    "tag – tag edges": "edges",
    "tags a passage": "tags_per_chunk",
    "passages without tags": "untagged_share",
    "commits": "generation",
}

VERDICTS = {
    "helped": "Learning helped here.",
    "harmed": "Learning harmed here.",
    "mixed": "Learning helped one figure here and harmed the other.",
    "unclear": "Whether learning helped here cannot be told: the intervals hold 0.",
}


def _number(text: str) -> float:
    value = text.split()[0].replace("−", "-").replace(",", "")
    return float(value[:-1]) / 100 if value.endswith("%") else float(value)


def _facts(within: Locator | Page) -> dict[str, float]:
    """The numbers of a list of terms and values."""
    terms = within.get_by_role("term").all_inner_texts()
    values = within.get_by_role("definition").all_inner_texts()
    return dict(zip(terms, map(_number, values), strict=True))


# -- ask --------------------------------------------------------------------------------


def test_hits_have_the_scores_and_causes_of_the_index(window: Window, index: HebbianIndex) -> None:
    page = window.ask(QUESTION)
    recall = index.recall(QUESTION)
    trace = index.inspect.trace(recall)
    headings = [heading_of(hit.chunk) for hit in recall.hits]
    assert window.hits().get_by_role("heading").all_inner_texts() == headings
    page.get_by_title(f"Confidence {recall.confidence:.3f}").wait_for()
    for hit, traced, heading in zip(recall.hits, trace.hits, headings, strict=True):
        card = window.hit(hit.rank)
        assert card.get_by_role("heading").inner_text() == heading
        card.get_by_text(re.compile("^Why: ")).click()
        card.get_by_text(f"Score {hit.score:.3f}", exact=True).wait_for()
        shown = _facts(card)
        for cause, value in traced.causes.model_dump().items():
            told = shown.get(CAUSES.get(cause, cause), 0)
            assert told == pytest.approx(value, abs=0.0006)
    path = window.hit(2).get_by_role("group", name="Path").inner_text()
    assert "".join(path.split()) == re.sub("[«» ]", "", recall.hits[1].path_text)


def test_a_score_is_told_in_words_and_its_bar_stays_in_the_card(
    open_window: Callable[..., Window], index: HebbianIndex
) -> None:
    trace = index.inspect.trace(index.recall(QUESTION))
    lowered = next(at for at, hit in enumerate(trace.hits) if hit.causes.learned < -0.05)
    for width in (1440, 390):
        window = open_window(width=width)
        page = window.ask(QUESTION)
        page.get_by_text("Sure: passages hold what the question names.").wait_for()
        answer = page.get_by_role("list", name="Passages")
        assert page.get_by_role("status").filter(has=answer).count() == 0
        # A screen reader reads no whole list.
        assert page.locator("[aria-live]").filter(has=answer).count() == 0
        for why in page.get_by_text(re.compile("^Why: ")).all():
            why.click()
        # A bar says to the eye what the numbers beside it say, so it has no role.
        for card in window.hits().all():
            box, bar = card.bounding_box(), card.locator(".bar").bounding_box()
            assert box is not None
            assert bar is not None
            parts = [part.bounding_box() for part in card.locator(".bar i").all()]
            assert all(part is not None for part in parts)
            right = max(part["x"] + part["width"] for part in parts if part is not None)
            assert right <= bar["x"] + bar["width"] + 1 <= box["x"] + box["width"]
        assert window.hit(lowered + 1).locator(".bar .minus").count() == 1


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
    window.hit(hit.rank).get_by_role("heading").get_by_role("button").click()
    page.get_by_text("Effect of lessons on the last question").wait_for()
    effects = index.explain(recall, hit.chunk_id).learned[:8]
    told = page.get_by_role("list", name="Effect of lessons").get_by_role("listitem")
    lines = told.all_inner_texts()
    assert [_number(line) for line in lines] == (
        pytest.approx([one.effect for one in effects], abs=0.0006)
    )
    assert f"taught by {effects[0].actor}" in lines[0]
    assert not re.search("[0-9a-f]{8}", " ".join(lines))  # passages have names, not ids


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
    for question in (QUESTION, REWORDED):
        window.hits(question).first.wait_for()
        assert window.hits(question).get_by_role("heading").all_inner_texts() == [
            heading_of(hit.chunk) for hit in index.recall(question, k=3).hits
        ]


def test_what_is_marked_as_cited_teaches(window: Window, index: HebbianIndex) -> None:
    lessons = len(index.forget(everything=True, dry_run=True).feedback)
    page = window.ask(REWORDED)
    before = index.recall(REWORDED).hits[-1]
    window.hit(before.rank).get_by_role("button", name="Cited").click()
    page.get_by_label("as", exact=True).fill("ada")
    page.get_by_role("button", name="Teach").click()
    page.get_by_text("Learned: 1 cited, 0 wrong").wait_for()
    told = index.forget(everything=True, dry_run=True)
    assert len(told.feedback) == lessons + 1
    hit = index.recall(REWORDED).hit(before.chunk.id)
    assert hit is not None
    assert hit.score > before.score
    card = window.hit(hit.rank)
    assert card.get_by_role("heading").inner_text() == heading_of(hit.chunk)
    card.get_by_text(f"▲ from {before.rank}").wait_for()
    card.get_by_text(re.compile("^Why: ")).click()
    card.get_by_text(f"Score {hit.score:.3f}", exact=True).wait_for()


@pytest.mark.parametrize("learns", [True, False])
def test_what_is_opened_and_copied_teaches_where_the_server_learns_from_use(
    learns: bool, server: Server, open_window: Callable[..., Window], index: HebbianIndex
) -> None:
    server.stop()
    server.learns = learns
    server.start()
    window = open_window()
    page = window.ask(REWORDED)
    page.get_by_label("as", exact=True).fill("ada")
    chunks = [hit.chunk.id for hit in index.recall(REWORDED).hits[1:3]]
    sent: list[str] = []
    page.on("response", lambda one: sent.append(one.url) if "reinforce" in one.url else None)
    for _ in range(2):  # once is enough to tell
        window.hit(2).get_by_role("heading").get_by_role("button").click()
        page.get_by_role("dialog").get_by_role("heading", name="Tags").wait_for()
        page.get_by_role("button", name="Close").click()
    window.hit(3).get_by_role("mark").first.select_text()
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
    window.wait_for(*READY["replay"])
    trace = index.inspect.trace(index.recall(QUESTION))
    expected: dict[tuple[object, ...], int] = {}
    for event in trace.events:
        kind = trace.nodes[event.target].kind
        key = ("start",) if event.over == "question" else (event.step, event.over, kind)
        expected[key] = expected.get(key, 0) + 1
    slider = page.get_by_role("slider", name="Step")
    flows = page.get_by_role("region", name="Flows of this step")
    for at, n_flows in enumerate(expected.values()):
        page.get_by_text(f"{at + 1}/{len(expected)}", exact=True).wait_for()
        assert len(window.rows(flows)) == min(n_flows, 40)
        if n_flows > 40:
            page.get_by_text(f"{n_flows - 40} weaker flows are not shown.", exact=True).wait_for()
        slider.press("ArrowRight")
    assert page.get_by_label("Step forward").is_disabled()
    ends = page.get_by_role("list", name="Result").get_by_role("listitem").all_inner_texts()
    assert [(int(rank), float(score)) for rank, _, score, *_ in map(str.splitlines, ends)] == [
        (hit.rank, pytest.approx(hit.score, abs=0.0006)) for hit in trace.hits
    ]
    learned = sum(event.learned >= 0.5 for event in trace.events)
    # The picture is one image; only its colour tells a learned flow.
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
        picture = frame.get_by_role("img")
        inside, drawn = frame.bounding_box(), picture.bounding_box()
        assert inside is not None
        assert drawn is not None
        assert inside["width"] - 60 < drawn["width"] <= inside["width"]
        # What is drawn in an image has no role, and a label is broken into lines.
        labels = {
            re.sub("[\u2068\u2069]", "", " ".join(label.locator("tspan").all_text_contents()))
            for label in picture.locator("text").all()
        }
        assert {node.value for node in trace.nodes if node.kind == "tag"} & labels
        assert "Sable Trench Expedition › Results" in labels
    for width in (768, 390):
        window = open_window(width=width)
        window.ask(QUESTION)
        page = window.go("replay")
        for _ in range(4):
            page.get_by_label("Step forward").click()
        frame = page.get_by_role("region", name="The spread")
        inside = frame.bounding_box()
        assert inside is not None
        # Of an image, only a class tells which part is of the step that is shown.
        for label in frame.get_by_role("img").locator(".now text.label").all():
            box = label.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= inside["x"] + inside["width"]


def test_replay_plays_by_itself(window: Window) -> None:
    page = window.go("replay")
    page.get_by_label("Question", exact=True).fill(QUESTION)
    page.get_by_role("button", name="Replay", exact=True).click()
    page.get_by_role("button", name="Play", exact=True).click()
    page.get_by_text(re.compile("^2/")).wait_for()
    page.get_by_role("button", name="Pause").click()


# -- map --------------------------------------------------------------------------------


def test_the_map_holds_the_neighbourhood(window: Window, index: HebbianIndex) -> None:
    page = window.go("map?tag=tessel%20bay")
    found = index.tags.around("tessel bay", limit=39)
    picture = page.get_by_role("group", name="Tags around tessel bay")
    assert picture.locator("line").count() == len(found.edges)  # a line has no role
    dots = picture.get_by_role("button")
    assert [one.get_attribute("aria-label") for one in dots.all()] == [
        node.tag for node in found.nodes
    ]
    neighbours = page.get_by_role("region", name="Neighbours")
    assert window.rows(neighbours) == [
        [node.tag, str(node.weight), str(node.chunks)] for node in found.nodes[1:]
    ]
    # From the tag to a passage, and on to another tag.
    title = heading_of(index.get([found.chunks[0].chunk_id])[0])
    page.get_by_role("button", name=title, exact=True).first.click()
    tags = {one.tag for one in index.tags.find(chunk=found.chunks[0].chunk_id)}
    tagged = page.get_by_role("dialog").get_by_role("group", name="Tags")
    tagged.wait_for()
    assert set(tagged.get_by_role("link").all_inner_texts()) == tags
    page.keyboard.press("Escape")
    neighbours.get_by_role("link").first.click()
    page.get_by_role("heading", name=found.nodes[1].tag, exact=True).wait_for()


def test_no_label_of_the_map_covers_another(
    open_window: Callable[..., Window], index: HebbianIndex
) -> None:
    for width in (1440, 390):
        page = open_window(width=width).go("map?tag=tessel%20bay")
        dots = page.get_by_role("group", name="Tags around tessel bay").get_by_role("button")
        for step in range(2):  # as it comes, and after more was opened
            # The label without its dot, which has no role.
            boxes = [one.bounding_box() for one in dots.locator("text").all()]
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
                known = {one.get_attribute("aria-label") for one in dots.all()}
                opened = next(
                    tag
                    for tag in sorted(filter(None, known))
                    if {one.tag for one in index.tags.around(tag, limit=39).nodes} - known
                )
                page.get_by_role("button", name=opened, exact=True).press("Enter")
                dots.nth(len(boxes)).wait_for()


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
    dot = page.get_by_role("group", name="Tags around").get_by_role("button").nth(3)
    box = dot.bounding_box()
    assert box is not None
    x, y = box["x"] + 4, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=4)
    page.mouse.up()
    moved = dot.bounding_box()
    assert moved is not None
    assert moved["x"] - box["x"] == pytest.approx(60, abs=2)
    assert page.get_by_role("heading", level=2).first.inner_text() == "tessel bay"  # no click


def test_a_place_on_the_map_is_the_same_tomorrow(open_window: Callable[..., Window]) -> None:
    pictures = []
    for _ in range(2):
        page = open_window().go("map?tag=tessel%20bay")
        pictures.append(page.get_by_role("group", name="Tags around tessel bay").screenshot())
    assert pictures[0] == pictures[1]


def test_a_tag_is_searched_by_part_of_its_name(window: Window, index: HebbianIndex) -> None:
    page = window.go("map")
    page.get_by_label("Tag", exact=True).fill("bay")
    # The browser shows the suggestions, so the page holds them hidden.
    suggestions = page.get_by_role("listbox", include_hidden=True)
    options = suggestions.get_by_role("option", include_hidden=True)
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
    everything = index.forget(everything=True, dry_run=True)
    n_lessons = len(everything.feedback)
    assert n_lessons == len(index.lessons())
    page.get_by_text(re.compile(rf"^{n_lessons} lessons by \d+ actors")).wait_for()
    last = index.lessons()[-1]
    lessons = page.get_by_role("region", name="Lessons, the newest first")
    newest = lessons.get_by_role("listitem").first
    newest.get_by_role("button", name=f"Take back lesson {last.feedback_id[:8]}").wait_for()
    assert f"{last.active} of " in newest.inner_text()
    parameters = window.rows(page.get_by_role("table", name="Learned parameters"))
    assert [(float(usual), float(here)) for _, usual, here, _ in parameters] == [
        (pytest.approx(one.default, abs=0.006), pytest.approx(one.value, abs=0.006))
        for one in index.inspect.learned()
    ]
    told = index.forget(actor="ada", dry_run=True)
    n_told = len(told.feedback)
    page.get_by_role("button", name="Take back what ada taught").click()
    page.get_by_role("region", name="This would change").get_by_text(
        f"{n_told} lessons: {told.removed:,} learned edges would go, {told.changed:,} would change"
    ).wait_for()
    page.get_by_role("button", name=f"Take back {n_told} lessons").click()
    page.get_by_text(f"{n_told} lessons taken back.").wait_for()
    assert index.forget(actor="ada", dry_run=True).feedback == ()
    page.get_by_text(re.compile(rf"^{n_lessons - n_told} lessons by \d+ actor")).wait_for()
    # And put back.
    assert len(index.log.forgotten()) == 1
    page.get_by_role("button", name="Put back what was taken").click()
    page.get_by_text(f"{n_told} lessons put back.").wait_for()
    page.get_by_text(re.compile(rf"^{n_lessons} lessons by \d+ actors")).wait_for()
    assert index.forget(everything=True, dry_run=True) == everything


def test_proposals_are_accepted_and_dismissed(window: Window, index: HebbianIndex) -> None:
    recall = index.recall(QUESTION)
    chunks = [hit.chunk for hit in recall.hits[:3]]
    one, two, three = (chunk.id for chunk in chunks)
    for actor in ("ada", "bert"):
        index.reinforce(recall, outdated={one: two}, actor=actor)
    index.reinforce(recall, outdated={three: two}, actor="eve")
    lessons = len(index.lessons())
    page = window.go("learning")
    proposals = page.get_by_role("list", name="Proposals").get_by_role("listitem")
    assert proposals.count() == 2
    old, new = map(heading_of, chunks[:2])
    row = proposals.filter(has_text=f"{old} replaced by {new}, says ada, bert")
    row.get_by_role("button", name=f"Accept: {new} in place of {old}").click()
    proposals.nth(1).wait_for(state="detached")
    everything = index.recall(QUESTION, k=200)
    stale = {hit.chunk.id: hit.stale for hit in everything.hits}
    assert stale[one] is not None
    assert stale[one].replaced_by == (two,)
    assert len(index.lessons()) == lessons + 1
    page.get_by_role("button", name="Dismiss").click()
    proposals.wait_for(state="detached")
    assert "eve" not in [lesson.actor for lesson in index.lessons()]


def test_the_curve_of_the_report(window: Window, index: HebbianIndex) -> None:
    report = index.inspect.lesson_report()
    page = window.go("learning")
    page.get_by_role("button", name="Replay the log").click()
    page.get_by_text(VERDICTS[report.verdict]).wait_for()
    page.get_by_text(str(report).splitlines()[0]).wait_for()
    rows = window.rows(page.get_by_role("table", name="later question"))
    for row, point in zip(rows, report.points, strict=True):
        figures = (point.lessons, point.recall, point.mrr)
        assert [_number(cell) for cell in row] == pytest.approx(figures, abs=0.0006)


def test_ranks_with_and_without_lessons(window: Window, index: HebbianIndex) -> None:
    window.ask(QUESTION)
    page = window.go("learning")
    compared = page.get_by_role("table", name="Ranks with and without lessons")
    trace = index.inspect.trace(index.recall(QUESTION))
    assert [row[:2] for row in window.rows(compared)] == [
        [str(hit.rank), str(hit.unlearned_rank or "–")] for hit in trace.hits
    ]


# -- tags -------------------------------------------------------------------------------


def test_tags_are_corrected_and_put_back(window: Window, index: HebbianIndex) -> None:
    before = index.recall(QUESTION).cues[0].tag
    page = window.go("tags")
    page.get_by_label("Find").fill(before)
    page.get_by_role("list", name="1 tag", exact=True).wait_for()
    page.get_by_role("checkbox").first.check()
    page.get_by_text("A new name").click()
    page.get_by_label("Into").fill("The Good Ship")
    page.get_by_role("button", name="Correct", exact=True).click()
    page.get_by_text("Done: rename").wait_for()
    (correction,) = index.tags.corrections()
    assert (correction.kind, correction.tags) == ("rename", (before,))
    assert index.recall(QUESTION).cues[0].tag == correction.into
    page.get_by_role("button", name=f"Undo: rename «{before}» into").click()
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
    documents = page.get_by_role("region", name="Documents")
    assert len(lines) == documents.get_by_role("row").count()
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
    stats = index.stats().model_dump()
    shown = _facts(page)
    assert len(shown) >= 8
    for name, value in shown.items():
        assert value == pytest.approx(stats[STATISTICS.get(name, name)], rel=0.005)
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
        window.wait_for(*READY[view])
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
    documents = page.get_by_role("region", name="Documents").get_by_role("row")
    row = documents.filter(has=page.get_by_role("button")).first
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
    assert page.get_by_role("main").evaluate("e => e === document.activeElement")
    page.keyboard.press("Tab")
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    window.hits().first.wait_for()
    page.get_by_role("link", name="Replay it").focus()
    page.keyboard.press("Enter")
    window.wait_for(*READY["replay"])
    assert page.get_by_role("main").evaluate("e => e === document.activeElement")


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
    window.hits().first.wait_for()
    window.wrong.clear()  # the browser logs what did not connect


def test_a_token_is_asked_for_and_its_role_told(window: Window, server: Server) -> None:
    from hebbgraph_server.access import token_of

    secret = "the-secret-of-a-reader"
    server.stop()
    server.tokens = (token_of(secret, role="read"),)
    server.start()
    page = window.page
    page.goto(f"{window.url}#/ask")
    page.get_by_label("Token", exact=True).fill(secret)
    page.get_by_role("button", name="Continue").click()
    page = window.ask(QUESTION)
    for view, button in (("ask", "Cited"), ("ask", "Teach"), ("operations", "Add")):
        page = window.go(view)
        window.wait_for(*READY[view])
        assert page.get_by_role("button", name=button, exact=True).count() == 0
    assert secret not in page.url
    assert page.evaluate("localStorage.length + document.cookie.length") <= 1  # the colours
    assert not [one for one in window.wrong if "401" not in one and "403" not in one]
    window.wrong.clear()  # the browser logs what was refused


def test_two_tabs_see_the_same(open_window: Callable[..., Window], index: HebbianIndex) -> None:
    one, other = open_window(), open_window()
    one.ask(REWORDED)
    one.hits().last.get_by_role("button", name="Cited").click()
    one.page.get_by_role("button", name="Teach").click()
    one.page.get_by_text("Learned: 1 cited, 0 wrong").wait_for()
    other.ask(REWORDED)
    hits = index.recall(REWORDED).hits
    for card, hit in zip(other.hits().all(), hits, strict=True):
        assert card.get_by_role("heading").inner_text() == heading_of(hit.chunk)
        card.get_by_text(re.compile("^Why: ")).click()
        card.get_by_text(f"Score {hit.score:.3f}", exact=True).wait_for()


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
