"""Ask: why in view, two hops, the first minute, keys, tags."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from manuals import QUESTION
from pages import ask, card, cards, titles
from ships import CORPUS

HOPS = "Where did the builder of the schooner Petrel live?"


def test_why_is_a_sentence_always_in_view(open_page: Any) -> None:
    page = open_page()
    ask(page, QUESTION)
    first, second, third = (cards(page).nth(n) for n in range(3))
    said = first.get_by_text("has file, publish, package; lacks make, executable")
    assert said.is_visible()
    assert "the next one adds executable" in first.inner_text()
    # Why third? It says what the one above has more.
    assert "below 1" in second.inner_text()
    assert "has publish, package; lacks make, file, executable" in third.inner_text()
    said = "below 2, which has file, executable; that counts for more than publish"
    assert said in third.inner_text()
    assert first.get_by_role("img", name="Score: words").is_visible()
    assert "100%" not in page.get_by_role("main").inner_text()


def test_which_also_has_is_said_only_of_a_passage_that_lacks_nothing_more(
    open_page: Any, add: Any
) -> None:
    add({"id": "both", "title": "One", "text": "A walrus and a narwhal share the floe."})
    add({"id": "rare", "title": "Two", "text": "A narwhal dives below the ice for halibut."})
    add({"id": "common", "title": "Three", "text": "A walrus rests upon the beach all day."})
    far = "Far up north, where nobody lives and no ship calls all winter long, a walrus sleeps."
    add(*({"id": f"far{n}", "title": f"Far {n}", "text": far} for n in range(4)))
    page = open_page()
    ask(page, "Do walrus and narwhal meet?")
    whys = {title: card(page, title).locator("p.why").inner_text() for title in ("Two", "Three")}
    assert "below 1, which also has walrus" in whys["Two"]
    assert "which has narwhal; that counts for more than walrus" in whys["Three"]


def test_what_differs_is_said_in_words_of_the_text_as_it_is_shown(open_page: Any, add: Any) -> None:
    texts = {
        "a": "Quokkas hop. Quokkas doze. Quokkas feed.",
        "b": "Quokkas hop at night, far and wide too.",
        "c": "Quokkas hop at night, far and wide too.",
    }
    for id_, text in texts.items():
        text = f"# Marsupials\n\n{text}"
        add({"id": id_, "title": "Marsupials", "text": text, "metadata": {"headings": []}})
    add({"id": "d", "title": "Quokkas", "text": "Small marsupials of one island, shy and brown."})
    page = open_page()
    ask(page, "quokkas")
    whys = [why.inner_text() for why in page.locator("p.why").all()]
    assert any("whose text has quokkas 3 times against 1" in why for why in whys), whys
    assert any(" in all that counts" in why and "level with " in why for why in whys), whys


def test_each_word_of_the_question_is_marked_and_common_ones_are_fainter(open_page: Any) -> None:
    page = open_page()
    ask(page, QUESTION)
    marks = card(page, "package.json: bin").locator("mark")
    assert {text.lower() for text in marks.all_inner_texts()} == {
        "packages", "executable", "files", "package", "file",
    }  # fmt: skip

    def strength(word: str) -> float:
        style = marks.get_by_text(word, exact=True).first.get_attribute("style") or ""
        return float(style.partition("--strength:")[2].strip(" %;"))

    assert strength("packages") < strength("executable")


def test_a_long_passage_shows_each_word_that_it_has(open_page: Any, add: Any) -> None:
    filler = "Nothing of interest is said here at all. " * 20
    text = f"{filler}Quills are sharpened. {filler}Ink dries slowly. {filler}"
    add({"id": "long", "title": "Writing", "text": text})
    page = open_page()
    ask(page, "Which ink do quills need?")
    shown = card(page, "Writing")
    assert set(shown.locator("mark").all_inner_texts()) == {"Quills", "Ink"}
    assert len(shown.inner_text()) < 700
    shown.get_by_role("button", name="Show all").click()
    assert len(shown.inner_text()) > len(text)
    assert shown.get_by_role("button", name="Show less").is_visible()


def test_what_is_ignored_is_said_with_counts(open_page: Any, add: Any) -> None:
    add(*({"id": f"npm{n}", "text": f"npm part {n}.", "tags": ["npm"]} for n in range(60)))
    page = open_page()
    ask(page, "How does npm ping the registry?")
    said = page.get_by_role("region", name="Answer").get_by_role("status").inner_text()
    assert "npm ignored: in 60 passages" in said
    assert "In how many passages: ping 1 · " in said
    ask(page, "Who sings in Zanzibar?")
    assert "zanzibar 0" in page.get_by_role("region", name="Answer").inner_text()


def test_two_hops_are_two_quotations_joined_by_what_they_share(open_page: Any, add: Any) -> None:
    add(*CORPUS)
    page = open_page()
    ask(page, HOPS)
    hop = card(page, "Ida Moss").get_by_role("group", name="Reached from Petrel")
    assert "Reached from 1, Petrel (schooner): both name ida moss" in hop.inner_text()
    quoted = hop.get_by_role("blockquote")
    assert quoted.count() == 2
    for n in range(2):
        assert quoted.nth(n).locator("mark").all_inner_texts() == ["Ida", "Moss"]


def test_no_address_and_no_script_is_shown(open_page: Any, add: Any) -> None:
    hostile = '<img src=x onerror="alert(1)"> [click](javascript:alert(2)) `</code><script>`'
    add(
        {"id": "a", "title": "Races", "text": f"Data races are found by a tool. {hostile}",
         "addresses": ["/home/me/secret/manual.html#races"],
         "references": ["/home/me/secret/authors.html#top"]},
        {"id": "b", "title": "Authors <b>", "text": "Jo Doe wrote it.",
         "addresses": ["/home/me/secret/authors.html#top"]},
    )  # fmt: skip
    page = open_page()
    ask(page, "Who made the tool that finds data races?")
    assert "Races: one links to the other" in card(page, "Authors").inner_text()
    assert '<img src=x onerror="alert(1)">' in card(page, "Races").inner_text()
    assert "secret" not in page.content()
    assert page.locator("main img, main script").count() == 0
    assert page.get_by_role("link", name="click").count() == 0


def test_no_name_runs_a_script(open_page: Any, add: Any) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    add({"id": hostile, "title": f"Ruff {hostile}", "text": f"Ruffs wade. {hostile}",
         "document_id": f"{hostile}.md", "tags": [f"ruff {hostile}"]},
        {"id": "b", "text": "Ruffs fly.", "tags": [f"ruff {hostile}"]})  # fmt: skip
    page = open_page()
    ask(page, f"How do ruffs wade? {hostile}")
    page.get_by_placeholder("your name").fill(hostile)
    card(page, "Ruff ").get_by_role("button", name="Answers it").click()
    page.get_by_text("First because").or_(page.get_by_text("marked it for")).first.wait_for()
    page.goto("/documents")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add files").click()
    file = {"name": f"{hostile}.md", "mimeType": "text/plain", "buffer": hostile.encode()}
    chooser.value.set_files([file])
    page.get_by_text("read; nothing is stored yet").wait_for()
    assert page.locator("main img, main script").count() == 0
    for view in ("/learned", "/documents", f"/documents?place={quote(hostile)}.md",
                 f"/?q=ruffs&tag={quote('ruff ' + hostile)}", f"/?q={quote(hostile)}"):  # fmt: skip
        page.goto(view)
        page.get_by_text("onerror").first.wait_for()
        assert page.locator("main img, main script").count() == 0


def test_the_first_minute(open_page: Any) -> None:
    page = open_page(name="npm manuals")
    box = page.get_by_role("searchbox", name="Question")
    assert box.evaluate("element => element === document.activeElement")
    main = page.get_by_role("main")
    assert main.get_by_text("npm manuals").is_visible()
    assert main.get_by_text("6 documents, 6 passages").is_visible()
    assert main.get_by_text("move").is_visible()
    assert main.get_by_text("Drop files anywhere to add them.").is_visible()
    tries = page.get_by_role("list", name="Questions to try").get_by_role("link")
    tries.first.wait_for()
    assert tries.count() == 3
    assert "How do I ping the registry?" in tries.all_inner_texts()
    tries.filter(has_text="ping the registry").click()
    cards(page).first.wait_for()
    assert titles(page)[0] == "npm ping: How to ping the registry"


def test_an_empty_index_says_what_to_do(open_page: Any, tmp_path: Any) -> None:
    page = open_page(index=tmp_path / "empty")
    assert page.get_by_text("Nothing is here yet.").is_visible()
    assert page.get_by_role("button", name="choose files").is_visible()


def test_keys(open_page: Any) -> None:
    page = open_page()
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    cards(page).first.wait_for()
    focused = page.locator(":focus")
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    assert focused.get_by_role("heading").inner_text().startswith("2 ")
    page.keyboard.press("k")
    assert focused.get_by_role("heading").inner_text().startswith("1 ")
    page.keyboard.press("/")
    assert focused.get_attribute("aria-label") == "Question"
    page.keyboard.press("ArrowDown")
    for _ in range(2):
        page.keyboard.press("j")
    title = focused.get_by_role("heading").get_by_role("link").inner_text()
    page.keyboard.press("a")
    page.get_by_text("First because").wait_for()
    assert focused.get_by_role("heading").inner_text().startswith(f"1 {title}")
    page.keyboard.press("u")
    page.get_by_text("First because").wait_for(state="detached")
    page.keyboard.press("x")
    page.get_by_text("marked it wrong").wait_for()


def test_views_have_addresses_and_the_back_button_works(open_page: Any) -> None:
    page = open_page()
    ask(page, "How is the cache verified?")
    assert page.url.endswith("/?q=How+is+the+cache+verified%3F")
    ask(page, QUESTION)
    page.get_by_role("navigation", name="Places").get_by_role("link", name="Learned").click()
    page.get_by_role("heading", name="Learned").wait_for()
    assert page.url.endswith("/learned")
    page.go_back()
    card(page, "npm publish").wait_for()
    page.go_back()
    card(page, "npm cache").wait_for()
    box = page.get_by_role("searchbox", name="Question")
    assert box.input_value() == "How is the cache verified?"
    page.reload()
    card(page, "npm cache").wait_for()
    assert page.title() == "How is the cache verified? · hebbgraph"


def test_a_tag_has_passages_neighbors_and_what_links_there(open_page: Any, add: Any) -> None:
    add(*CORPUS, {"id": "link", "title": "Harbours", "text": "See the people of the coast.",
                  "references": ["people#moss"]},
        {"id": "moss", "title": "Ida Moss", "document_id": "people", "addresses": ["people#moss"],
         "text": "Ida Moss was born in Tessel Bay and learned her craft from Corin Vale."},
    )  # fmt: skip
    page = open_page()
    ask(page, HOPS)
    card(page, "Ida Moss").get_by_role("link", name="ida moss", exact=True).click()
    panel = page.get_by_role("complementary", name="About ida moss")
    panel.get_by_role("heading", name="What links there").wait_for()
    passages = panel.get_by_role("list", name="Passages").get_by_role("link")
    assert passages.first.inner_text() == "Ida Moss"
    assert {"Petrel (schooner)", "Heron (barque)"} <= set(passages.all_inner_texts())
    assert panel.get_by_text("Harbours").is_visible()
    page.reload()  # it has an address
    panel.get_by_role("link", name="corin vale 2").click()
    page.get_by_role("complementary", name="About corin vale").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("complementary").wait_for(state="hidden")
    assert page.url.endswith(HOPS.replace(" ", "+").replace("?", "%3F"))


TABLE = """# Boats

The club owns boats, which are *light*
and narrow.

| boat | seats | kept by |
|---|---|---|
| Heron \\| Hern | 1 | **Ida Moss** |
| Otter | | Corin Vale |

## Repairs

Hulls are mended in the shed. The shed is locked. The key hangs in the hall behind the door.
"""


def test_markdown_is_drawn(open_page: Any, add: Any) -> None:
    add({"id": "boats", "title": "Boats", "text": TABLE},
        {"id": "moss", "title": "Ida Moss", "text": "- Ida Moss mends sails."})  # fmt: skip
    page = open_page()
    ask(page, "Which otter seats two?")
    boats = card(page, "Boats")
    boats.get_by_role("button", name="Show all").click()
    shown = boats.inner_text()
    assert "which are light and narrow." in shown
    lines = ["boat · seats · kept by", "Heron | Hern · 1 · Ida Moss", "Otter · Corin Vale"]
    assert [line.strip() for line in shown.splitlines() if " · " in line] == lines
    assert not set("#*") & set(shown)
    assert shown.count("Boats") == 1  # a heading that is the title is not repeated
    hop = card(page, "Ida Moss").get_by_role("group", name="Reached from Boats")
    assert "Heron | Hern · 1 · Ida Moss" in hop.get_by_role("blockquote").first.inner_text()
    assert hop.get_by_role("blockquote").nth(1).inner_text().startswith("Ida Moss mends")


CODE = "".join(f"def step_{n}(self):\n    return tide * {n}\n\n" for n in range(30))
CODE = f"```py\n{CODE}def __init__(self, **gauges):\n    keep[name](quills) # \\\\.\n\n{CODE}```\n"


def test_code_is_shown_as_it_is_where_an_excerpt_cuts_it(open_page: Any, add: Any) -> None:
    add({"id": "tides", "title": "Tides", "text": f"# Tides\n\nOf code.\n\n{CODE}\nNo **more**."})
    page = open_page()
    ask(page, "Where are quills and gauges?")
    shown = card(page, "Tides").locator(".text")
    for line in ("def __init__(self, **gauges):", "keep[name](quills) # \\\\."):
        assert line in shown.inner_text()
    ask(page, "Which code is of tides?")  # begins before the code
    assert "Of code. def step_0(self): return" in shown.inner_text()
    ask(page, "No more")
    assert shown.get_by_text("more", exact=True).first.evaluate("e => e.closest('strong') !== null")


def test_a_link_may_hold_parentheses(open_page: Any, add: Any) -> None:
    text = "Bays lie by [the Heron](https://example.org/Heron_(barque)) today."
    add({"id": "bays", "title": "Bays", "text": text})
    page = open_page()
    ask(page, "Where do bays lie?")
    assert "Bays lie by the Heron today." in card(page, "Bays").inner_text()


def test_late_answers_change_nothing(open_page: Any, add: Any) -> None:
    add(*CORPUS)
    page = open_page()
    ask(page, HOPS)
    waiting: list[Any] = []
    page.route("**/v1/tags/ida*", lambda route: waiting.append(route))
    with page.expect_request("**/v1/tags/ida*"):
        page.goto(f"{page.url}&tag=ida+moss", wait_until="commit")
    panel = page.get_by_role("complementary")
    panel.get_by_role("heading", name="ida moss").wait_for()
    page.evaluate("""history.pushState(null, "", "/?q=x&tag=corin+vale");
        dispatchEvent(new Event("moved"))""")
    panel.get_by_text("the most relevant first").wait_for()
    before = panel.inner_text()
    with page.expect_response("**/v1/tags/ida*"):
        waiting[0].continue_()
    page.wait_for_timeout(200)
    assert panel.inner_text() == before


def test_an_answer_that_fails_says_so_to_everybody(open_page: Any) -> None:
    page = open_page()
    waiting: list[Any] = []
    page.route("**/v1/recalls", lambda route: waiting.append(route))
    for question in ("first", "second"):
        with page.expect_request("**/v1/recalls"):
            page.get_by_role("searchbox", name="Question").fill(question)
            page.keyboard.press("Enter")
    answer = page.locator(".results")
    waiting[0].abort()
    page.wait_for_timeout(200)
    assert page.get_by_role("alert").count() == 0  # nobody waits for it
    assert answer.get_attribute("aria-busy") == "true"
    waiting[1].abort()
    page.get_by_role("alert").get_by_text("The server does not answer").wait_for()
    assert answer.get_attribute("aria-busy") == "false"  # else no screen reader says it


def test_an_excerpt_of_a_table_begins_with_a_cell(open_page: Any, add: Any) -> None:
    rows = "".join(f"| Boat {n} | moored in bay {n} |\n" for n in range(20))
    text = f"# Fleet\n\n## Bays\n\n| boat | bay |\n|---|---|\n{rows}| Heron | with quills |\n"
    add({"id": "fleet", "title": "Fleet: Bays", "text": text})
    page = open_page()
    ask(page, "Where are quills?")
    shown = card(page, "Fleet").inner_text()
    assert "… with quills" in shown
    assert "|" not in shown
    card(page, "Fleet").get_by_role("button", name="Show all").click()
    whole = card(page, "Fleet").inner_text()
    assert whole.count("Bays") == whole.count("Fleet") == 1


def test_what_is_shown_whole_offers_no_more(open_page: Any, add: Any) -> None:
    add({"id": "quills", "title": "Quills", "text": "# Quills\n\nQuills are cut.\n\nNever bent.\n"})
    page = open_page()
    ask(page, "How are quills cut?")
    quills = card(page, "Quills")
    assert "Quills are cut.\n\nNever bent." in quills.inner_text()
    assert quills.get_by_role("button", name="Show").count() == 0


def test_passages_that_only_fill_up_the_list_are_not_shown(open_page: Any) -> None:
    page = open_page()
    ask(page, "What prints Pong?")
    assert titles(page) == ["npm ping: How to ping the registry"]
    ask(page, "Who sings in Zanzibar?")
    assert page.get_by_role("heading", name="Nothing is found.").is_visible()
    assert cards(page).count() == 0
