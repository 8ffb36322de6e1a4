from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hebbgraph.errors import ParameterError, StorageError
from hebbgraph.records import Chunk

import hebbgraph_documents as documents
from hebbgraph_documents import ChunkSettings, DocumentIndex, ingest


class Shelf:
    """The index of these tests: a dict of chunks, and a list of what was written."""

    def __init__(self) -> None:
        self.fingerprints: dict[str, str] = {}
        self.chunks: dict[str, Chunk] = {}
        self.writes: list[tuple[str, str]] = []

    def document_fingerprints(self) -> dict[str, str]:
        return dict(self.fingerprints)

    def put_document(self, document_id: str, fingerprint: str, chunks: Sequence[Chunk]) -> None:
        self.fingerprints[document_id] = fingerprint
        fresh = {chunk.id: chunk for chunk in chunks}
        assert len(fresh) == len(chunks)
        for chunk in list(self.chunks.values()):
            if chunk.document_id == document_id and chunk.id not in fresh:
                del self.chunks[chunk.id]
                self.writes.append(("remove", chunk.id))
        for chunk in chunks:
            if self.chunks.get(chunk.id) != chunk:
                self.chunks[chunk.id] = chunk
                self.writes.append(("add", chunk.id))

    def delete(self, *, document_id: str) -> None:
        self.put_document(document_id, "", [])
        del self.fingerprints[document_id]


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    (root / "deep").mkdir(parents=True)
    (root / "brain.md").write_text("# The brain\n\nIt learns.\n\n## Memory\n\nIt lasts.\n")
    (root / "deep/sleep.txt").write_text("Sleep\n\nIt replays the day.")
    return root


SMALL = ChunkSettings(chunk_tokens=(1, 16))


def test_first_run_then_nothing_to_do(folder, shelf):
    index: DocumentIndex = shelf
    steps: list[tuple[int, int | None]] = []
    report = ingest([folder], index, on_progress=lambda done, of: steps.append((done, of)))
    ids = tuple(
        str((folder / name).resolve().as_posix()) for name in ("brain.md", "deep/sleep.txt")
    )
    assert report.indexed == ids
    assert report.chunks == len(shelf.chunks) == 2
    assert steps == [(1, 2), (2, 2)]
    assert {chunk.metadata["source"] for chunk in shelf.chunks.values()} == {
        (folder / "brain.md").as_posix(),
        (folder / "deep/sleep.txt").as_posix(),
    }
    shelf.writes.clear()
    again = ingest([folder], shelf)
    assert (again.indexed, again.skipped, shelf.writes) == ((), ids, [])


def test_only_the_chunks_that_changed_are_written(folder, shelf):
    ingest([folder], shelf, settings=SMALL)
    path = folder / "brain.md"
    path.write_text(path.read_text() + "\n\n")
    shelf.writes.clear()
    assert len(ingest([folder], shelf, settings=SMALL).indexed) == 1
    assert shelf.writes == []
    path.write_text(path.read_text().replace("It lasts.", "It fades."))
    ingest([folder], shelf, settings=SMALL)
    assert [kind for kind, _ in shelf.writes] == ["remove", "add"]


def test_other_settings_read_again(folder, shelf):
    ingest([folder], shelf)
    assert len(ingest([folder], shelf, settings=SMALL).indexed) == 2
    assert len(ingest([folder], shelf, settings=SMALL).skipped) == 2


def test_bad_files_stop_nothing_and_keep_what_was_known(folder, shelf, tmp_path):
    ingest([folder], shelf)
    (folder / "brain.md").write_bytes(b"\xff\xfe\x00")
    (folder / "bad.pdf").write_bytes(b"no pdf")
    (folder / "zero.docx").touch()
    (folder / "new.md").write_text("New.")
    report = ingest([folder, tmp_path / "gone"], shelf, prune=True)
    assert [Path(document_id).name for document_id in report.indexed] == ["new.md"]
    reasons = {Path(path).name: reason for path, reason in report.failed}
    assert list(reasons) == ["gone", "bad.pdf", "brain.md", "zero.docx"]
    assert reasons["zero.docx"] == "is empty"
    assert reasons["bad.pdf"].startswith("is damaged")
    assert report.removed == ()
    assert any("It learns." in chunk.text for chunk in shelf.chunks.values())


def test_a_missing_extra_fails_its_files_only(folder, shelf, monkeypatch):
    (folder / "a.html").write_text("<p>text")
    monkeypatch.setitem(sys.modules, "bs4", None)
    report = ingest([folder], shelf, limits=None)
    assert len(report.indexed) == 2
    assert 'pip install "hebbgraph[documents]"' in report.failed[0][1]


def test_prune_removes_what_is_gone_below_the_paths_only(folder, shelf, tmp_path):
    other = tmp_path / "docs-other"
    other.mkdir()
    (other / "a.md").write_text("Other.")
    ingest([folder, other], shelf)
    (folder / "deep/sleep.txt").unlink()
    (other / "a.md").unlink()
    report = ingest([folder], shelf)
    assert report.removed == ()
    assert [Path(document_id).name for document_id in report.gone] == ["sleep.txt"]
    report = ingest([folder], shelf, prune=True)
    removed = report.removed
    assert report.gone == ()
    assert [Path(document_id).name for document_id in removed] == ["sleep.txt"]
    assert (other / "a.md").resolve().as_posix() in shelf.fingerprints
    # A path that does not exist may be a drive that is not mounted.
    other.rmdir()
    assert ingest([other], shelf, prune=True).removed == ()


def test_nothing_outside_the_paths_is_deleted_whatever_its_bytes(folder, shelf, tmp_path):
    before = ingest([folder], shelf).indexed
    moved = folder.rename(tmp_path / "moved")  # or the first one is another machine's
    (moved / "deep/sleep.txt").unlink()
    report = ingest([moved], shelf, prune=True)
    assert (len(report.indexed), report.removed, report.gone) == (1, (), ())
    assert report.elsewhere == before[:1]  # of the other nobody knows whether it was moved
    copied = tmp_path / "copied"
    copied.mkdir()
    (copied / "brain.md").write_bytes((moved / "brain.md").read_bytes())
    assert ingest([copied], shelf, prune=True).elsewhere == before[:1]  # the other is still there
    assert len(shelf.fingerprints) == 4


def test_prune_keeps_what_an_empty_folder_held(folder, shelf, tmp_path):
    ingest([folder], shelf)
    folder.rename(tmp_path / "drive")
    folder.mkdir()  # where a drive was mounted, an empty folder remains
    report = ingest([folder], shelf, prune=True)
    assert report.removed == ()
    assert report.failed == ((folder.as_posix(), "is empty; is a drive missing?"),)
    assert len(shelf.fingerprints) == 2


def test_prune_keeps_files_that_are_there_but_not_asked_for(folder, shelf):
    ingest([folder], shelf)
    assert ingest([folder], shelf, suffixes=[".md"], prune=True).removed == ()
    (folder / "deep").rename(folder / "moved")
    assert len(ingest([folder], shelf, prune=True).removed) == 1


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may list every folder"
)
def test_prune_keeps_what_lies_in_a_folder_that_cannot_be_listed(folder, shelf):
    ingest([folder], shelf)
    (folder / "deep").chmod(0)
    try:
        report = ingest([folder], shelf, prune=True)
    finally:
        (folder / "deep").chmod(0o755)
    assert report.removed == ()
    assert report.failed[0][1] == "permission denied"


def test_prune_keeps_what_could_not_be_listed(folder, shelf, monkeypatch):
    ingest([folder], shelf)
    scandir = os.scandir

    def refuse(path):
        if Path(path).name == "deep":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(documents.walk.os, "scandir", refuse)
    report = ingest([folder], shelf, prune=True)
    assert report.removed == ()
    assert report.failed == (((folder / "deep").as_posix(), "permission denied"),)


def test_base_makes_ids_that_move_with_the_folder(folder, shelf, tmp_path):
    ingest([folder], shelf, base=tmp_path)
    assert list(shelf.fingerprints) == ["docs/brain.md", "docs/deep/sleep.txt"]
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    folder.rename(moved / "docs")
    shelf.writes.clear()
    assert len(ingest([moved / "docs"], shelf, base=moved).skipped) == 2
    (moved / "docs/brain.md").unlink()
    assert ingest([moved / "docs"], shelf, base=moved, prune=True).removed == ("docs/brain.md",)
    # Without one, the same files would be there twice; ids made under it mean nothing then.
    with pytest.raises(ParameterError, match=r"'docs/deep/sleep.txt' is indexed already"):
        ingest([moved], shelf)
    (moved / "docs/deep/sleep.txt").write_text("Sleep keeps what is new.")
    assert ingest([moved], shelf, prune=True).removed == ()
    with pytest.raises(ParameterError, match="outside base"):
        ingest([moved], shelf, base=moved / "docs/deep/none")


def test_ids_do_not_depend_on_how_the_path_is_written(folder, shelf, monkeypatch):
    ingest([folder], shelf)
    monkeypatch.chdir(folder)
    assert len(ingest([".", "../docs/brain.md"], shelf).skipped) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="names are Unicode elsewhere")
def test_a_name_that_is_not_utf8_is_reported(folder, shelf):
    with open(os.fsencode(folder) + b"/bad\xff.md", "wb") as file:
        file.write(b"text")
    report = ingest([folder], shelf)
    assert len(report.indexed) == 2
    assert report.failed[0][0].endswith("bad\\udcff.md")
    assert report.model_dump_json()


def test_errors_of_the_index_do_stop(folder, shelf):
    def refuse(*_):
        raise StorageError("no space")

    shelf.put_document = refuse
    with pytest.raises(StorageError):
        ingest([folder], shelf)
