from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.vectors import file as vector_file
from hebbgraph.vectors.file import VectorFile

STATE = EmbeddingState("model", 3, "float16")


def _rows(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def _vectors(*values: float) -> np.ndarray:
    return np.repeat(np.array(values, dtype=np.float32)[:, None], 3, axis=1)


def _filled(directory: Path) -> VectorFile:
    file = VectorFile(directory, STATE, 5)
    file.append(_rows(2, 4), _vectors(0.2, 0.4), last_row=5, generation=5)
    return file


def test_what_was_appended_is_there_in_another_process_too(tmp_path: Path) -> None:
    writer = _filled(tmp_path)
    reader = VectorFile(tmp_path, STATE, 5)
    assert (reader.rows.tolist(), reader.last_row) == ([2, 4], 5)
    writer.append(_rows(7), _vectors(0.7), last_row=9, generation=6)
    assert reader.rows.tolist() == [2, 4]  # it has what it mapped
    reader.refresh(6)
    assert (reader.rows.tolist(), reader.last_row) == ([2, 4, 7], 9)
    assert reader.matrix[:, 0].tolist() == pytest.approx([0.2, 0.4, 0.7])
    assert not reader.matrix.flags.writeable


def test_rows_without_vectors_are_not_looked_for_again(tmp_path: Path) -> None:
    file = VectorFile(tmp_path, STATE, 1)
    file.append(_rows(), _vectors(), last_row=8, generation=1)
    assert VectorFile(tmp_path, STATE, 1).last_row == 8
    file.append(_rows(9), _vectors(0.9), last_row=9, generation=2)
    assert VectorFile(tmp_path, STATE, 2).rows.tolist() == [9]


def test_what_a_killed_writer_left_behind_the_stamp_does_not_count(tmp_path: Path) -> None:
    _filled(tmp_path)
    for path in tmp_path.glob("vectors-*"):
        with path.open("ab") as file:
            file.write(b"torn")
    again = VectorFile(tmp_path, STATE, 5)
    assert again.rows.tolist() == [2, 4]
    again.append(_rows(6), _vectors(0.6), last_row=6, generation=6)
    assert VectorFile(tmp_path, STATE, 6).rows.tolist() == [2, 4, 6]


@pytest.mark.parametrize("suffix", [".rows", ".f32"])
@pytest.mark.parametrize("damage", ["flip", "cut", "lose"])
def test_damaged_files_are_passed_over(tmp_path: Path, suffix: str, damage: str) -> None:
    _filled(tmp_path)
    (path,) = tmp_path.glob(f"vectors-*{suffix}")
    held = path.read_bytes()
    if damage == "lose":
        path.unlink()
    else:
        path.write_bytes(held[:-1] if damage == "cut" else bytes([held[0] ^ 1]) + held[1:])
    again = VectorFile(tmp_path, STATE, 5)
    assert (len(again.rows), again.last_row) == (0, -1)
    again.append(_rows(1), _vectors(0.1), last_row=1, generation=5)
    assert VectorFile(tmp_path, STATE, 5).rows.tolist() == [1]
    assert len(list(tmp_path.glob("vectors-*"))) == 2  # the damaged ones are gone


@pytest.mark.parametrize("damage", ["flip", "cut"])
@pytest.mark.parametrize("suffix", [".rows", ".f32"])
def test_of_many_vectors_all_but_their_bytes_is_checked(
    tmp_path: Path, suffix: str, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _filled(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(vector_file, "_MAX_BYTES_TO_CHECK", 0)
        VectorFile(tmp_path, STATE, 5).append(_rows(6), _vectors(0.6), last_row=6, generation=6)
        assert VectorFile(tmp_path, STATE, 6).rows.tolist() == [2, 4, 6]
    assert VectorFile(tmp_path, STATE, 6).rows.tolist() == [2, 4, 6]  # its checksums are right
    monkeypatch.setattr(vector_file, "_MAX_BYTES_TO_CHECK", 0)
    (path,) = tmp_path.glob(f"vectors-*{suffix}")
    held = path.read_bytes()
    path.write_bytes(held[:-1] if damage == "cut" else bytes([held[0] ^ 1]) + held[1:])
    noticed = len(VectorFile(tmp_path, STATE, 6).rows) == 0
    assert noticed is not (suffix == ".f32" and damage == "flip")


@pytest.mark.parametrize(
    ("state", "generation"),
    [(STATE._replace(revision=2), 5), (STATE._replace(name="other"), 5), (STATE, 4)],
)
def test_files_of_other_vectors_or_a_later_truth_are_passed_over(
    tmp_path: Path, state: EmbeddingState, generation: int
) -> None:
    _filled(tmp_path)
    assert len(VectorFile(tmp_path, state, generation).rows) == 0


def test_a_stamp_may_not_name_a_file_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    _filled(tmp_path / "here")
    stamp = tmp_path / "here" / "vectors.stamp.json"
    content = json.loads(stamp.read_text())
    for path in (tmp_path / "here").glob("vectors-*"):
        path.rename(tmp_path / path.name)
    stamp.write_text(json.dumps(content | {"name": f"../{content['name']}"}))
    assert len(VectorFile(tmp_path / "here", STATE, 5).rows) == 0


def test_rewriting_leaves_out_and_keeps_what_others_have_mapped(tmp_path: Path) -> None:
    file = _filled(tmp_path)
    fresh = file.rewritten(np.array([False, True]), 6)
    assert (fresh.rows.tolist(), fresh.last_row) == ([4], 5)
    assert VectorFile(tmp_path, STATE, 6).matrix[:, 0].tolist() == pytest.approx([0.4])
    assert file.matrix[:, 0].tolist() == pytest.approx([0.2, 0.4])
    assert len(list(tmp_path.glob("vectors-*"))) == 2
    nothing = fresh.rewritten(np.array([False]), 6)
    assert (len(nothing.rows), nothing.last_row) == (0, 5)
