from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hebbgraph.derived.lexical import LexicalIndex, LexicalRow
from hebbgraph.store.history import NOTHING, Commit

ROWS = [LexicalRow(1, "gull cliff"), LexicalRow(2, "gull rock rock"), LexicalRow(3, "tern")]


@pytest.fixture(params=["memory", "disk"])
def lexical(request: pytest.FixtureRequest, tmp_path: Path) -> LexicalIndex:
    index = LexicalIndex(None if request.param == "memory" else tmp_path / "lexical")
    index.update(Commit(1, 7), removed=[], added=ROWS)
    return index


def _rows(index: LexicalIndex, *terms: str, **options: object) -> list[int]:
    return index.search(terms, 10, **options)[0].tolist()  # type: ignore[arg-type]


def test_best_first(lexical: LexicalIndex) -> None:
    rows, scores = lexical.search(["gull", "rock"], 10)
    assert rows.tolist() == [2, 1]
    assert scores[0] > scores[1] > 0
    assert lexical.search(["gull", "rock"], 1)[0].tolist() == [2]
    assert _rows(lexical, "auk") == _rows(lexical) == []


def test_weights_scale_terms(lexical: LexicalIndex) -> None:
    (_, [once]), (_, [half]) = lexical.search(["tern"], 1), lexical.search({"tern": 0.5}, 1)
    assert half == pytest.approx(once / 2)
    assert _rows(lexical, "gull", "tern") == lexical.search({"gull": 1, "tern": 1}, 10)[0].tolist()
    assert lexical.search({"gull": 0.01, "tern": 1}, 1)[0].tolist() == [3]


def test_restricting_rows_keeps_scores(lexical: LexicalIndex) -> None:
    everywhere = dict(zip(*(part.tolist() for part in lexical.search(["gull"], 10)), strict=True))
    rows, scores = lexical.search(["gull"], 10, only=[1, 3, 99])
    assert rows.tolist() == [1]
    assert scores[0] == pytest.approx(everywhere[1])


def test_deleting_really_deletes(lexical: LexicalIndex) -> None:
    lexical.update(Commit(2, 7), removed=[2, 99], added=[])
    assert len(lexical) == 2
    assert _rows(lexical, "gull") == [1]
    assert lexical.commit == Commit(2, 7)


def test_a_row_added_again_replaces(lexical: LexicalIndex) -> None:
    lexical.update(Commit(2, 7), removed=[], added=[LexicalRow(1, "auk"), LexicalRow(4, "auk")])
    assert len(lexical) == 4
    assert sorted(_rows(lexical, "auk")) == [1, 4]
    assert _rows(lexical, "cliff") == []


def test_phrases_need_adjacent_words(lexical: LexicalIndex) -> None:
    assert lexical.rows_with_phrase(["gull", "rock"]).tolist() == [2]
    assert lexical.rows_with_phrase(["rock", "gull"]).tolist() == []
    assert sorted(lexical.rows_with_phrase(["gull"]).tolist()) == [1, 2]


def test_no_query_syntax_is_parsed(lexical: LexicalIndex) -> None:
    for term in ("*", "gull OR tern", "row:1", '"', "terms:gull", "[a TO z]", "\x00", ""):
        assert _rows(lexical, term) == []


def test_an_update_that_fails_leaves_it_as_it_was(lexical: LexicalIndex) -> None:
    def failing() -> Iterator[LexicalRow]:
        yield LexicalRow(7, "auk")
        raise OSError("gone")

    for instead in (False, True):
        with pytest.raises(OSError, match="gone"):
            lexical.update(Commit(5, 7), removed=[1], added=failing(), rewrite=instead)
        assert (len(lexical), lexical.commit) == (3, Commit(1, 7))
        assert sorted(_rows(lexical, "gull")) == [1, 2]
    lexical.update(Commit(2, 7), removed=[], added=[LexicalRow(4, "auk")])
    assert sorted(_rows(lexical, "gull", "auk")) == [1, 2, 4]


def test_restricting_facts_keeps_scores(lexical: LexicalIndex) -> None:
    entries = [
        LexicalRow(4, "gull", "a1 b2"),
        LexicalRow(5, "gull gull", "a1"),
        LexicalRow(6, "gull rock", "b2 c3"),
    ]
    lexical.update(Commit(2, 7), removed=[], added=entries)
    assert sorted(_rows(lexical, "gull", "rock", facts=["b2"])) == [4, 6]
    assert sorted(_rows(lexical, "gull", facts=["a1", "c3", "none"])) == [4, 5, 6]
    assert _rows(lexical, "gull", facts=[]) == _rows(lexical, "gull", facts=["gull"]) == []
    assert _rows(lexical, "a1") == []  # a fact is no term
    every = dict(
        zip(*(part.tolist() for part in lexical.search(["gull", "rock"], 10)), strict=True)
    )
    rows, scores = lexical.search(["gull", "rock"], 10, facts=["b2"])
    assert dict(zip(rows.tolist(), scores.tolist(), strict=True)) == {4: every[4], 6: every[6]}


def test_without_positions_a_phrase_is_a_bag(tmp_path: Path) -> None:
    index = LexicalIndex(tmp_path / "lexical", positions=False)
    index.update(Commit(1, 7), removed=[], added=ROWS)
    assert index.rows_with_phrase(["rock", "gull"]).tolist() == [2]
    assert sorted(index.rows_with_phrase(["gull"]).tolist()) == [1, 2]
    with_positions = LexicalIndex(None)
    with_positions.update(Commit(1, 7), removed=[], added=ROWS)
    for terms in (["gull", "rock"], ["tern"]):
        found, expected = (one.search(terms, 9) for one in (index, with_positions))
        assert [part.tolist() for part in found] == [part.tolist() for part in expected]
    again = LexicalIndex(tmp_path / "lexical", positions=False)
    assert (len(again), again.damage) == (3, None)


def test_a_rewrite_takes_one_step(lexical: LexicalIndex) -> None:
    def rows() -> Iterator[LexicalRow]:
        yield LexicalRow(7, "auk")
        assert sorted(_rows(lexical, "gull")) == [1, 2]  # whoever reads meanwhile
        assert lexical.is_there
        yield LexicalRow(2, "gull")

    lexical.update(Commit(2, 7), removed=[], added=rows(), rewrite=True)
    assert (len(lexical), lexical.commit) == (2, Commit(2, 7))
    assert (_rows(lexical, "gull"), _rows(lexical, "auk"), _rows(lexical, "tern")) == ([2], [7], [])
    assert lexical.document_frequency("gull") == 1


def test_another_index_sees_commits(tmp_path: Path) -> None:
    first = LexicalIndex(tmp_path / "lexical")
    second = LexicalIndex(tmp_path / "lexical")
    first.update(Commit(1, 7), removed=[], added=ROWS)
    assert (second.refresh(), _rows(second, "tern")) == (Commit(1, 7), [3])
    second.update(Commit(2, 7), removed=[3], added=[])
    assert (first.refresh(), _rows(first, "tern")) == (Commit(2, 7), [])


def test_an_update_that_was_killed_before_its_commit_is_done_again(tmp_path: Path) -> None:
    """Its segment files exist already, under names that are needed again."""
    place, before = tmp_path / "lexical", tmp_path / "before"
    LexicalIndex(place).update(Commit(1, 7), removed=[], added=ROWS)
    shutil.copytree(place, before)
    LexicalIndex(place).update(Commit(2, 7), removed=[2], added=[LexicalRow(4, "auk")])
    for name in ("meta.json", "manifest.json"):  # what names a commit, and is written last
        shutil.copy(before / name, place / name)
    for path in before.iterdir():
        if not (place / path.name).exists():
            shutil.copy(path, place / path.name)
    index = LexicalIndex(place)
    assert (index.commit, len(index)) == (Commit(1, 7), 3)
    index.update(Commit(2, 7), removed=[2], added=[LexicalRow(4, "auk")])
    assert (len(index), _rows(index, "gull"), _rows(index, "auk")) == (3, [1], [4])


def test_an_update_that_was_killed_before_its_stamp_is_built_anew(tmp_path: Path) -> None:
    place = tmp_path / "lexical"
    LexicalIndex(place).update(Commit(1, 7), removed=[], added=ROWS)
    stamp = (place / "manifest.json").read_bytes()
    LexicalIndex(place).update(Commit(2, 7), removed=[2], added=[LexicalRow(4, "auk")])
    (place / "manifest.json").write_bytes(stamp)
    index = LexicalIndex(place)
    assert index.damage is not None
    assert (index.commit, len(index)) == (NOTHING, 0)


def test_an_update_that_fails_changes_nothing(lexical: LexicalIndex) -> None:
    def broken() -> object:
        yield LexicalRow(5, "auk")
        raise RuntimeError("no text")

    with pytest.raises(RuntimeError, match="no text"):
        lexical.update(Commit(2, 7), removed=[1], added=broken())  # type: ignore[arg-type]
    assert (len(lexical), lexical.commit) == (3, Commit(1, 7))
    lexical.update(Commit(2, 7), removed=[1], added=[])
    assert len(lexical) == 2


def test_a_private_copy_leaves_the_original_alone(tmp_path: Path) -> None:
    LexicalIndex(tmp_path / "lexical").update(Commit(1, 7), removed=[], added=ROWS)
    before = {p.name: p.read_bytes() for p in (tmp_path / "lexical").iterdir()}
    copy = LexicalIndex.copy_of(tmp_path / "lexical")
    copy.update(Commit(2, 7), removed=[1], added=[])
    assert len(copy) == 2
    assert {p.name: p.read_bytes() for p in (tmp_path / "lexical").iterdir()} == before


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"segments": [{"segment_id": 1}]}'])
def test_a_list_of_segments_that_cannot_be_read_is_damage(tmp_path: Path, content: str) -> None:
    LexicalIndex(tmp_path).update(Commit(1, 7), removed=(), added=[LexicalRow(1, "owl")])
    (tmp_path / "meta.json").write_text(content)
    assert "meta.json" in str(LexicalIndex(tmp_path).damage)


def test_a_segment_that_was_written_before_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = LexicalIndex(tmp_path)
    index.update(Commit(1, 7), removed=(), added=[LexicalRow(1, "owl")])
    before = set(tmp_path.iterdir())
    read: list[Path] = []
    monkeypatch.setattr("hebbgraph.manifest.file_checksum", lambda path: read.append(path) or 0)
    index.update(Commit(2, 7), removed=(), added=[LexicalRow(2, "tern")])
    assert {path.name for path in before & set(read)} == {"meta.json"}
    assert len(read) > 3
