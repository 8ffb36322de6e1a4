"""Broken files, full disks, clocks that go back: it opens, mends itself and says so."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import hebbgraph
from hebbgraph import (
    Chunk,
    DamagedIndexError,
    DiskFullError,
    HebbianIndex,
    ReadOnlyIndexError,
)
from hebbgraph.store.chunks import Outline

SOAK = bool(os.environ.get("HEBBGRAPH_SOAK"))
QUESTION = "Where was the builder of the Petrel born?"


def _hits(index: HebbianIndex) -> list[str]:
    return sorted(hit.chunk.id for hit in index.recall(QUESTION, k=8).hits)


# -- every file of the derived parts -------------------------------------------------------


def _truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    if content:
        content[len(content) // 2] ^= 0x24
    path.write_bytes(content)


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "in the way").touch()


def _remove(path: Path) -> None:
    path.unlink()


DAMAGES = (_truncate, _zero, _flip, _directory, _remove)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, corpus: list[Chunk]) -> Path:
    place = tmp_path_factory.mktemp("made") / "index"
    with HebbianIndex.open(place) as index:
        index.add(corpus[:5])
        index.add(corpus[5:])
        index.delete(["knots"])
        recall = index.recall(QUESTION, k=5)
        index.reinforce(recall, [recall.hits[1].chunk.id])
    return place


def _derived_files(place: Path) -> list[Path]:
    return sorted(path for path in (place / "derived").rglob("*") if path.is_file())


def _cases(place: Path) -> Iterator[tuple[Path, Callable[[Path], None]]]:
    """Every file with every damage; without soak, every third file with one or another."""
    files = [path.relative_to(place) for path in _derived_files(place)]
    cases = list(zip(files, itertools.cycle(DAMAGES), strict=False))
    yield from itertools.product(files, DAMAGES) if SOAK else cases[::3]


def test_each_derived_file_damaged_while_closed(
    made: Path, tmp_path: Path, assert_like_rebuilt: Callable[[HebbianIndex], None]
) -> None:
    names = sorted(["petrel", "heron", "moss", "vale", "bay", "point", "bare"])
    for n, (file, damage) in enumerate(_cases(made)):
        place = tmp_path / str(n)
        shutil.copytree(made, place)
        damage(place / file)
        told = f"{damage.__name__} {file}"
        with HebbianIndex.open(place) as index:
            assert _hits(index) == names, told
            index.add([{"id": "late", "title": "Ice", "text": "The ice trade ended."}])
            assert "late" in _hits(index), told
            if n % 5 == 0:
                assert_like_rebuilt(index)
            if file.name not in ("lock", ".managed.json") and file.suffix != ".lock":
                assert index.repairs, told
        with HebbianIndex.open(place) as index:
            assert "late" in _hits(index), told
            assert index.doctor().findings == (), told
            assert index.repairs == (), told
        shutil.rmtree(place)


def test_each_derived_file_damaged_while_another_process_reads(
    made: Path, tmp_path: Path, assert_like_rebuilt: Callable[[HebbianIndex], None]
) -> None:
    """What is mapped may turn to nonsense; the doctor tells, and repairs for all."""
    for n, (file, damage) in enumerate(_cases(made)):
        if damage in (_truncate, _zero, _flip) and file.name.endswith(
            (".arrays", ".idx", ".term", ".pos", ".fast", ".fieldnorm", ".store")
        ):
            continue  # a mapped file that shrinks or changes kills whoever reads it: no defence
        place = tmp_path / str(n)
        shutil.copytree(made, place)
        told = f"{damage.__name__} {file}"
        with HebbianIndex.open(place) as reader:
            assert len(_hits(reader)) == 7
            damage(place / file)
            with HebbianIndex.open(place) as other:
                other.add([{"id": "late", "title": "Ice", "text": "The ice trade ended."}])
                assert "late" in _hits(other), told
            assert "late" in _hits(reader), told
            if n % 5 == 0:
                assert_like_rebuilt(reader)
        shutil.rmtree(place)


def test_a_file_where_the_derived_folder_was(made: Path, tmp_path: Path) -> None:
    place = tmp_path / "index"
    shutil.copytree(made, place)
    shutil.rmtree(place / "derived")
    (place / "derived").write_text("in the way")
    with HebbianIndex.open(place) as index:
        assert len(_hits(index)) == 7
        assert index.repairs


# -- the database --------------------------------------------------------------------------


def _leaves(content: bytearray, marker: bytes) -> tuple[slice, slice]:
    """Return where two pages of the table lie that hold rows with this in their text."""
    leaf, size = 13, int.from_bytes(content[16:18], "big")
    pages = [
        slice(at, at + size)
        for at in range(size, len(content), size)
        if content[at] == leaf and content[at : at + size].count(marker) > 2
    ]
    return pages[1], pages[2]


def _empty(content: bytearray, one: slice, other: slice) -> None:
    content[one.start + 3 : one.start + 5] = bytes(2)  # how many rows there are


def _double(content: bytearray, one: slice, other: slice) -> None:
    content[other] = content[one]


def _swap(content: bytearray, one: slice, other: slice) -> None:
    content[one], content[other] = content[other], content[one]


@contextmanager
def _counted_rebuilds(
    index: HebbianIndex, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[HebbianIndex]]:
    done: list[HebbianIndex] = []
    start_over = index.parts.derived.start_over

    def counted(why: str) -> None:
        done.append(index)
        assert len(done) < 5, "it goes on for ever"
        start_over(why)

    with monkeypatch.context() as patch:
        patch.setattr(index.parts.derived, "start_over", counted)
        yield done


@pytest.mark.parametrize("damage", [_empty, _double, _swap])
def test_a_damaged_page_of_the_table(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    damage: Callable[[bytearray, slice, slice], None],
) -> None:
    """Indexes still list the rows that were on it."""
    make_index([{"id": f"c{n}", "text": f"Number {n}: gannets."} for n in range(80)]).close()
    place = tmp_path / "index" / "truth.sqlite3"
    content = bytearray(place.read_bytes())
    damage(content, *_leaves(content, b"gannets"))
    place.write_bytes(content)
    index = open_index()
    with _counted_rebuilds(index, monkeypatch) as done:
        for _ in range(2):
            with pytest.raises(DamagedIndexError, match="restore a backup"):
                index.recall("gannets", k=80)
        assert len(done) <= 2


def test_chunks_that_are_listed_and_cannot_be_read(
    make_index: Callable[..., HebbianIndex], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Building anew twice has to be enough; then the fault lies with the truth."""
    index = make_index()
    outlines, rows = index.parts.truth.outlines, index.parts.truth.rows_of(["petrel"])

    def without_one(wanted: Iterable[int]) -> dict[int, Outline]:
        return {row: told for row, told in outlines(wanted).items() if row != rows["petrel"]}

    with (
        monkeypatch.context() as patch,
        _counted_rebuilds(index, monkeypatch) as done,
    ):
        patch.setattr(index.parts.truth, "outlines", without_one)
        for _ in range(2):  # the second time it is known, and nothing is built
            with pytest.raises(DamagedIndexError, match="hebbgraph doctor"):
                index.recall("Petrel")
            assert len(done) == 2
    assert "petrel" in _hits(index)
    index.add(["A change gives it another chance."])
    assert "petrel" in _hits(index)


# -- the disk ------------------------------------------------------------------------------

_FULL = """
import errno, os, sys
from pathlib import Path
from hebbgraph import DiskFullError, HebbianIndex
place = Path(sys.argv[1])
index = HebbianIndex.open(place)
index.add([{"id": f"c{n}", "text": f"Ida Moss number {n}."} for n in range(20)])
recall = index.recall("Who is Ida Moss?", k=5)
filler = place.parent / "filler"
file = os.open(filler, os.O_WRONLY | os.O_CREAT)
try:
    while os.write(file, bytes(4096)):
        pass
except OSError as error:
    assert error.errno == errno.ENOSPC
os.close(file)
failed = 0
for n in range(40):
    try:
        index.add([{"id": f"more{n}", "text": "Ida Moss wrote a long letter. " * 400}])
    except DiskFullError as error:
        assert error.errno == errno.ENOSPC
        failed += 1
assert failed, "the disk never filled"
kept = {hit.chunk.id for hit in index.recall("Ida Moss", k=100).hits}
assert {f"c{n}" for n in range(20)} <= kept
for act in (
    lambda: index.reinforce(recall, [recall.hits[0].chunk.id]),
    lambda: index.delete(["c19"]),
    index.compact,
):
    try:
        act()
    except DiskFullError:
        pass
kept = {hit.chunk.id for hit in index.recall("Ida Moss", k=100).hits}
assert {f"c{n}" for n in range(19)} <= kept
filler.unlink()
index.reinforce(recall, [recall.hits[0].chunk.id])
index.add([{"id": "after", "text": "Ida Moss again."}])
assert index.parts.log.count() == 1
report = index.doctor(repair=True)
assert report.ok, report.findings
index.close()
with HebbianIndex.open(place) as index:
    held = {hit.chunk.id for hit in index.recall("Ida Moss", k=100).hits}
    assert held == kept | {"after"}, held ^ kept
    assert index.doctor().ok
"""


def _source() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(hebbgraph.__file__).parents[1])}


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or sys.platform != "linux",
    reason="mounting a small file system takes root on Linux",
)
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)],
        capture_output=True,
        text=True,
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount: {mounted.stderr.strip()}")
    try:
        done = subprocess.run(
            [sys.executable, "-c", _FULL, str(place / "index")],
            capture_output=True,
            text=True,
            env=_source(),
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-3000:]
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


_FILLED = """
import sys
from hebbgraph import DiskFullError, HebbianIndex
place, added = sys.argv[1], 0
class Lengths:
    name = "lengths"
    def embed_documents(self, texts):
        return [[len(text), text.count("4"), text.count("7")] for text in texts]
    def embed_query(self, text):
        return self.embed_documents([text])[0]
def embedded(place):
    return HebbianIndex.open(place, embedder=Lengths() if sys.argv[2] == "vectors" else None)
def chunk(n):
    words = " ".join(f"Word{(7 * n + 13 * k) % 5000} lantern" for k in range(60))
    return {"id": f"c{n}", "text": words, "metadata": {"n": n}}
with embedded(place) as index:
    try:
        while True:
            index.add([chunk(n) for n in range(added, added + 100)])
            added += 100
    except DiskFullError:
        pass
    assert added
    # All that was acknowledged is found, though nothing of it can be written any more.
    for n in (0, added - 1):
        assert [hit.chunk.id for hit in index.recall("lantern", where={"n": n}).hits] == [f"c{n}"]
    try:
        index.compact()
        raise AssertionError("compacted")
    except DiskFullError as error:
        print(error)
with embedded(place) as index:
    assert index.stats().chunks == added
    assert index.recall("lantern", where={"n": added - 1}).hits
"""


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or sys.platform != "linux",
    reason="mounting a small file system takes root on Linux",
)
@pytest.mark.parametrize("kind", ["words", "vectors"])
def test_recalls_go_on_when_the_disk_is_full(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("cannot mount")
    try:
        done = subprocess.run(
            [sys.executable, "-c", _FILLED, str(place / "index"), kind],
            capture_output=True,
            text=True,
            env=_source(),
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert "derived parts are kept in memory" in done.stderr
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_disk_full_between_commit_and_derived_parts(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
    monkeypatch: pytest.MonkeyPatch,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    index = make_index()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("hebbgraph.derived.lexical.LexicalIndex.update", full)
        patch.setattr("hebbgraph.derived.parts.save_snapshot", full)
        assert index.add([{"id": "late", "text": "Acknowledged."}]).added == 1
        index.close()
    index = open_index()
    assert index.recall("Acknowledged", k=1).hits[0].chunk.id == "late"
    assert_like_rebuilt(index)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or sys.platform != "linux",
    reason="mounting read-only takes root on Linux",
)
def test_a_disk_that_is_read_only(made: Path, tmp_path: Path) -> None:
    place = tmp_path / "mounted"
    place.mkdir()
    bound = subprocess.run(["mount", "--bind", str(made), str(place)], capture_output=True)
    if bound.returncode:
        pytest.skip("cannot mount")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)
        with HebbianIndex.open(place) as index:
            assert len(_hits(index)) == 7
            with pytest.raises(ReadOnlyIndexError):
                index.add(["more"])
            assert index.doctor().ok
    finally:
        # Lazily: arrays stay mapped for as long as somebody holds them.
        subprocess.run(["umount", "-l", str(place)], check=True)


# -- the clock -----------------------------------------------------------------------------


def test_a_clock_that_goes_back(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
    monkeypatch: pytest.MonkeyPatch,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    """Order comes from numbers that the database gives out, never from the clock."""
    index, other = make_index(), open_index()
    now = time.time()
    for days, one in ((0, index), (-400, other), (30, index), (-9000, other)):
        monkeypatch.setattr(time, "time", lambda days=days: now + days * 86_400)
        one.add([{"id": f"day{days}", "text": f"Ida Moss on day {days}."}])
        recall = one.recall("Ida Moss", k=20)
        one.reinforce(recall, [recall.hits[0].chunk.id])
    for one in (index, other):
        assert len(one.recall("Ida Moss", k=20).hits) == 12
        assert [event.recall_id for event in one.parts.memory.events] == [
            feedback.recall_id for _, feedback in one.parts.log.after(0)
        ]
        assert_like_rebuilt(one)
        assert one.doctor().ok


# -- between two commits -------------------------------------------------------------------


@contextmanager
def _dies_in(index: HebbianIndex, what: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    class Died(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(what, die)
        with pytest.raises(Died):
            yield


@pytest.mark.parametrize(
    "what",
    [
        "hebbgraph.derived.lexical.LexicalIndex.update",  # before Tantivy commits
        "hebbgraph.derived.lexical.record_segments",  # after it, before its generation is noted
        "hebbgraph.graph.tag_graph.TagGraph.commit",  # after both
    ],
)
def test_death_between_database_and_lexical_commit(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
    monkeypatch: pytest.MonkeyPatch,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
    what: str,
) -> None:
    index = make_index()
    index.recall("Petrel")
    with _dies_in(index, what, monkeypatch):
        index.add([{"id": "late", "title": "Chapel", "text": "A late word."}])
    other = open_index()
    for one in (other, index):
        assert one.recall("late word", k=1).hits[0].chunk.id == "late"
        assert len(one.parts.derived.lexical) == 9
        assert_like_rebuilt(one)
    assert other.doctor().ok


def test_disk_full_is_an_os_error_with_its_number() -> None:
    error = DiskFullError(errno.ENOSPC, "x")
    assert isinstance(error, OSError)
    assert error.errno == errno.ENOSPC
