from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest

from hebbgraph.errors import StorageError
from hebbgraph.manifest import Manifest
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.history import Commit
from hebbgraph.vectors import file as vector_file
from hebbgraph.vectors.file import VectorFile

STATE = EmbeddingState("model", 3, "float16")


def _known(commit: Commit) -> bool:
    return commit.mark == 7


def _cannot_be_asked(commit: Commit) -> bool:
    raise StorageError("the database cannot be asked")


def _rows(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def _vectors(*values: float) -> np.ndarray:
    return np.repeat(np.array(values, dtype=np.float32)[:, None], 3, axis=1)


def _filled(directory: Path) -> VectorFile:
    file = VectorFile(directory, STATE, _known)
    file.append(_rows(2, 4), _vectors(0.2, 0.4), last_row=5, commit=Commit(5, 7))
    return file


def test_another_process_sees_appended_vectors(tmp_path: Path) -> None:
    writer = _filled(tmp_path)
    reader = VectorFile(tmp_path, STATE, _known)
    assert (reader.rows.tolist(), reader.last_row) == ([2, 4], 5)
    writer.append(_rows(7), _vectors(0.7), last_row=9, commit=Commit(6, 7))
    assert reader.rows.tolist() == [2, 4]  # it has what it mapped
    reader.refresh()
    assert (reader.rows.tolist(), reader.last_row) == ([2, 4, 7], 9)
    assert reader.matrix[:, 0].tolist() == pytest.approx([0.2, 0.4, 0.7])
    assert not reader.matrix.flags.writeable


def test_rows_without_vectors_are_read_once(tmp_path: Path) -> None:
    file = VectorFile(tmp_path, STATE, _known)
    file.append(_rows(), _vectors(), last_row=8, commit=Commit(1, 7))
    assert VectorFile(tmp_path, STATE, _known).last_row == 8
    file.append(_rows(9), _vectors(0.9), last_row=9, commit=Commit(2, 7))
    assert VectorFile(tmp_path, STATE, _known).rows.tolist() == [9]


def test_bytes_beyond_the_manifest_are_ignored(tmp_path: Path) -> None:
    _filled(tmp_path)
    for path in tmp_path.glob("vectors-*"):
        with path.open("ab") as file:
            file.write(b"torn")
    again = VectorFile(tmp_path, STATE, _known)
    assert again.rows.tolist() == [2, 4]
    again.append(_rows(6), _vectors(0.6), last_row=6, commit=Commit(6, 7))
    assert VectorFile(tmp_path, STATE, _known).rows.tolist() == [2, 4, 6]


@pytest.mark.parametrize("suffix", [".rows", ".f32"])
@pytest.mark.parametrize("damage", ["flip", "cut", "lose"])
def test_damaged_files_are_ignored(tmp_path: Path, suffix: str, damage: str) -> None:
    _filled(tmp_path)
    (path,) = tmp_path.glob(f"vectors-*{suffix}")
    held = path.read_bytes()
    if damage == "lose":
        path.unlink()
    else:
        path.write_bytes(held[:-1] if damage == "cut" else bytes([held[0] ^ 1]) + held[1:])
    again = VectorFile(tmp_path, STATE, _known)
    assert (len(again.rows), again.last_row) == (0, -1)
    again.append(_rows(1), _vectors(0.1), last_row=1, commit=Commit(5, 7))
    assert VectorFile(tmp_path, STATE, _known).rows.tolist() == [1]
    assert len(list(tmp_path.glob("vectors-*"))) == 2  # the damaged ones are gone


@pytest.mark.parametrize("damage", ["flip", "cut"])
@pytest.mark.parametrize("suffix", [".rows", ".f32"])
def test_checksums_of_many_vectors_are_skipped(
    tmp_path: Path, suffix: str, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _filled(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(vector_file, "_MAX_BYTES_TO_CHECK", 0)
        VectorFile(tmp_path, STATE, _known).append(
            _rows(6), _vectors(0.6), last_row=6, commit=Commit(6, 7)
        )
        assert VectorFile(tmp_path, STATE, _known).rows.tolist() == [2, 4, 6]
    assert VectorFile(tmp_path, STATE, _known).rows.tolist() == [2, 4, 6]  # its checksums are right
    monkeypatch.setattr(vector_file, "_MAX_BYTES_TO_CHECK", 0)
    (path,) = tmp_path.glob(f"vectors-*{suffix}")
    held = path.read_bytes()
    path.write_bytes(held[:-1] if damage == "cut" else bytes([held[0] ^ 1]) + held[1:])
    noticed = len(VectorFile(tmp_path, STATE, _known).rows) == 0
    assert noticed is not (suffix == ".f32" and damage == "flip")


@pytest.mark.parametrize(
    "state", [STATE._replace(revision=2), STATE._replace(name="other"), STATE._replace(mark=3)]
)
def test_files_of_other_models_are_ignored(tmp_path: Path, state: EmbeddingState) -> None:
    _filled(tmp_path)
    file = VectorFile(tmp_path, state, _known)
    assert (len(file.rows), file.problem) == (0, None)


def test_files_of_another_history_are_ignored(tmp_path: Path) -> None:
    _filled(tmp_path)
    file = VectorFile(tmp_path, STATE, lambda commit: commit != Commit(5, 7))
    assert (len(file.rows), file.problem) == (0, "not of this database")


def test_a_failing_database_is_no_damage(tmp_path: Path) -> None:
    _filled(tmp_path)
    with pytest.raises(StorageError, match="asked"):
        VectorFile(tmp_path, STATE, _cannot_be_asked)


def test_mapped_bytes_are_never_overwritten(tmp_path: Path) -> None:
    """An older manifest was put back: the next append starts new files."""
    file = _filled(tmp_path)
    stamp = (tmp_path / "vectors.manifest.json").read_bytes()
    file.append(_rows(6, 7), _vectors(0.6, 0.7), last_row=7, commit=Commit(6, 7))
    (tmp_path / "vectors.manifest.json").write_bytes(stamp)
    other = VectorFile(tmp_path, STATE, _known)
    assert other.rows.tolist() == [2, 4]
    other.append(_rows(7), _vectors(0.7), last_row=7, commit=Commit(7, 7))
    assert other.name != file.name
    assert VectorFile(tmp_path, STATE, _known).rows.tolist() == [2, 4, 7]
    assert file.rows.tolist() == [2, 4, 6, 7]


@pytest.mark.parametrize("n_writes", range(4))
def test_rewriting_that_fails_changes_nothing(
    tmp_path: Path, n_writes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_file, "_BLOCK", 1)
    file = _filled(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    left = iter(range(n_writes))

    def fsync(descriptor: int) -> None:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr("os.fsync", fsync)
    with pytest.raises(OSError, match="full"):
        file.rewritten(file.rows, file.matrix, last_row=5, commit=Commit(6, 7))
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert VectorFile(tmp_path, STATE, _known).rows.tolist() == [2, 4]


def test_a_manifest_may_not_name_a_file_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    _filled(tmp_path / "here")
    path = tmp_path / "here" / "vectors.manifest.json"
    manifest = Manifest.read(path, 3)
    assert manifest is not None
    for file in (tmp_path / "here").glob("vectors-*"):
        file.rename(tmp_path / file.name)
    files = {f"../{name}": held for name, held in manifest.files.items()}
    manifest._replace(files=files).write(path, 3)
    assert len(VectorFile(tmp_path / "here", STATE, _known).rows) == 0


def test_rewriting_keeps_mapped_files_readable(tmp_path: Path) -> None:
    file = _filled(tmp_path)
    fresh = file.rewritten(file.rows[1:], file.matrix[1:], last_row=5, commit=Commit(6, 7))
    assert (fresh.rows.tolist(), fresh.last_row) == ([4], 5)
    assert VectorFile(tmp_path, STATE, _known).matrix[:, 0].tolist() == pytest.approx([0.4])
    assert file.matrix[:, 0].tolist() == pytest.approx([0.2, 0.4])
    assert len(list(tmp_path.glob("vectors-*"))) == 2
    nothing = fresh.rewritten(fresh.rows[:0], fresh.matrix[:0], last_row=5, commit=Commit(6, 7))
    assert (len(nothing.rows), nothing.last_row) == (0, 5)
