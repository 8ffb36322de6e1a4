from __future__ import annotations

import textwrap
from types import SimpleNamespace

import pytest
from hebbgraph.errors import ParameterError
from hypothesis import given, settings
from hypothesis import strategies as st

from hebbgraph_documents import (
    ChunkSettings,
    Document,
    Heading,
    cut,
    estimate_tokens,
    markdown_document,
    split_document,
)
from hebbgraph_documents.outline import clean_text

BRAIN = """\
---
title: The brain
---
It learns all its life.

## Memory

Memory has kinds.

### Short-term memory

It lasts for seconds.

### Long-term memory

It lasts for years.

## Sleep

```sh
# not a heading
sleep 8
```
"""


def split(text, most=400, least=1, media_type="text/markdown", **options):
    document = (
        markdown_document(text)
        if media_type == "text/markdown"
        else Document(text, "title", media_type)
    )
    return split_document(
        document,
        document_id="doc.md",
        settings=ChunkSettings(chunk_tokens=(least, most), **options),
    )


def test_golden_by_headings():
    chunks = split(BRAIN)
    assert [(chunk.text, chunk.metadata["headings"], chunk.tags) for chunk in chunks] == [
        ("It learns all its life.", [], ()),
        ("Memory\n\nMemory has kinds.", ["Memory"], ("Memory",)),
        (
            "Memory > Short-term memory\n\nIt lasts for seconds.",
            ["Memory", "Short-term memory"],
            ("Short-term memory",),
        ),
        (
            "Memory > Long-term memory\n\nIt lasts for years.",
            ["Memory", "Long-term memory"],
            ("Long-term memory",),
        ),
        ("Sleep\n\n```sh\n# not a heading\nsleep 8\n```", ["Sleep"], ("Sleep",)),
    ]
    assert {chunk.title for chunk in chunks} == {"The brain"}
    assert [chunk.metadata["position"] for chunk in chunks] == [0, 1, 2, 3, 4]


def test_short_sections_of_a_chapter_go_together():
    lead, *rest = split(BRAIN, least=8)
    assert lead.text == "It learns all its life.\n\n## Memory\n\nMemory has kinds."
    assert lead.tags == ("Memory",)
    assert [chunk.text.split("\n")[0] for chunk in rest] == [
        "Memory > Short-term memory",
        "Memory > Long-term memory",
        "Sleep",
    ]
    (whole,) = split(BRAIN, least=200)
    assert whole.text.startswith("It learns")
    assert "### Long-term memory" in whole.text
    assert whole.tags == ("Memory", "Short-term memory", "Long-term memory", "Sleep")


def test_headings_without_text():
    assert [chunk.text for chunk in split("# Only a title")] == ["Only a title"]
    assert [chunk.text for chunk in split("# A\n## B\n## C\n### D")] == ["B", "C > D"]
    assert [chunk.text for chunk in split("# A\n# B", least=10)] == ["# A\n\n# B"]


def test_numbering_is_no_part_of_a_tag():
    tags = [chunk.tags for chunk in split("# T\n\n## 2.1 Naming\n\na\n\n## 7 Wonders\n\nb")]
    assert tags == [("Naming",), ("7 Wonders",)]
    tags = [chunk.tags for chunk in split("# T\n\n## 1 Aims\n\na\n\n## 2 Means\n\nb")]
    assert tags == [("Aims",), ("Means",)]


def test_unchanged_chunks_keep_their_ids_and_every_field():
    before = split(BRAIN)
    after = split(BRAIN.replace("for years", "for decades"))
    assert [old == new for old, new in zip(before, after, strict=True)] == [
        True,
        True,
        True,
        False,
        True,
    ]
    inserted = split(BRAIN.replace("## Memory", "## New\n\nText.\n\n## Memory"))
    assert {chunk.id for chunk in before} < {chunk.id for chunk in inserted}
    assert len({chunk.id for chunk in split("Same.\n\n## A\n\nx\n\n# B\n\n## A\n\nx")}) == 3
    repeated = split("x\n\n" * 60, most=16, least=16)
    assert len({chunk.id for chunk in repeated}) == len(repeated) > 1


def test_ids_are_the_same_in_every_process():
    assert split("Synapses learn.")[0].id == "1641bc5e599cdd3e0d0ccaa796c1a741"


@pytest.mark.parametrize(
    "text",
    [
        "突触在学习中会发生变化。海马体参与记忆。" * 200,
        "突触在学习中会发生变化海马体参与记忆" * 200,
        "تتغير المشابك العصبية عند التعلم. " * 200,
        "The quick brown fox jumps over the lazy dog. " * 300,
        "a" * 50_000,
        "a.b(c);" * 5_000,
        "😀" * 5_000,
        "| a | b |\n|---|---|\n" + "| one | two |\n" * 500,
        "```\n" + "# x = 1\n" * 2_000,
        "- item\n" * 2_000,
        "line\n" * 3_000,
    ],
)
@pytest.mark.parametrize("media_type", ["text/markdown", "text/plain"])
def test_hard_texts_are_covered_within_the_limit(text, media_type):
    chunks = split(text, most=100, least=50, media_type=media_type)
    assert max(estimate_tokens(chunk.text) for chunk in chunks) <= 100
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(text.split())


def test_sentences_stay_whole():
    sentence = "Synapses that fire together wire together."
    chinese = "突触在学习中会发生变化。"
    for one, joint in ((sentence, " "), (chinese, "")):
        for chunk in split(joint.join([one] * 80), most=64, least=32):
            assert not chunk.text.replace(one, "").strip()


def test_neither_emphasis_nor_a_wrapped_line_ends_a_chunk_before_a_sentence_does():
    sentence = "The **hippocampus** keeps ~all that `it` can hold of *every* single long day."
    wrapped = textwrap.fill(" ".join([sentence] * 40), 72)
    for media_type in ("text/markdown", "text/plain"):
        chunks = split(wrapped, most=100, least=50, media_type=media_type)
        assert len(chunks) > 4
        assert all(chunk.text.endswith("day.") for chunk in chunks)


def test_lines_that_are_not_wrapped_prose_stay_whole():
    rows = [f"| row {number:03} | a cell. With two sentences in it. |" for number in range(99)]
    for chunk in split("\n".join(rows), most=100, least=50):
        assert set(chunk.text.split("\n")) <= set(rows)


def test_short_rests_join_their_neighbours():
    paragraphs = ["word " * 45 + "end.", "Tail.", "word " * 70 + "end.", "Last."]
    lengths = [
        estimate_tokens(chunk.text) for chunk in split("\n\n".join(paragraphs), most=100, least=50)
    ]
    assert min(lengths) >= 50


def test_a_megabyte_on_one_line_takes_seconds_at_most():
    assert len(split("It has words and words and words. " * 30_000, least=200)) > 500
    assert len(split("w" * 1_000_000, least=200)) > 500


@pytest.mark.parametrize(
    "piece", ["word ", "。", "تتغير ", "a line\n", "a b\n\n", "- a\n", "> ", "`a"]
)
def test_the_splitter_never_sees_more_than_a_window(monkeypatch, piece):
    # It looks at all that is left of a text before every chunk.
    seen: list[int] = []

    def recording(splitter_class):
        class Recording:
            @staticmethod
            def from_callback(*given):
                splitter = splitter_class.from_callback(*given)

                def chunk_indices(text):
                    seen.append(len(text))
                    return splitter.chunk_indices(text)

                return SimpleNamespace(chunk_indices=chunk_indices)

        return Recording

    for name in ("TextSplitter", "MarkdownSplitter"):
        monkeypatch.setattr(cut, name, recording(getattr(cut, name)))
    length = 300_000
    for media_type in ("text/markdown", "text/plain"):
        seen.clear()
        chunks = split(piece * (length // len(piece)), least=200, media_type=media_type)
        assert len(chunks) > 100
        assert max(seen) <= 50_000
        assert sum(seen) <= 2 * length


@pytest.mark.parametrize("markdown", [False, True])
def test_windows_change_no_chunk_of_a_long_text(monkeypatch, markdown):
    sentences = ["Synapses learn.", "It lasts, and lasts, for years!", "突触在学习中会发生变化。"]
    joints = [" ", " ", "\n", "\n\n", "\n\n- ", "  "]
    text = "".join(
        sentences[number * number % 3] + joints[number * number // 7 % 6] for number in range(6_000)
    ).strip()
    spans = cut.cut(text, count_tokens=estimate_tokens, tokens=(20, 40), markdown=markdown)
    monkeypatch.setattr(cut, "_WINDOW", 10 * len(text))
    assert spans == cut.cut(text, count_tokens=estimate_tokens, tokens=(20, 40), markdown=markdown)


def test_tokens_as_long_as_a_window():
    text = "\n\n".join(["word " * 30_000] * 4)
    chunks = split(text, most=16, count_tokens=lambda one: len(one) // 20_000)
    assert len(chunks) > 1
    assert sum(len(chunk.text.split()) for chunk in chunks) == 120_000


def test_a_group_of_sections_is_written_once(monkeypatch):
    # Not again for every section that joins it.
    looked_up = 0

    class Counted(Heading):
        def __getattribute__(self, name):
            nonlocal looked_up
            looked_up += name == "text"
            return super().__getattribute__(name)

    count = 2_000
    document = Document(
        "x\n" * count,
        "T",
        headings=tuple(Counted(1, f"h{number}", number, number + 1) for number in range(count)),
    )
    chunks = split_document(
        document, document_id="x", settings=ChunkSettings(chunk_tokens=(50_000, 100_000))
    )
    assert len(chunks) == 1
    assert looked_up < 20 * count


def test_a_long_line_of_spaces_is_looked_through_once():
    body = "It lasts. " * 200 + "\n" + " " * 300_000 + "\n" + "It sleeps. " * 200
    chunks = split_document(markdown_document(body), document_id="x")
    assert {chunk.text.split(".")[0] for chunk in chunks} <= {"It lasts", "It sleeps"}


def test_more_headings_than_a_chunk_may_have_tags():
    text = "\n\n".join(
        f"## Part {one}{other}" for one in "abcdefghijklmnop" for other in "abcdefghijklmnopqrst"
    )
    (chunk,) = split_document(
        markdown_document(text, title="All"),
        document_id="x",
        settings=ChunkSettings(chunk_tokens=(50_000, 100_000)),
    )
    assert len(chunk.tags) == 256


def test_long_headings_leave_room():
    deep = "".join(f"{'#' * level} {'heading ' * 7}{level}\n\n" for level in range(1, 7))
    for most in (16, 40, 60, 100):
        chunks = split(f"{deep}text " + "more words " * 100, most=most)
        assert max(estimate_tokens(chunk.text) for chunk in chunks) <= most
        assert "heading 6" in chunks[-1].text or most < 40


def test_a_counter_of_ones_own():
    chunks = split("one two three four. " * 50, most=16, count_tokens=lambda t: len(t.split()))
    assert max(len(chunk.text.split()) for chunk in chunks) == 16


@pytest.mark.parametrize("tokens", [(0, 100), (200, 100), (1, 15), (-1, 400), 400, (400,)])
def test_settings_are_checked(tokens):
    with pytest.raises(ParameterError, match="chunk_tokens"):
        ChunkSettings(chunk_tokens=tokens)


LIMITS = st.tuples(st.integers(1, 60), st.integers(60, 120))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300), LIMITS)
def test_plain_text_comes_back_whole(text, limits):
    chunks = split(text, most=limits[1], least=limits[0], media_type="text/plain")
    kept = "".join("".join(chunk.text.split()) for chunk in chunks)
    assert kept == "".join(clean_text(text).split())
    assert all(estimate_tokens(chunk.text) <= limits[1] for chunk in chunks)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet=st.sampled_from("#ab -=`>*|\n\t1.[]()<!\\&突。"), max_size=300), LIMITS)
def test_any_markdown_stays_under_the_limit(text, limits):
    chunks = split(text, most=limits[1], least=limits[0])
    assert all(estimate_tokens(chunk.text) <= limits[1] for chunk in chunks)
    assert len({chunk.id for chunk in chunks}) == len(chunks)


WORD = st.text(alphabet="abcdefg", min_size=1, max_size=8)
WORDS = st.lists(WORD, min_size=1, max_size=60).map(" ".join)
BLOCK = st.one_of(
    WORDS,
    st.tuples(st.integers(1, 6), st.lists(WORD, min_size=1, max_size=4)).map(
        lambda pair: f"{'#' * pair[0]} {' '.join(pair[1])}"
    ),
    WORDS.map(lambda words: f"```\n# {words}\n```"),
    WORDS.map(lambda words: f"- {words}\n- {words}"),
    WORDS.map(lambda words: f"| a |\n|---|\n| {words} |"),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(BLOCK, max_size=12), LIMITS)
def test_every_word_of_a_markdown_text_is_in_its_chunks(blocks, limits):
    text = "\n\n".join(blocks)
    chunks = split(text, most=limits[1], least=limits[0])
    assert all(estimate_tokens(chunk.text) <= limits[1] for chunk in chunks)
    found = [
        word for chunk in chunks for word in f"{chunk.title} {chunk.text}".split() if word.isalpha()
    ]
    assert set(found) == {word for word in text.split() if word.isalpha()}


def test_right_to_left_headings():
    (chunk,) = split("# الدماغ\n\n## الذاكرة\n\nتتغير المشابك العصبية عند التعلم.")
    assert (chunk.title, chunk.tags) == ("الدماغ", ("الذاكرة",))
    assert chunk.text == "الذاكرة\n\nتتغير المشابك العصبية عند التعلم."
