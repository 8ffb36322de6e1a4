"""Texts that another store keeps: the same graph and recalls, and no sentence on disk."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hebbgraph import Chunk, HebbianIndex, ParameterError, Recall, Settings, SettingsMismatchError
from hebbgraph.derived.parts import Derived
from hebbgraph.errors import StorageError, TextSourceError
from hebbgraph.store import texts as texts_module

pytestmark = pytest.mark.every_database

QUESTION = "Where was the builder of the Petrel born?"
ELSEWHERE = Settings(keep_text=False)
Open = Callable[..., HebbianIndex]


class Store:
    """Somebody else's store of texts."""

    def __init__(self, chunks: Sequence[Chunk] = ()) -> None:
        self.texts: dict[str, Any] = {chunk.id: chunk.text for chunk in chunks}
        self.calls: list[list[str]] = []
        self.down = False

    def __call__(self, ids: Sequence[str], /) -> Mapping[str, Any]:
        self.calls.append(list(ids))
        if self.down:
            raise ConnectionError("the store is down")
        return {id_: self.texts[id_] for id_ in ids if id_ in self.texts}


@pytest.fixture
def store(corpus: list[Chunk]) -> Store:
    return Store(corpus)


@pytest.fixture
def index(open_index: Open, corpus: list[Chunk], store: Store) -> HebbianIndex:
    index = open_index(settings=ELSEWHERE, texts=store)
    index.add(corpus)
    return index


def _shape(recall: Recall) -> list[tuple[Any, ...]]:
    return [(hit.chunk, round(hit.score, 9), hit.path) for hit in recall.hits]


# -- the same, without the texts ---------------------------------------------------------


def test_recalls_are_those_of_an_index_that_keeps_its_texts(
    index: HebbianIndex, make_index: Open, store: Store, content: Callable[[HebbianIndex], Any]
) -> None:
    whole = make_index(name="whole")
    assert content(index) == content(whole)
    assert store.calls == []  # what was added was at hand
    for options in ({}, {"where": {"kind": "ship"}}, {"seeds": [("petrel", 1.0)]}):
        found, expected = (one.recall(QUESTION, k=4, **options) for one in (index, whole))
        assert _shape(found) == _shape(expected)
        assert found.notes == expected.notes
        assert len(store.calls.pop()) == len(found.hits)  # one batch a recall
        assert store.calls == []
    assert index.get(["moss", "bare"]) == whole.get(["moss", "bare"])
    assert index.explain(found, "moss") == whole.explain(expected, "moss")


def test_a_filter_of_your_own_reads_texts_a_page_at_a_time(
    index: HebbianIndex, make_index: Open, store: Store
) -> None:
    def dry(chunk: Chunk) -> bool:
        return "Moss" in chunk.text

    found, expected = (
        one.recall(QUESTION, k=2, where=dry) for one in (index, make_index(name="w"))
    )
    assert _shape(found) == _shape(expected)
    assert len(store.calls) <= 3
    assert index.ids(dry) == ["heron", "moss", "petrel"]


def test_a_phrase_that_enters_reaches_older_texts(
    index: HebbianIndex, store: Store, content: Callable[[HebbianIndex], Any]
) -> None:
    index.add([Chunk(id=f"by{n}", text=f"Bystander {n}.") for n in range(40)])
    store.calls.clear()
    new = Chunk(id="trade", title="Ice trade", text="Cut in winter.")
    store.texts["trade"] = new.text
    index.add([new])
    assert "ice trade" in content(index).postings["petrel"]
    assert [call for call in store.calls if len(call) > 3] == []  # not all were asked for
    index.delete(["trade"])
    assert "ice trade" not in content(index).postings["petrel"]


def test_opening_again_in_another_process_asks_for_nothing(
    index: HebbianIndex, open_index: Open, store: Store
) -> None:
    expected = _shape(index.recall(QUESTION, k=3))
    index.close()
    store.calls.clear()
    again = open_index(settings=ELSEWHERE, texts=store)
    assert _shape(again.recall(QUESTION, k=3)) == expected
    assert len(store.calls) == 1


def test_unchanged_replaced_and_deleted(
    index: HebbianIndex, corpus: list[Chunk], store: Store
) -> None:
    store.calls.clear()
    other = corpus[0].model_copy(update={"text": "The Petrel sank."})
    store.texts["petrel"] = other.text
    report = index.add([other, *corpus[1:]])
    assert (report.unchanged, report.replaced) == (7, 1)
    assert index.get(["petrel"]) == [other]
    assert index.delete(document_id="people") == 2
    assert index.holds(["petrel", "moss", "never"]) == {"petrel"}
    report = index.put_document("d", "f", [Chunk(id="put", text="Ida Moss again.")])
    assert report.added == 1
    store.texts["put"] = "Ida Moss again."
    assert "put" in [hit.chunk.id for hit in index.recall("Ida Moss").hits]
    assert index.doctor().ok


@pytest.mark.sqlite_only
def test_no_sentence_lies_in_any_file(tmp_path: Path, open_index: Open) -> None:
    sentences = [
        "the schooner that carried slate was then sold to his cousin in spring",
        "nobody at the lighthouse had ever seen such a winter before or since",
    ]
    chunks = [Chunk(id=f"c{n}", title=f"Log {n}", text=one) for n, one in enumerate(sentences)]
    store = Store(chunks)
    index = open_index(settings=ELSEWHERE, texts=store)
    index.add(chunks)
    recall = index.recall("Who sold the schooner?", k=2)
    assert recall.hits[0].chunk.text == sentences[0]
    index.reinforce(recall, ["c0"])
    index.compact()
    index.recall("Who sold the schooner?", k=2)

    def held() -> bytes:
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert len(files) > 10
        return b"\0".join(path.read_bytes() for path in files).lower()

    for content in (held(), index.close() or held()):
        for sentence in sentences:
            words = sentence.split()
            for three in zip(words, words[1:], words[2:], strict=False):
                assert " ".join(three).encode() not in content


# -- the source fails, or knows less ------------------------------------------------------


def test_a_source_that_is_down_is_a_clear_error_and_changes_nothing(
    index: HebbianIndex, store: Store, content: Callable[[HebbianIndex], Any]
) -> None:
    before = content(index)
    store.down = True
    with pytest.raises(TextSourceError, match=r"ConnectionError: the store is down") as caught:
        index.recall(QUESTION, id="failed")
    assert isinstance(caught.value, StorageError)
    assert isinstance(caught.value.__cause__, ConnectionError)
    for call in (
        lambda: index.get(["moss"]),
        lambda: index.doctor(),
        lambda: index.compact(),
        lambda: index.retag(),
        lambda: index.ids(lambda chunk: True),
    ):
        with pytest.raises(TextSourceError):
            call()
    store.down = False
    assert index.find_recall("failed") is None
    assert content(index) == before
    assert index.doctor().ok
    assert index.repairs == ()


def test_down_in_the_middle_of_an_add(
    index: HebbianIndex, store: Store, content: Callable[[HebbianIndex], Any], make_index: Open
) -> None:
    new = Chunk(id="trade", title="Ice trade", text="Cut in winter.")
    store.texts["trade"] = new.text
    store.down = True
    assert index.add([new]).added == 1  # committed; older mentions are looked up later
    with pytest.raises(TextSourceError):
        index.recall(QUESTION)
    store.down = False
    assert "ice trade" in content(index).postings["petrel"]
    whole = make_index(name="whole")
    whole.add([new])
    assert content(index) == content(whole)


def test_down_in_the_middle_of_a_rebuild(
    index: HebbianIndex, store: Store, content: Callable[[HebbianIndex], Any]
) -> None:
    before = content(index)
    index.parts.derived.start_over("a test says so")
    store.down = True
    for _ in range(2):
        with pytest.raises(TextSourceError):
            index.recall(QUESTION)
    store.down = False
    assert content(index) == before
    assert index.doctor().ok


def test_a_hit_that_the_store_does_not_have_comes_without_text(
    index: HebbianIndex, store: Store
) -> None:
    del store.texts["moss"]
    store.texts["bay"] = None
    recall = index.recall(QUESTION, k=3)
    by_id = {hit.chunk.id: hit for hit in recall.hits}
    assert (by_id["moss"].chunk.text, by_id["moss"].lacks_text) == ("", True)
    assert by_id["moss"].chunk.title == "Ida Moss"
    assert not by_id["petrel"].lacks_text
    assert any("without text" in note and "'moss'" in note for note in recall.notes)
    report = index.doctor()
    (finding,) = report.findings
    assert finding.part == "texts"
    assert "delete the chunks: 'moss', 'bay'" in finding.problem
    assert "not compared, since some texts are missing" in report.notes[0]
    assert index.doctor(repair=True).findings == report.findings  # nothing is taken away
    # Citing it teaches about the text that was added.
    index.reinforce(recall, ["moss"])
    store.texts["moss"] = "Ida Moss was born in Tessel Bay and learned her craft from Corin Vale."
    effects = index.explain(index.recall(QUESTION), "moss").learned
    assert effects


def test_a_title_alone_is_no_missing_text(open_index: Open) -> None:
    index = open_index(settings=ELSEWHERE, texts=Store([Chunk(id="a", title="Owl", text="")]))
    index.add([Chunk(id="a", title="Owl", text="")])
    recall = index.recall("owl")
    assert (recall.hits[0].lacks_text, recall.notes) == (False, ())


def test_a_text_that_has_changed(
    index: HebbianIndex, store: Store, corpus: list[Chunk], make_index: Open
) -> None:
    whole = make_index(name="whole")
    for one in (index, whole):
        one.reinforce(one.recall(QUESTION, k=3), ["moss"])

    def effects(one: HebbianIndex) -> list[tuple[str, str, float]]:
        learned = one.explain(one.recall(QUESTION, k=3), "moss").learned
        return [(found.family, found.source, round(found.effect, 9)) for found in learned]

    before = effects(index)
    assert [(family, effect) for family, _, effect in before] == [
        (family, effect) for family, _, effect in effects(whole)
    ]  # each names its own lesson
    store.texts["moss"] = "Ida Moss never set foot in Gull Rock."
    recall = index.recall(QUESTION, k=3)
    hit = recall.hit("moss")
    assert hit is not None
    assert (hit.chunk.text, hit.lacks_text) == (store.texts["moss"], False)
    assert any("has changed" in note and "'moss'" in note for note in recall.notes)
    # What was learned is of the text as it was added, until it is added again.
    assert effects(index) == before
    (finding,) = index.doctor().findings
    assert "add the chunks again: 'moss'" in finding.problem
    new = corpus[2].model_copy(update={"text": store.texts["moss"]})
    assert [one.add([new]).replaced for one in (index, whole)] == [1, 1]
    assert index.recall(QUESTION).notes == ()
    assert effects(index) == effects(whole) != before
    assert index.doctor().ok


def test_what_no_database_keeps_becomes_a_space(index: HebbianIndex, store: Store) -> None:
    store.texts["moss"] = "half a pair \ud800 and a bell\x07"
    hit = index.recall(QUESTION, k=3).hit("moss")
    assert hit is not None
    assert hit.chunk.text == "half a pair   and a bell "


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["a text"], "mapping from id to text, got list"),
        (None, "mapping from id to text, got NoneType"),
        ({"petrel": b"bytes"}, "got bytes for 'petrel'"),
    ],
)
def test_what_is_no_text_is_told(
    open_index: Open, corpus: list[Chunk], given: Any, told: str
) -> None:
    index = open_index(settings=ELSEWHERE, texts=lambda ids: given)
    index.add(corpus)
    with pytest.raises(TextSourceError, match=told):
        index.recall(QUESTION)


def test_chunks_will_do_for_texts(open_index: Open, corpus: list[Chunk]) -> None:
    by_id = {chunk.id: chunk for chunk in corpus}
    index = open_index(settings=ELSEWHERE, texts=lambda ids: {i: by_id[i] for i in ids})
    index.add(corpus)
    assert [hit.chunk for hit in index.recall(QUESTION).hits] == [
        by_id[hit.chunk.id] for hit in index.recall(QUESTION).hits
    ]


# -- without a source -----------------------------------------------------------------------


def test_without_a_source_hits_have_no_text(
    index: HebbianIndex, open_index: Open, store: Store
) -> None:
    expected = index.recall(QUESTION, k=3)
    index.close()
    bare = open_index(settings="saved")
    assert not bare.settings.keep_text
    recall = bare.recall(QUESTION, k=3)
    assert [(h.chunk.id, h.score) for h in recall.hits] == [
        (h.chunk.id, h.score) for h in expected.hits
    ]
    assert all(hit.lacks_text for hit in recall.hits)
    assert any("texts=..." in note for note in recall.notes)
    assert bare.explain(recall, "moss").tags
    assert bare.reinforce(recall, ["moss"]).cited == ("moss",)
    assert bare.to_networkx().number_of_nodes() > 0
    for call in (lambda: bare.get(["moss"]), bare.compact, bare.doctor, bare.retag):
        with pytest.raises(TextSourceError, match=r"keeps no texts.*texts="):
            call()
    bare.close()
    again = open_index(settings=ELSEWHERE, texts=store)
    assert again.explain(again.recall(QUESTION), "moss").learned


def test_the_setting_is_saved(open_index: Open, make_index: Open, store: Store) -> None:
    make_index().close()
    with pytest.raises(SettingsMismatchError, match="keep_text=True, got keep_text=False"):
        open_index(settings=ELSEWHERE, texts=store)
    with pytest.raises(ParameterError, match="keep_text=False"):
        open_index(texts=store)
    with open_index("other", settings=ELSEWHERE) as other:
        other.add(["x"])  # the first write saves the settings
    with pytest.raises(SettingsMismatchError, match="keep_text=False, got keep_text=True"):
        open_index("other")
    with pytest.raises(ParameterError, match="texts is a callable"):
        open_index("other", settings=ELSEWHERE, texts={"a": "b"})


@pytest.mark.sqlite_only
def test_an_index_from_before_the_setting_keeps_its_texts(
    make_index: Open, open_index: Open, tmp_path: Path
) -> None:
    make_index().close()
    with closing(sqlite3.connect(tmp_path / "index" / "truth.sqlite3")) as connection, connection:
        connection.execute("""UPDATE namespaces SET build_settings = '{"language": "english"}'""")
    with pytest.raises(SettingsMismatchError, match="keep_text=True, got keep_text=False"):
        open_index(settings=ELSEWHERE)
    assert open_index(settings="saved").recall(QUESTION).hits[0].chunk.text


# -- learning, and what is kept of recalls ------------------------------------------------------


def test_a_recall_is_found_again_with_the_text_that_it_showed(
    index: HebbianIndex, store: Store
) -> None:
    recall = index.recall(QUESTION, k=3)
    assert index.find_recall(recall.id) == recall
    store.texts["moss"] = "Another text."
    again = index.find_recall(recall.id)
    assert again is not None
    assert [hit.chunk.id for hit in again.hits if hit.lacks_text] == ["moss"]
    feedback = index.reinforce(recall.id, ["moss"])
    assert index.reinforce(Recall.model_validate_json(recall.model_dump_json()), ["moss"]) == (
        feedback
    )
    index.export_feedback(log := io.StringIO())
    assert "born in Tessel Bay" not in log.getvalue()


def test_learning_is_the_same_as_with_texts(index: HebbianIndex, make_index: Open) -> None:
    whole = make_index(name="whole")
    found = []
    for one in (index, whole):
        one.reinforce(one.recall(QUESTION, k=4), ["bay"])
        found.append(_shape(one.recall("Where was the Petrel's builder born?", k=8)))
    assert found[0] == found[1]


# -- embedding and tagging anew ---------------------------------------------------------------


class Letters:
    """An embedder that counts letters."""

    model_name = "letters"

    def embed_query(self, text: str, /) -> list[float]:
        return [1.0 + text.lower().count(letter) for letter in "aeioust"]

    def embed_documents(self, texts: list[str], /) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def test_reembed_asks_the_source_and_passes_over_what_is_missing(
    index: HebbianIndex, store: Store, make_index: Open
) -> None:
    del store.texts["moss"]
    assert index.reembed(Letters()) == 7
    assert "for 1 chunk: reembed()" in index.doctor().notes[-1]
    store.texts["moss"] = "Ida Moss was born in Tessel Bay and learned her craft from Corin Vale."
    assert index.reembed() == 1
    whole = make_index(name="whole", embedder=Letters())
    found, expected = (one.recall(QUESTION, k=8) for one in (index, whole))
    assert _shape(found) == _shape(expected)


def test_retag_leaves_alone_what_is_not_as_it_was(
    index: HebbianIndex, store: Store, content: Callable[[HebbianIndex], Any]
) -> None:
    del store.texts["bare"]
    store.texts["knots"] = "Something else."
    report = index.retag(lambda chunk: ["marked"])
    assert (report.replaced, report.unchanged) == (6, 0)
    tagged = {id_ for id_, tags in content(index).postings.items() if "marked" in tags}
    assert tagged == {"petrel", "heron", "moss", "vale", "bay", "point"}
    store.texts["bare"] = "Slate splits along its cleavage when it is dry."
    assert index.retag(lambda chunk: ["marked"]).replaced == 1
    assert index.get(["bare"])[0].text == store.texts["bare"]


def test_answers_of_a_model_go_with_their_chunk(index: HebbianIndex, corpus: list[Chunk]) -> None:
    answers = index.parts.truth.tag_answers
    answers.put("model", {0: (corpus[0], ["ship"]), 1: (corpus[2], ["person"])})
    index.delete(["petrel"])
    assert answers.get("model", [corpus[0], corpus[2]]) == {1: ("person",)}


# -- upkeep -----------------------------------------------------------------------------------


def test_compacting_reads_every_text_and_changes_no_recall(
    index: HebbianIndex, store: Store
) -> None:
    before = _shape(index.recall(QUESTION, k=8))
    index.compact()
    assert _shape(index.recall(QUESTION, k=8)) == before
    assert index.doctor(repair=True).ok


@pytest.mark.sqlite_only
def test_a_backup_needs_the_same_source(
    index: HebbianIndex, open_index: Open, tmp_path: Path, store: Store
) -> None:
    expected = _shape(index.recall(QUESTION, k=8))
    index.backup(tmp_path / "copy")
    copy = open_index("copy", settings=ELSEWHERE, texts=store)
    assert _shape(copy.recall(QUESTION, k=8)) == expected
    index.close()
    HebbianIndex.restore(tmp_path / "copy", tmp_path / "index", force=True)
    again = open_index(settings=ELSEWHERE, texts=store)
    assert _shape(again.recall(QUESTION, k=8)) == expected


def test_what_is_remembered_is_bounded_and_let_go(
    index: HebbianIndex, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    kept = index.parts.truth.text_store
    assert isinstance(kept, texts_module.TextsElsewhere)
    assert kept._remembered == {}
    monkeypatch.setattr(texts_module, "_MOST_REMEMBERED", 30)
    kept.remember([Chunk(id=f"c{n}", text="x" * 12) for n in range(4)], 9)
    assert list(kept._remembered) == ["c2", "c3"]
    kept.remember([Chunk(id="c2", text="y")], 10)
    kept.forget(9)
    assert (list(kept._remembered), kept._n_remembered) == (["c2"], 1)


# -- a standing search --------------------------------------------------------------------------


def test_a_search_of_your_own_stands_in_for_ours(
    open_index: Open, corpus: list[Chunk], store: Store
) -> None:
    asked: list[str] = []

    def search(query: str, /) -> list[tuple[str, float]]:
        asked.append(query)
        return [("bare", 1.0)]

    index = open_index(settings=ELSEWHERE, texts=store, search=search)
    index.add(corpus)
    found = index.recall("Something unheard of", k=1)
    assert [hit.chunk.id for hit in found.hits] == ["bare"]
    given = index.recall("Something unheard of", k=1, seeds=[("knots", 1.0)])
    assert [hit.chunk.id for hit in given.hits] == ["knots"]
    assert asked == ["Something unheard of"]
    assert isinstance(index.parts.derived, Derived)
    assert np.isfinite(found.hits[0].score)
    with pytest.raises(ParameterError, match="search is a callable"):
        open_index("other", search="bm25")
