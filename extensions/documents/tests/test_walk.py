from __future__ import annotations

import os
from pathlib import Path

import pytest

from hebbgraph_documents import discover, fingerprint

links = pytest.mark.skipif(os.name == "nt", reason="symbolic links need rights on Windows")


def names(found, root):
    return [file.path.relative_to(root).as_posix() for file in found]


def fill(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def test_order_kinds_and_hidden_files(tmp_path):
    fill(tmp_path, "b/z.txt", "b/a.MD", "a.md", "c.pdf", "d.png", "LICENSE", "x.tar.gz")
    fill(tmp_path, ".git/a.md", ".hidden.md", "b/.cache/x.md")
    found = discover([tmp_path])
    assert names(found, tmp_path) == ["a.md", "b/a.MD", "b/z.txt", "c.pdf"]
    assert found.unsupported == {"": 1, ".gz": 1, ".png": 1}
    assert names(discover(tmp_path, suffixes=[".PNG"]), tmp_path) == ["d.png"]


def test_what_is_named_is_taken_and_nothing_twice(tmp_path):
    fill(tmp_path, "b/z.txt", ".notes/a.md", "d.png")
    given = [tmp_path / "d.png", tmp_path / ".notes", tmp_path / "b/z.txt", tmp_path / "b"]
    assert names(discover(given), tmp_path) == ["d.png", ".notes/a.md", "b/z.txt"]


def test_missing_paths_are_told(tmp_path):
    found = discover([tmp_path / "gone", tmp_path])
    assert found.unreadable == [
        ((tmp_path / "gone").as_posix(), "no such file or directory"),
        (tmp_path.as_posix(), "is empty; is a drive missing?"),
    ]
    assert found.roots == []


@links
def test_links_are_not_followed_but_may_be_given(tmp_path):
    fill(tmp_path, "real/a.md")
    (tmp_path / "real/loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "real/b.md").symlink_to(tmp_path / "real/a.md")
    (tmp_path / "linked").symlink_to(tmp_path / "real", target_is_directory=True)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    found = discover([tmp_path / "linked"])
    assert names(found, tmp_path) == ["linked/a.md"]
    assert found.files[0].real == (tmp_path / "real/a.md").resolve()
    assert found.links == 2
    assert discover([tmp_path / "self"]).unreadable


def test_fingerprint():
    assert fingerprint(b"a") == fingerprint(b"a") != fingerprint(b"b")
    assert fingerprint(b"a", salt="x") != fingerprint(b"a") != fingerprint(b"\0a")


def test_packed_files_are_read_as_what_they_hold(tmp_path: Path) -> None:
    import gzip

    from hebbgraph.errors import ConversionError

    from hebbgraph_documents import read_document

    (tmp_path / "owls.md.gz").write_bytes(gzip.compress(b"# Owls\n\nThey sleep by day."))
    (tmp_path / "disk.img.gz").write_bytes(gzip.compress(b"x"))
    (tmp_path / "bomb.txt.gz").write_bytes(gzip.compress(b"owl " * 100_000))
    (tmp_path / "torn.txt.gz").write_bytes(gzip.compress(b"They sleep by day.")[:-9])
    found = discover([tmp_path])
    assert [file.path.name for file in found] == ["bomb.txt.gz", "owls.md.gz", "torn.txt.gz"]
    assert found.unsupported == {".gz": 1}
    document = read_document(tmp_path / "owls.md.gz")
    assert (document.title, document.media_type) == ("Owls", "text/markdown")
    with pytest.raises(ConversionError, match="unpacks to more than 9,999 bytes"):
        read_document(tmp_path / "bomb.txt.gz", max_bytes=9_999)
    with pytest.raises(ConversionError, match=r"damaged or not really \.gz"):
        read_document(tmp_path / "torn.txt.gz")
