"""Hostile files: each is converted or refused within its limits, and the next one follows."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from hostile_files import HOSTILE_BYTES, HOSTILE_PLACES

from hebbgraph_documents import ConversionLimits, IngestReport, ingest
from hebbgraph_documents.worker import convert_apart

# Small, because the point is that they hold. What a file says under them may depend on the
# speed of the machine: it is converted in time, or it is not.
SMALL = ConversionLimits(
    seconds=0.7, memory_bytes=250_000_000, output_characters=2_000_000, chunks=20_000
)
LIMITED = re.compile(
    r"takes longer than 0\.7 seconds to convert; "
    r"|takes more than 250,000,000 bytes of memory to convert; "
    r"|crashed the process that converts it \((SIG\w+|exit code \d+)\); "
    r"|gives more than [\d,]+ (characters|chunks)"
)

# These never get as far as a limit.
REFUSED = {
    "bomb.docx": "unpacks to 3,000,000,000 bytes, more than 1,000,000,000",
    "comments.html": "holds no text",
    "device.txt": "is not a regular file",
    "folder.pdf": "is empty",
    "empty.txt": "is empty",
    "locked.pdf": "needs a password",
    "loop.md": r"(?i)too many levels of symbolic links|symlink loop",
    "newlines.txt": "holds no text",
    "nul.txt": "looks binary",
    "parts.docx": "holds 11,003 parts, more than 10,000",
    "pipe.md": "is not a regular file",
    "tree.pdf": "is damaged",
    "unreadable.md": "permission denied",
    "utf16.txt": "looks binary",
    "xref.pdf": "is damaged",
}
DAMAGED = re.compile(r"is damaged or not really \.(html|docx|pdf): .")


class Shelf:
    """An index that remembers what was put."""

    def __init__(self) -> None:
        self.chunks: dict[str, int] = {}

    def document_fingerprints(self) -> dict[str, str]:
        return {}

    def put_document(self, document_id, fingerprint, chunks) -> None:
        self.chunks[document_id] = len(chunks)

    def delete(self, *, document_id: str) -> None:
        raise AssertionError


def check(name: str, path: Path) -> IngestReport:
    report = ingest([path], Shelf(), limits=SMALL)
    if report.failed:
        ((where, reason),) = report.failed
        assert where == path.as_posix()
        assert "\n" not in reason
        assert len(reason) < 2_500
        is_parsed = path.suffix in {".docx", ".html", ".pdf"}
        if name in REFUSED and not (is_parsed and LIMITED.match(reason)):
            assert re.search(REFUSED[name], reason)
        else:
            assert LIMITED.match(reason) or DAMAGED.match(reason), reason
    else:
        assert name not in REFUSED
        assert report.chunks <= SMALL.chunks
    good = path.with_name("good.html")
    good.write_text("<h1>Sleep</h1><p>It replays the day.")
    assert ingest([good], Shelf()).chunks == 1
    return report


@pytest.mark.parametrize("name", HOSTILE_BYTES)
def test_a_hostile_file_costs_no_more_than_it_may(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(HOSTILE_BYTES[name]())
    check(name, path)


@pytest.mark.parametrize("name", HOSTILE_PLACES)
def test_a_place_that_is_no_file_of_text(tmp_path, name):
    if name == "unreadable.md" and (not hasattr(os, "geteuid") or os.geteuid() == 0):
        pytest.skip("root may read every file")
    path = tmp_path / name
    try:
        HOSTILE_PLACES[name](path)
    except OSError as error:
        pytest.skip(f"cannot be made here: {error}")
    assert check(name, path).indexed == ()


def test_all_at_once_and_the_good_ones_between(tmp_path):
    names = ["bomb.docx", "bomb.pdf", "form.pdf", "laughs.docx", "locked.pdf", "lying.docx"]
    for name in names:
        (tmp_path / name).write_bytes(HOSTILE_BYTES[name]())
        (tmp_path / f"{name}-good.html").write_text(f"<p>After {name}.")
    shelf = Shelf()
    report = ingest([tmp_path], shelf, limits=ConversionLimits(memory_bytes=250_000_000))
    good = {Path(document_id).name for document_id in report.indexed}
    assert good >= {f"{name}-good.html" for name in names}
    assert len(report.indexed) + len(report.failed) == 2 * len(names)
    assert {Path(path).name for path, _ in report.failed} >= {"bomb.docx", "locked.pdf"}


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux")
def test_a_file_that_takes_too_much_memory_is_told(tmp_path):
    path = tmp_path / "a.html"
    path.write_bytes(b"<p title=x>a</p>" * 80_000)
    limits = ConversionLimits(memory_bytes=100_000_000)
    report = ingest([path], Shelf(), limits=limits)
    assert report.failed[0][1] == (
        "takes more than 100,000,000 bytes of memory to convert; split it, or raise the limit "
        "memory_bytes"
    )
    # What was left over is gone with the process.
    document = convert_apart(
        b"<p>It lasts.", path="a.html", max_bytes=100, encoding=None, limits=limits
    )
    assert document.text == "It lasts."


def test_output_is_limited(tmp_path):
    path = tmp_path / "a.html"
    path.write_bytes(b"<table><tr><td colspan=1000>a</table>" * 40)
    assert ingest([path], Shelf()).chunks > 0
    few = ingest([path], Shelf(), limits=ConversionLimits(output_characters=2_000))
    assert few.failed[0][1].startswith("gives more than 2,000 characters of text; ")
    few = ingest([path], Shelf(), limits=ConversionLimits(chunks=2))
    assert few.failed[0][1].startswith("gives more than 2 chunks; ")
    # A text no longer than its file is not too long.
    path.write_bytes(b"<p>It lasts.</p>" * 400)
    assert ingest([path], Shelf(), limits=ConversionLimits(output_characters=1)).chunks > 0
