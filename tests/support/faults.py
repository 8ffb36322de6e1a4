"""Disks that fail at the n-th write, and power that is cut there.

``python tests/support/faults.py --errors 300 --cuts 100`` runs so many points of each. A shim
(``fault_shim.c``), compiled where a compiler is found, makes the calls of one process fail: those
of Python, of SQLite and of Tantivy alike. After a power cut the index is what had been synced:
files as they were at their last ``fsync``, and in every other case folders, too.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from kept_results import KeptResults

from hebbgraph import HebbgraphError, HebbianIndex, Settings

__all__ = ["Disk", "missing"]

KINDS = {"no space": errno.ENOSPC, "I/O error": errno.EIO, "cut": 0}
QUESTION = "Who built the Petrel at Gannet Point?"
_SETTINGS = Settings(write_wait_seconds=2.0, batch_size=3)
_SHIM = Path(__file__).with_name("fault_shim.c")


class Embedder:
    """Vectors from the letters of a text."""

    name = "letters"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0 + text.lower().count(letter) for letter in "aeiounrst"]


def missing() -> str | None:
    """Say why there is no shim; None if there is one."""
    if sys.platform != "linux":
        return "the shim is for Linux"
    if shutil.which("cc") is None:
        return "no C compiler found"
    return None


# -- the work ------------------------------------------------------------------------------


def _text(id_: str, version: int) -> dict[str, Any]:
    ship = ("Petrel", "Heron", "Auk")[version % 3]
    return {
        "id": id_,
        "title": f"{ship} {id_}",
        "text": f"Ida Moss built the {ship} at Gannet Point, version {version} of {id_}.",
    }


#: What the process does, in order: each is one transaction.
STEPS: list[dict[str, Any]] = [
    {"add": ["a0", "a1", "a2"], "version": 1},
    {"reinforce": "r1"},
    {"add": ["b0", "b1", "b2"], "version": 2},
    {"delete": ["a1", "s3"]},
    {"add": ["a0", "s0", "s1"], "version": 3},
    {"colonies": True},
    {"reinforce": "r2"},
    {"reopen": True},
    {"add": ["c0", "c1", "c2"], "version": 4},
    {"compact": True},
    {"add": ["d0", "d1", "d2"], "version": 5},
    {"delete": ["b0"]},
]
START = {f"s{n}": 0 for n in range(8)}


def _open(place: Path) -> HebbianIndex:
    return HebbianIndex.open(place, embedder=Embedder(), settings=_SETTINGS)


def _work(place: Path, log: Path) -> None:
    """Do the steps; note each that was begun, acknowledged, refused, or failed otherwise."""

    def note(**what: Any) -> None:
        with log.open("a") as file:
            file.write(json.dumps(what) + "\n")

    index: HebbianIndex | None = None
    for number, step in enumerate([*STEPS, {"close": True}]):
        note(begun=number)
        try:
            if index is None:
                index = _open(place)
            _do(index, step)
            if "reopen" in step or "close" in step:
                index.close()
                index = None
            found = None if index is None else index.recall(QUESTION, k=50)
            note(done=number, held=None if found is None else [h.chunk.id for h in found.hits])
        except HebbgraphError as error:
            note(refused=number, error=f"{type(error).__name__}: {error}")
        except BaseException as error:
            note(foreign=number, error=f"{type(error).__name__}: {error}")


def _do(index: HebbianIndex, step: dict[str, Any]) -> None:
    if "add" in step:
        index.add([_text(id_, step["version"]) for id_ in step["add"]])
    elif "delete" in step:
        index.delete(step["delete"])
    elif "reinforce" in step:
        recall = index.recall(QUESTION, k=4, id=step["reinforce"])
        index.reinforce(recall, [recall.hits[0].chunk.id])
    elif "compact" in step:
        index.compact()
    elif "colonies" in step:
        index.colonies()


def _serve() -> None:
    """Fork a child for every line: it arms the shim, works, and ends."""
    shim = ctypes.CDLL(None)
    import rooms  # noqa: F401

    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        task = json.loads(line)
        child = os.fork()
        if child == 0:
            try:
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, 1)
                os.dup2(null, 2)
                shim.fault_arm(
                    task["place"].encode(),
                    task["shadow"].encode(),
                    ctypes.c_long(task["at"]),
                    ctypes.c_long(task["count"]),
                    task["errno"],
                )
                _work(Path(task["place"]), Path(task["log"]))
                shim.fault_points.restype = ctypes.c_long
                Path(task["log"] + ".points").write_text(str(shim.fault_points()))
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


# -- what is left --------------------------------------------------------------------------


def _allowed(lines: list[dict[str, Any]]) -> tuple[dict[str, set[int | None]], set[str], set[str]]:
    """Return the versions that each chunk may have, and which feedback must and may be there."""
    versions: dict[str, set[int | None]] = {id_: {v} for id_, v in START.items()}
    must: set[str] = set()
    may: set[str] = set()
    ended = {
        line[how]: how for line in lines for how in ("done", "refused", "foreign") if how in line
    }
    for number in (line["begun"] for line in lines if "begun" in line):
        step = (*STEPS, {})[number]
        sure = ended.get(number) == "done"
        # Whatever a refused call says, its transaction may have been committed before.
        for id_ in (*step.get("add", ()), *step.get("delete", ())):
            value = step.get("version")
            before = versions.setdefault(id_, {None})
            versions[id_] = {value} if sure else before | {value}
        if "reinforce" in step:
            may.add(step["reinforce"])
            if sure:
                must.add(step["reinforce"])
    return versions, must, may


class Disk:
    """A process on a disk that fails, and what is left of its index afterwards."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._made = root / "made"
        self._numbers = 0
        shim = root / "shim.so"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", "-w", "-o", shim, _SHIM, "-ldl"], check=True
        )
        made = subprocess.run(
            [sys.executable, __file__, "make", str(self._made)], check=True, capture_output=True
        )
        assert made.returncode == 0
        self._server = subprocess.Popen(
            [sys.executable, __file__, "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=os.environ | {"LD_PRELOAD": str(shim)},
        )
        assert self._server.stdout is not None
        assert self._server.stdout.readline() == "ready\n"

    def close(self) -> None:
        """End the process."""
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(60)

    @cached_property
    def points_known(self) -> int:
        """At how many points the work touches the disk."""
        with self._case() as folder:
            self._run(folder, at=0, count=0, number=0)
            return int((folder / "log.points").read_text())

    @contextmanager
    def _case(self) -> Iterator[Path]:
        folder = self.root / f"case{self._numbers}"
        self._numbers += 1
        folder.mkdir()
        (folder / "shadow").mkdir()
        shutil.copytree(self._made, folder / "index")
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    def _run(self, folder: Path, *, at: int, count: int, number: int) -> list[dict[str, Any]]:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        task = {
            "place": str(folder / "index"),
            "log": str(folder / "log"),
            "shadow": str(folder / "shadow"),
            "at": at,
            "count": count,
            "errno": number,
        }
        self._server.stdin.write(json.dumps(task) + "\n")
        code = int(self._server.stdout.readline())
        assert code in (0, 99), f"the process ended with {code}"
        return [json.loads(line) for line in (folder / "log").read_text().splitlines()]

    def fail(self, at: int, kind: str, count: int = 1, *, folders: bool = False) -> str:
        """Let so many calls fail, or cut the power; return "" or what was wrong then.

        ``folders``: what was not synced of a folder is lost, too.
        """
        with self._case() as folder:
            lines = self._run(folder, at=at, count=count, number=KINDS[kind])
            wrong = [line for line in lines if "foreign" in line]
            if wrong:
                return f"foreign error: {wrong[0]}"
            place = folder / "index"
            if kind == "cut":
                place = _after_power_cut(folder, folders=folders, seed=at)
            return _check_in_child(place, lines)


def _after_power_cut(folder: Path, *, folders: bool, seed: int) -> Path:
    """Return a copy of the index that holds what had been synced."""
    rng, made, shadow = random.Random(seed), folder / "after", folder / "shadow"
    start = {path.stat().st_ino: path for path in (folder / "index").rglob("*")}

    def content(number: int) -> bytes | None:
        synced, path = shadow / f"f{number}", start.get(number)
        if synced.exists():
            return synced.read_bytes()
        if path is None or not path.is_file():
            return None
        # Never synced in this run: it was there before, or lost all or most of its content.
        if (untouched := _untouched(folder, path)) is not None:
            return untouched
        return path.read_bytes()[: rng.choice((0, 0, 7))]

    def copy(source: Path, target: Path) -> None:
        target.mkdir()
        held = {path.name: path.stat().st_ino for path in source.iterdir()}
        listed = shadow / f"d{source.stat().st_ino}"
        if folders and listed.exists():
            pairs = (line.split(" ", 1) for line in listed.read_text().splitlines())
            held = {name: int(number) for number, name in pairs}
        for name, number in held.items():
            if name.endswith("-shm"):
                continue  # memory
            if (path := start.get(number)) is not None and path.is_dir():
                copy(path, target / name)
            elif (data := content(number)) is not None:
                (target / name).write_bytes(data)

    copy(folder / "index", made)
    return made


def _untouched(folder: Path, path: Path) -> bytes | None:
    """Return the content of a file that is as it was made; None if it was written since."""
    before = folder.parent / "made" / path.relative_to(folder / "index")
    if before.is_file() and before.read_bytes() == path.read_bytes():
        return path.read_bytes()
    return before.read_bytes() if before.is_file() else None


def _check_in_child(place: Path, lines: list[dict[str, Any]]) -> str:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            try:
                told = _checked(place, lines)
            except BaseException as error:
                told = f"{type(error).__name__}: {error}"
            os.write(writer, told.encode()[:4000])
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        told = file.read()
    _, status = os.waitpid(child, 0)
    return told or ("" if status == 0 else f"ended with {status}")


def _checked(place: Path, lines: list[dict[str, Any]]) -> str:
    """Return what is wrong with an index after these steps; empty if nothing is."""
    versions, must, may = _allowed(lines)
    with _open(place) as index:
        hits = {hit.chunk.id: hit.chunk.text for hit in index.recall(QUESTION, k=100).hits}
        held = {chunk.id: chunk.text for chunk in index.get(index.ids())}
        if hits != held:
            return f"a recall sees {sorted(hits)} of {sorted(held)}"
        for id_, allowed in versions.items():
            texts = {None if v is None else _text(id_, v)["text"] for v in allowed}
            if held.get(id_) not in texts:
                return f"{id_} is {held.get(id_)!r}, and may be {texts}"
        for step in STEPS:
            if "add" in step and step["add"] not in (["a0", "a1", "a2"], ["a0", "s0", "s1"]):
                there = [id_ in held for id_ in step["add"] if id_ != "b0"]
                if len(set(there)) > 1:
                    return f"half of a batch: {step['add']}"
        fed = {feedback.recall_id for _, feedback in index.parts.log.after(0)}
        if not must <= fed <= may:
            return f"feedback {fed}, and it must be {must}, may be {may}"
        if not (report := index.doctor(repair=True)).ok:
            return f"the doctor cannot mend {report.findings}"
        index.add([_text("late", 9)])
        scores = {hit.chunk.id: hit.score for hit in index.recall(QUESTION, k=100).hits}
    shutil.rmtree(place / "derived")
    with _open(place) as index:
        if index.doctor().findings:
            return f"after a rebuild: {index.doctor().findings}"
        index.compact()
        if (again := {h.chunk.id for h in index.recall(QUESTION, k=100).hits}) != scores.keys():
            return f"a rebuild finds {again}, not {sorted(scores)}"
    return ""


def main() -> int:
    """Run as many points as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--errors", type=int, default=300)
    parser.add_argument("--cuts", type=int, default=100)
    parser.add_argument("--results", type=Path, help="keep outcomes here, and go on from them")
    options = parser.parse_args()
    if reason := missing():
        sys.stdout.write(f"skipped: {reason}\n")
        return 0
    import rooms  # noqa: F401

    counted: Counter[tuple[str, bool]] = Counter()
    kept = KeptResults(options.results)
    with tempfile.TemporaryDirectory() as root:
        disk = Disk(Path(root))
        last = kept.of("points", lambda: disk.points_known)
        sys.stdout.write(f"{last} points\n")
        cases: list[tuple[int, str, int, bool]] = []
        for n in range(options.errors):
            kind = ("no space", "I/O error")[n % 2]
            cases.append((1 + n * last // options.errors, kind, (1, 40)[n // 2 % 2], False))
        cases += [(1 + n * last // options.cuts, "cut", 1, n % 2 == 1) for n in range(options.cuts)]
        for at, kind, count, folders in cases:
            case = f"point {at}, {kind} x {count}, folders={folders}"
            wrong = kept.of(case, disk.fail, at, kind, count, folders=folders)
            counted[kind, bool(wrong)] += 1
            if wrong:
                sys.stdout.write(f"{case}: {wrong}\n")
                sys.stdout.flush()
        disk.close()
    for (kind, wrong), number in sorted(counted.items()):
        sys.stdout.write(f"{kind}: {number} {'wrong' if wrong else 'right'}\n")
    return any(wrong for _, wrong in counted)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        _serve()
    elif sys.argv[1:2] == ["make"]:
        with _open(Path(sys.argv[2])) as made:
            made.add([_text(id_, 0) for id_ in START])
    else:
        sys.exit(main())
