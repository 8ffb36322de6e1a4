"""Old versions are kept on request, in any order of arrival, and deleted with their chunk."""

import itertools
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hebbgraph import Chunk, HebbianIndex, InvalidChunkError, ParameterError, Settings
from hebbgraph.ingest.versions import arranged

KEEPING = Settings(keep_versions=True)


def fare(text: str, since: str | None = None, until: str | None = None) -> Chunk:
    return Chunk(id="fare", text=text, valid_from=since, valid_until=until)


def content(index: HebbianIndex) -> list[Chunk]:
    return index.get(index.ids())


def test_the_newest_version_has_the_id_in_any_order() -> None:
    versions = [fare("4", "2021"), fare("5", "2023"), fare("6", "2025")]
    seen = set()
    for order in itertools.permutations(versions):
        with HebbianIndex.open(":memory:", settings=KEEPING) as index:
            for chunk in order:
                index.add([chunk])
            seen.add(tuple(chunk.model_dump_json() for chunk in content(index)))
            assert index.doctor().ok
    (held,) = seen
    assert [Chunk.model_validate_json(one).id for one in held] == [
        "fare", "fare@@2021-01-01", "fare@@2023-01-01",
    ]  # fmt: skip


def test_without_dates_a_version_ends_when_the_next_one_comes() -> None:
    before = datetime.now(UTC)
    with HebbianIndex.open(":memory:", settings=KEEPING) as index:
        for text in ("one", "two", "three", "three"):
            report = index.add([Chunk(id="a", text=text)])
        assert report.unchanged == 1
        now, *old = content(index)
        assert (now.id, now.text, now.valid_until) == ("a", "three", None)
        assert [one.text for one in old] == ["one", "two"]
        ends = [one.valid_until for one in old]
        assert all(end is not None and before <= end for end in ends)
        assert ends == sorted(ends, key=str)


def test_versions_of_one_instant_are_one_version() -> None:
    with HebbianIndex.open(":memory:", settings=KEEPING) as index:
        index.add([fare("4", "2021"), fare("5", "2023")])
        index.add([fare("four", "2021-01-01T01:00+01:00")])
        assert [one.text for one in content(index)] == ["5", "four"]
        with pytest.raises(InvalidChunkError, match="ids or valid_from must differ"):
            index.add([fare("7", "2027"), fare("8", "2027")])


def test_undated_between_dated() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    first = arranged([fare("old")], {}, now)
    second = arranged([fare("new")], {one.id: one for one in first.put}, now)
    held = {one.id: one for one in (*second.put, *second.moved)}
    third = arranged([fare("dated", "2026-06")], held, now)
    assert [one.id for one in third.put] == ["fare"]
    (moved,) = third.moved
    assert (moved.text, moved.valid_from) == ("new", now)


def test_chunks_dropped_from_a_document_end() -> None:
    with HebbianIndex.open(":memory:", settings=KEEPING) as index:
        index.put_document("d", "1", [Chunk(id="a", text="one"), Chunk(id="b", text="two")])
        report = index.put_document("d", "2", [Chunk(id="a", text="ONE")])
        assert (report.added, report.replaced, report.deleted) == (1, 2, 0)
        texts = {one.text: one.valid_until for one in content(index)}
        assert texts.keys() == {"one", "ONE", "two"}
        assert texts["ONE"] is None
        assert texts["one"]
        assert texts["two"]
        assert index.put_document("d", "2", [Chunk(id="a", text="ONE")]).unchanged == 1
        assert index.delete(document_id="d") == 3
        assert not index.ids()


def test_versions_are_not_kept_by_default() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([fare("4", "2021")])
        index.add([fare("5", "2023")])
        assert [one.text for one in content(index)] == ["5"]


def test_delete_erases_all_versions_whatever_the_settings(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path, settings=KEEPING) as index:
        index.add([fare("the secret was 4", "2021"), fare("the secret is 5", "2023")])
    with HebbianIndex.open(tmp_path) as index:
        assert index.delete(["fare"], erase=True) == 2
        assert index.recall("secret").hits == ()
    left = b"".join(one.read_bytes() for one in tmp_path.rglob("*") if one.is_file())
    assert b"the secret" not in left


def test_versions_survive_retagging_and_reopening(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path, settings=KEEPING) as index:
        index.add([fare("4", "2021"), fare("5", "2023", "2030")])
        index.retag(lambda chunk: ["Fares"])
        before = content(index)
    with HebbianIndex.open(tmp_path) as index:
        assert content(index) == before
        assert index.doctor().ok


@pytest.mark.parametrize("id_", ["fare@@2021-01-01", "x" * 500])
def test_ids_that_clash_with_old_versions_are_refused(id_: str) -> None:
    with HebbianIndex.open(":memory:", settings=KEEPING) as index:
        with pytest.raises(InvalidChunkError, match="with keep_versions, an id"):
            index.add([Chunk(id=id_, text="x")])
        report = index.add([Chunk(id=id_, text="x"), fare("4")], on_error="skip")
        assert (report.added, len(report.failed)) == (1, 1)
    with HebbianIndex.open(":memory:") as index:
        assert index.add([Chunk(id=id_, text="x")]).added == 1


def test_external_texts_have_no_versions() -> None:
    with pytest.raises(ParameterError, match="keep_versions takes keep_text=True"):
        Settings(keep_versions=True, keep_text=False)


@settings(max_examples=12, deadline=None)
@given(
    versions=st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.integers(1, 9999),
            st.text("xyz ", min_size=1).filter(str.strip),
        ),
        unique_by=lambda one: one[:2],
        max_size=7,
    ),
    data=st.data(),
)
def test_any_order_of_adds_gives_the_same_history(
    versions: list[tuple[str, int, str]], data: st.DataObject
) -> None:
    chunks = [
        Chunk(id=id_, text=text, valid_from=datetime(year, 1, 1)) for id_, year, text in versions
    ]
    histories = []
    for order in (chunks, data.draw(st.permutations(chunks))):
        with HebbianIndex.open(":memory:", settings=KEEPING) as index:
            while order:
                size = data.draw(st.integers(1, len(order)))
                index.add(order[:size])
                order = order[size:]
            histories.append(content(index))
            assert index.add(chunks).unchanged == len(chunks)
            assert index.delete(["a", "b"]) == len(chunks)
            assert not index.ids()
    assert histories[0] == histories[1]
