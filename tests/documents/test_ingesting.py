"""Files and folders go into an index, and what is wrong with a file is reported."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ships import ByNumber

from hebbgraph import HebbianIndex
from hebbgraph.documents import Limits, convert, ingest, read
from hebbgraph.documents.document import Converter, place_of
from hebbgraph.errors import ConversionError, ParameterError, TaggingError


@pytest.fixture
def index() -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:") as opened:
        yield opened


def write(folder: Path, name: str, text: str | bytes = "It floats.") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


# -- places -------------------------------------------------------------------------------


def test_a_place_is_as_people_know_it(folder: Path) -> None:
    write(folder, "work/docs/a.md")
    write(folder, "other/docs/b.md")
    os.chdir(folder / "work")
    assert place_of("docs/a.md") == "docs/a.md"
    assert place_of(folder / "work/docs/a.md") == "docs/a.md"
    assert place_of("../other/docs") == "docs"
    assert place_of("../other/docs/b.md") == "docs/b.md"
    assert place_of("docs/a.md", base="docs") == "a.md"
    with pytest.raises(ConversionError, match="below the base"):
        place_of("../other", base="docs")


def test_no_absolute_path_is_stored(folder: Path, index: HebbianIndex) -> None:
    write(folder, "docs/a.md", f"# A\n\n[b](b.md#x) [c]({folder}/c.md) [d](file://{folder}/d.md)")
    write(folder, "docs/b.md", "# B\n\n[up](../../up.md)")
    ingest([folder / "docs"], index)
    for chunk in index.get(index.ids()):
        assert str(folder) not in f"{chunk.document_id}{chunk.addresses}{chunk.metadata}"
        assert not any(reference.startswith("/") for reference in chunk.references)
    assert sorted(index.documents()) == ["docs/a.md", "docs/b.md"]


def test_two_files_of_one_place_are_not_mixed(folder: Path, index: HebbianIndex) -> None:
    write(folder, "x/docs/a.md", "One.")
    write(folder, "y/docs/a.md", "Two.")
    here = folder / "elsewhere"
    here.mkdir()
    os.chdir(here)
    report = ingest([folder / "x/docs", folder / "y/docs"], index)
    assert "base" in report.skipped["docs/a.md"]
    report = ingest([folder / "x/docs", folder / "y/docs"], index, base=folder)
    assert report.documents == ("x/docs/a.md", "y/docs/a.md")


# -- again --------------------------------------------------------------------------------


def test_an_unchanged_file_is_skipped_and_a_changed_one_replaced(
    folder: Path, index: HebbianIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "docs/a.md", "# A\n\nOne.")
    write(folder, "docs/b.md", "# B\n\nTwo.")
    assert ingest(["docs"], index).documents == ("docs/a.md", "docs/b.md")
    write(folder, "docs/b.md", "# B\n\nThree.")
    report = ingest(["docs"], index)
    assert (report.documents, report.unchanged_documents) == (("docs/b.md",), 1)
    assert (report.added, report.deleted) == (1, 1)

    def fail(*_: object) -> None:
        raise AssertionError("an unchanged file is not converted")

    monkeypatch.setattr(Converter, "convert", fail)
    assert ingest(["docs"], index).unchanged_documents == 2


def test_a_document_that_was_interrupted_is_read_again(folder: Path) -> None:
    parts = [f"## Part {n}\n\n{'The boat sails. ' * 300}\n\n" for n in range(20)]
    write(folder, "docs/a.md", "".join(parts))
    answers: list[list[list[str]]] = [[[]] * 16]  # of a model that fails after one batch
    with HebbianIndex.open(":memory:", tagger=lambda _: answers.pop()) as index:
        with pytest.raises(TaggingError):
            ingest(["docs"], index)
        answers.append([[]] * 4)
        assert ingest(["docs"], index).added == 4
        assert ingest(["docs"], index).unchanged_documents == 1


def test_a_model_that_comes_later_gives_vectors(folder: Path) -> None:
    write(folder, "docs/a.md", "# A\n\nBoat 7.")
    for model, n_vectors in ((None, 0), (ByNumber(), 1)):
        with HebbianIndex.open(folder / "index", embedder=model) as index:
            assert ingest(["docs"], index).documents == ("docs/a.md",)
            assert index.stats()["vectors"] == n_vectors


def test_what_is_gone_goes_on_request_only(folder: Path, index: HebbianIndex) -> None:
    for name in ("docs/a.md", "docs/b.md", "more/c.md"):
        write(folder, name)
    ingest(["docs", "more"], index)
    (folder / "docs/a.md").unlink()
    (folder / "more/c.md").unlink()
    index.add([{"text": "Not from a file.", "document_id": "docs/mail"}])
    report = ingest(["docs"], index)
    assert report.missing == ("docs/a.md",)
    assert "docs/a.md" in index.documents()
    assert ingest(["docs"], index, delete_missing=True, dry_run=True).deleted == 0
    assert ingest(["docs"], index, delete_missing=True).deleted == 1
    assert list(index.documents()) == ["docs/b.md", "docs/mail", "more/c.md"]


def test_a_moved_folder_takes_its_documents_and_what_they_were_taught_with_it(
    folder: Path, index: HebbianIndex
) -> None:
    for name in ("ice", "salt", "herring"):
        write(folder, f"docs/{name}.md", f"# {name}\n\nThe {name} of Tessel Bay.")
    ingest(["docs"], index)
    recall = index.recall("What does Tessel Bay ship?")
    index.reinforce(recall, cited=[recall[-1].id])
    (folder / "old").mkdir()
    (folder / "docs").rename(folder / "old/docs")
    assert ingest(["old"], index, dry_run=True).moved[0] == "docs/herring.md"
    assert len(index.documents()) == 3
    report = ingest(["old"], index)
    assert (report.added, report.deleted, len(report.moved)) == (3, 3, 3)
    assert index.recall(recall.question)[0].document_id == f"old/{recall[-1].document_id}"
    write(folder, "docs/ice.md", (folder / "old/docs/ice.md").read_bytes())  # a copy is no move
    assert (ingest(["docs"], index).moved, len(index.documents())) == ((), 4)


def test_only_what_was_read_from_these_folders_can_be_missing(
    folder: Path, index: HebbianIndex
) -> None:
    for name in ("here/docs/a.md", "here/docs/gone.md", "here/.own/b.md", "other/docs/c.md"):
        write(folder, name)
    os.chdir(folder / "here")
    ingest([".own", "../other"], index)  # other/docs/c.md
    ingest(["../other/docs"], index)  # docs/c.md, which is no file here
    for place in ("docs/extra.md", "docs/gone/too.md"):
        index.refresh(convert(b"It was uploaded.", place).chunks())
    kept = [*index.documents(), "docs/a.md"]
    for paths in (["."], ["docs"], [folder / "here"]):
        write(folder, "here/docs/gone.md")
        ingest(paths, index)
        (folder / "here/docs/gone.md").unlink()
        report = ingest(paths, index, delete_missing=True)
        assert (report.missing, report.deleted) == (("docs/gone.md",), 1)
        assert sorted(index.documents()) == sorted(kept)


def test_an_upload_over_a_file_is_an_upload(folder: Path, index: HebbianIndex) -> None:
    file = write(folder, "docs/a.md")
    ingest(["docs"], index)
    index.refresh(convert(b"It floats.", "docs/a.md").chunks())
    file.unlink()
    assert ingest(["docs"], index, delete_missing=True).deleted == 0
    write(folder, "docs/a.md")
    assert ingest(["docs"], index).documents == ("docs/a.md",)
    file.unlink()
    assert ingest(["docs"], index, delete_missing=True).deleted == 1


@pytest.mark.parametrize("closed", ["docs/closed", "docs"])
def test_what_cannot_be_listed_is_not_gone(
    folder: Path, index: HebbianIndex, monkeypatch: pytest.MonkeyPatch, closed: str
) -> None:
    file = write(folder, "docs/closed/deep/a.md")
    ingest(["docs"], index)
    file.unlink()  # as nothing below can be seen
    scandir = os.scandir

    def refuse(path: str) -> object:
        if Path(path) == Path(closed):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refuse)
        report = ingest(["docs"], index, delete_missing=True)
    assert report.failed == {closed: "cannot be listed: permission denied"}
    assert (report.missing, list(index.documents())) == ((), ["docs/closed/deep/a.md"])
    assert ingest(["docs"], index, delete_missing=True).deleted == 1


def test_a_dry_run_says_what_would_be_read_and_changes_nothing(
    folder: Path, index: HebbianIndex
) -> None:
    for name in ("docs/a.md", "docs/b.md"):
        write(folder, name)
    ingest(["docs"], index)
    write(folder, "docs/b.md", "It sinks.")
    write(folder, "docs/c.md")
    report = ingest(["docs"], index, dry_run=True)
    assert report.documents == ("docs/b.md", "docs/c.md")
    assert (report.changed_documents, report.unchanged_documents, report.added) == (1, 1, 0)
    assert [chunk.text for chunk in index.get(index.ids())] == ["It floats."] * 2
    assert ingest(["docs"], index).documents == report.documents


def test_a_file_that_fails_keeps_its_former_passages(folder: Path, index: HebbianIndex) -> None:
    write(folder, "docs/a.csv", "name,cargo\nPetrel,ice\n")
    ingest(["docs"], index)
    write(folder, "docs/a.csv", '"name')
    report = ingest(["docs"], index, delete_missing=True)
    assert "as a table" in report.failed["docs/a.csv"]
    assert index.documents() == {"docs/a.csv": 1}
    write(folder, "docs/a.csv", "---\n")
    ingest(["docs"], index)
    assert index.documents() == {}


def test_a_file_that_is_not_read_counts_as_done(folder: Path, index: HebbianIndex) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            file.unlink()
    (folder / "a.md").write_text("Owls hunt voles at night.")
    (folder / "b.md").write_text("")
    seen: list[tuple[int, int]] = []
    ingest([folder], index, show_progress=lambda done, of: seen.append((done, of)))
    assert seen == [(1, 2), (2, 2)]


def test_an_upload_replaces_the_document_of_its_place(folder: Path, index: HebbianIndex) -> None:
    write(folder, "docs/ping.md", "# Ping\n\nOne.")
    ingest(["docs"], index)
    document = convert(b"# Ping\n\nTwo.", "docs/ping.md")
    assert index.documents() == {"docs/ping.md": 1}
    index.refresh(document.chunks())
    assert index.documents() == {"docs/ping.md": 1}
    assert index.get(index.ids())[0].text == "# Ping\n\nTwo."


# -- what is skipped ----------------------------------------------------------------------


def test_whatever_lies_in_a_folder_is_read_or_skipped_with_a_reason(
    folder: Path, index: HebbianIndex
) -> None:
    write(folder, "docs/a.md")
    write(folder, "docs/.secret.md")
    write(folder, "docs/.git/x.md")
    write(folder, "docs/node_modules/x.md")
    write(folder, "docs/empty.md", "")
    write(folder, "docs/binary.txt", b"\0\1\2")
    write(folder, "docs/huge.md", "x" * 5000)
    write(folder, "docs/picture.png", b"\x89PNG")
    write(folder, "docs/locked.md").chmod(0)
    write(folder, "docs/closed/x.md")
    (folder / "docs/loop").symlink_to(folder / "docs")
    (folder / "docs/gone.md").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "docs/pipe.md")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("docs/s.md")
    report = ingest(["docs"], index, limits=Limits(size=4000))
    skipped = {
        "docs/node_modules": "is made by a program",
        "docs/empty.md": "is empty",
        "docs/binary.txt": "is binary, not text",
        "docs/picture.png": "is of a kind that is not read",
        "docs/loop": "is a link",
        "docs/gone.md": "is a link",
    }
    assert report.skipped == skipped
    assert report.failed.pop("docs/huge.md") == "is larger than 4,000 bytes"
    assert report.failed.pop("docs/pipe.md") == "is not a regular file"
    assert report.failed.pop("docs/s.md") == "is not a regular file"
    if os.geteuid():
        assert report.failed.pop("docs/locked.md") == "cannot be read: permission denied"
    assert not report.failed
    assert {"docs/a.md", "docs/closed/x.md"} <= set(report.documents)


def test_a_mistyped_path_is_an_error(folder: Path, index: HebbianIndex) -> None:
    with pytest.raises(ParameterError, match="no file or folder typo"):
        ingest(["typo"], index)
    with pytest.raises(ConversionError, match=r"typo\.md: cannot be read: no such file"):
        read("typo.md")


def test_names_that_are_no_utf8_are_read(folder: Path, index: HebbianIndex) -> None:
    (folder / "docs").mkdir()
    try:
        Path(os.fsdecode(b"docs/caf\xe9.md")).write_text("It floats.")
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    assert ingest(["docs"], index).documents == ("docs/caf\ufffd.md",)


# -- limits -------------------------------------------------------------------------------


def test_what_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _break(tmp_path, monkeypatch, "import time\n    time.sleep(600)")
    with Converter(Limits(seconds=1.0)) as converter:
        with pytest.raises(ConversionError, match=r"slow\.md: took longer than 1 seconds"):
            converter.convert(b"x", "slow.md")
        converter.limits = Limits()
        assert converter.convert(b"It floats.", "a.txt").text == "It floats."


def test_what_takes_too_much_memory_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _break(tmp_path, monkeypatch, "return [bytearray(1 << 20) for _ in range(4000)]")
    with (
        Converter(Limits(memory=500 << 20)) as converter,
        pytest.raises(ConversionError, match="memory"),
    ):
        converter.convert(b"x", "slow.md")


def test_a_converter_that_dies_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _break(tmp_path, monkeypatch, "import os\n    os._exit(9)")
    with Converter() as converter:
        with pytest.raises(ConversionError, match="broke the converter"):
            converter.convert(b"x", "slow.md")
        assert converter.convert(b"It floats.", "a.txt").text == "It floats."


def test_files_of_a_folder_are_read_and_never_run(folder: Path) -> None:
    ran = folder / "ran"
    write(folder, "csv.py", f"open({str(ran)!r}, 'w').close()\nraise SystemExit")
    write(folder, "a.md")
    code = "import hebbgraph.cli; hebbgraph.cli.main(['index', '.'])"
    subprocess.run([sys.executable, "-Pc", code], check=True)
    assert not ran.exists()
    with HebbianIndex.open("memory.hebb") as made:
        assert set(made.documents()) == {"a.md", "csv.py"}


def test_what_needs_the_extra_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch, index: HebbianIndex
) -> None:
    (folder / "sitecustomize.py").write_text("import sys\nsys.modules['pypandoc'] = None")
    monkeypatch.syspath_prepend(folder)
    write(folder, "docs/a.rst", "It floats.")
    write(folder, "docs/b.md", "It floats.")
    report = ingest(["docs"], index)
    assert report.documents == ("docs/b.md",)
    assert 'pip install "hebbgraph[documents]"' in report.failed["docs/a.rst"]


def test_too_much_output_is_refused() -> None:
    with pytest.raises(ConversionError, match="more than 100 characters of text"):
        convert(b"It floats. " * 50, "a.txt", limits=Limits(output=100))


def _break(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Make the converting process run a body when it reads Markdown."""
    (folder / "sitecustomize.py").write_text(
        "import hebbgraph.documents.kinds as kinds\n"
        f"def slow(data, suffix):\n    {body}\n"
        "kinds._READERS['.md'] = slow\n"
    )
    monkeypatch.syspath_prepend(folder)


def test_control_c_ends_the_converting_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = "import os, time\n    open('pid', 'w').write(str(os.getpid()))\n    time.sleep(600)"
    _break(tmp_path, monkeypatch, wait)
    parent = subprocess.Popen(
        [sys.executable, "-c", "from hebbgraph.documents import convert; convert(b'x', 'a.md')"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    note = tmp_path / "pid"
    while not (note.exists() and note.read_text()):
        time.sleep(0.05)
    parent.send_signal(signal.SIGINT)
    parent.wait(30)
    assert not _runs(int(note.read_text()))


def _runs(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    return True


def test_threads_may_read_at_once() -> None:
    texts: list[str] = []
    threads = [
        threading.Thread(target=lambda: texts.append(convert(b"It floats.", "a.txt").text))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == ["It floats."] * 3
