"""Damage every file of an index, one way after the other, and see what becomes of it.

``python tests/support/damage.py --cases 2000`` prints the table of docs/operations.md. Each case
runs in a process of its own, so a crash and a hang are results like any other. Answers must be
those of the intact index (or, if the database itself is an older one, of that), or an error of
our tree; the doctor must find what is wrong, and mend what can be derived.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kept_results import KeptResults

from hebbgraph import HebbgraphError, HebbianIndex, Settings
from hebbgraph.derived.snapshot import load_snapshot

__all__ = ["Case", "Outcome", "cases_of", "examine", "in_child", "made", "table"]

QUESTIONS = ("Who built the Petrel?", "harbour mill rope", "Which ferry does Corin Vale keep?")
_SECONDS = 120.0
_PLACES = ["Gannet Point", "Tessel Bay", "Gull Rock", "Marrow Head"]
_PEOPLE = ["Ida Moss", "Corin Vale", "Ada Fenn", "Jon Hale"]
_SHIPS = ["Petrel", "Heron", "Auk", "Tern", "Plover"]


class Embedder:
    """Vectors from the letters of a text."""

    name = "letters"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0 + text.lower().count(letter) for letter in "aeioumnrst"]


def _open(place: Path, namespace: str = "default") -> HebbianIndex:
    return HebbianIndex.open(
        place, embedder=Embedder(), namespace=namespace, settings=Settings(write_wait_seconds=5.0)
    )


def _chunks(first: int, last: int) -> Iterator[dict[str, Any]]:
    for n in range(first, last):
        ship, person = _SHIPS[n % 5], _PEOPLE[n % 4]
        yield {
            "id": f"c{n:03}",
            "title": f"{ship} {n}" if n % 3 else "",
            "text": f"{person} built the {ship} at {_PLACES[n % 3]} with rope {n} and the mill. "
            f"The harbour of {_PLACES[(n + 1) % 4]} keeps ferry {n * 7 % 11} in winter.",
            "metadata": {"year": 1800 + n, "kind": "ship"},
        }


class Made(NamedTuple):
    """Two states of one index, and what each of them answers."""

    old: Path
    new: Path
    answers: dict[str, list[Any]]


def made(root: Path) -> Made:
    """Make an index of two namespaces; keep a copy of an earlier state."""
    new, old = root / "new", root / "old"
    for namespace in ("default", "other"):
        with _open(new, namespace) as index:
            index.keep_recalls()
            index.add(list(_chunks(0, 40)))
            index.add(list(_chunks(40, 60)))
            recall = index.recall(QUESTIONS[0], k=5, id="first")
            index.reinforce(recall, [recall.hits[2].chunk.id])
            index.colonies()
    shutil.copytree(new, old)
    with _open(new) as index:
        index.keep_recalls()
        index.add(list(_chunks(60, 90)))
        index.delete(["c003", "c041"])
        recall = index.recall(QUESTIONS[1], k=5, id="second")
        index.reinforce(recall, [recall.hits[1].chunk.id])
        index.colonies()
    answers: dict[str, list[Any]] = {}
    for name, place in (("old", old), ("new", new)):
        for rebuilt in (False, True):  # which no longer counts deleted chunks in BM25
            shutil.copytree(place, root / "asked")
            if rebuilt:
                shutil.rmtree(root / "asked" / "derived")
            with _open(root / "asked") as index:
                answers.setdefault(name, []).append(_answers(index))
            shutil.rmtree(root / "asked")
    assert answers["old"][0] != answers["new"][0]
    return Made(old, new, json.loads(json.dumps(answers)))


def _answers(index: HebbianIndex) -> dict[str, Any]:
    """Return what users see: hits with scores and texts, and every chunk."""
    recalls = [index.recall(question, k=12, id="asked") for question in QUESTIONS]
    return {
        "hits": [
            [
                [hit.chunk.id, round(hit.score, 7), hit.chunk.text, hit.chunk.title]
                for hit in one.hits
            ]
            for one in recalls
        ],
        "chunks": [[one.id, one.text, one.title, one.metadata] for one in index.get(index.ids())],
        "learned": [list(feedback.cited) for _, feedback in index.parts.log.after(0)],
    }


# -- damages -------------------------------------------------------------------------------


class Case(NamedTuple):
    """One damage of one file; ``seed`` draws where."""

    file: str
    damage: str
    seed: int


def _flip(path: Path, rng: random.Random, pool: Sequence[Path]) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 1, 8))):
        if content:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def _truncate(path: Path, rng: random.Random, pool: Sequence[Path]) -> None:
    os.truncate(path, rng.randrange(path.stat().st_size + 1))


def _zero(path: Path, rng: random.Random, pool: Sequence[Path]) -> None:
    content = bytearray(path.read_bytes())
    at = rng.randrange(len(content) + 1) // 512 * 512
    content[at : at + 512] = bytes(len(content[at : at + 512]))
    path.write_bytes(content)


def _remove(path: Path, rng: random.Random, pool: Sequence[Path]) -> None:
    path.unlink()


def _folder(path: Path, rng: random.Random, pool: Sequence[Path]) -> None:
    path.unlink()
    path.mkdir()
    (path / "in the way").touch()


def _longer(path: Path, rng: random.Random, pool: Sequence[Path]) -> None:
    with path.open("ab") as file:
        file.write(rng.randbytes(rng.randrange(1, 600)))


def _other_content(path: Path, rng: random.Random, pool: Sequence[Path]) -> None:
    """Take another file's content: of the same kind if there is one, of any age or namespace."""
    same = [one for one in pool if one.suffix == path.suffix and one.name != path.name]
    path.write_bytes(rng.choice(same or list(pool)).read_bytes())


def _older(path: Path, rng: random.Random, pool: Sequence[Path]) -> None:
    """Take the content of the same file, or of one of its kind, of the earlier state."""
    old = [one for one in pool if "/old/" in str(one)]
    same = [one for one in old if one.name == path.name] or [
        one for one in old if one.suffix == path.suffix
    ]
    path.write_bytes(rng.choice(same or old).read_bytes())


DAMAGES: dict[str, Callable[[Path, random.Random, Sequence[Path]], None]] = {
    "flipped bits": _flip,
    "truncated": _truncate,
    "a block of zeros": _zero,
    "removed": _remove,
    "a folder instead": _folder,
    "bytes at the end": _longer,
    "content of another file": _other_content,
    "an older file": _older,
}
#: Nobody reads what is in them.
_LOCKS = ("lock", ".lock")


def kind_of(file: str) -> str:
    """Return the row of the table that a file belongs to."""
    name = Path(file).name
    if "lexical" in file:
        return "lexical index: manifest and lists" if name.endswith(".json") else "lexical index"
    if name.startswith("vectors"):
        return "vectors"
    if name.startswith("truth"):
        return "database"
    if name.startswith("recalls"):
        return "recent recalls"
    return name.split(".")[0]


def shape_of(file: str) -> str:
    """Return the name of a file without what is random in it."""
    return re.sub(r"[0-9a-f]{12,}", "*", file)


def cases_of(made: Made, count: int, seed: int = 1) -> list[Case]:
    """Spread cases evenly over kinds of files, files of a kind, and damages."""
    files = sorted(
        str(path.relative_to(made.new))
        for path in made.new.rglob("*")
        if path.is_file() and not path.name.endswith(_LOCKS)
    )
    by_kind: dict[str, list[str]] = {}
    for file in files:
        by_kind.setdefault(kind_of(file), []).append(file)
    pairs = [itertools.cycle(itertools.product(some, DAMAGES)) for some in by_kind.values()]
    drawn = (Case(*next(pair), seed + n) for n, pair in enumerate(itertools.cycle(pairs)))
    return list(itertools.islice(drawn, count))


def whole_folders(made: Made) -> list[tuple[str, Callable[[Path], None]]]:
    """Mixes of whole folders: of another age, of another namespace."""

    def put(what: str, of: Path) -> Callable[[Path], None]:
        def work(place: Path) -> None:
            mine = _derived_of(place, "default") / what
            theirs = next(iter(sorted(of.glob(what)))) if "*" in what else of / what
            target = mine if "*" not in what else mine.parent / theirs.name
            if target.is_dir():
                shutil.rmtree(target)
            if theirs.is_dir():
                shutil.copytree(theirs, target)
            else:
                shutil.copyfile(theirs, target)

        return work

    old, other = _derived_of(made.old, "default"), _derived_of(made.new, "other")
    return [
        (f"{what} of {name}", put(what, of))
        for what in ("lexical", "graph.arrays", "colonies.arrays")
        for name, of in (("an earlier state", old), ("another namespace", other))
    ] + [
        (f"all derived parts of {name}", lambda place, of=of: _swap_all(place, of))
        for name, of in (("an earlier state", old), ("another namespace", other))
    ]


def _swap_all(place: Path, of: Path) -> None:
    mine = _derived_of(place, "default")
    shutil.rmtree(mine)
    shutil.copytree(of, mine)


def _derived_of(place: Path, namespace: str) -> Path:
    """Return the folder of a namespace: that of the other one has fewer generations."""
    folders = sorted((place / "derived").iterdir(), key=_generation_of)
    return folders[-1] if namespace == "default" else folders[0]


def _generation_of(folder: Path) -> int:
    graph = load_snapshot(folder)
    return 0 if graph is None else graph.generation


# -- verdicts ------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """What became of a case.

    ``answer`` is right, told (one of our errors) or wrong; ``found`` says whether the doctor
    found what was wrong, ``mended`` whether it and the answers were right afterwards.
    """

    answer: str
    found: bool
    mended: bool
    detail: str = ""

    @property
    def ok(self) -> bool:
        return self.answer in ("right", "told") and self.found and self.mended


def examine(made: Made, scratch: Path, damage: Callable[[Path], None], *, truth: bool) -> Outcome:
    """Damage a copy; ask it, have the doctor look at another copy, and mend it."""
    accepted = made.answers["new"] + (made.answers["old"] if truth else [])
    place, second = scratch / "asked", scratch / "doctored"
    shutil.copytree(made.new, place)
    damage(place)
    shutil.copytree(place, second)
    answer, detail = _asked(place, accepted)
    if answer == "right" and not truth:  # what it healed stays healed
        again, detail = _asked(place, accepted)
        answer = answer if again == "right" else f"wrong at the second opening: {detail}"
    found = mended = True
    try:
        with _open(second) as index:
            report = index.doctor(repair=True)
            clean = not report.findings and not index.repairs
        if clean or report.ok:
            after, said = _asked(second, accepted)
            # What it calls clean, or mended, has to answer rightly.
            mended = after == "right"
            found = mended or not clean
            detail = detail or said
            if mended:
                with _open(second) as index:
                    mended = not index.doctor().findings
        else:
            mended = truth  # a database needs a backup, and the report says so
            detail = detail or str(report.findings[0])
    except HebbgraphError as error:
        mended = truth
        detail = detail or f"doctor: {type(error).__name__}: {error}"
    return Outcome(answer, found, mended, detail)


def _asked(place: Path, accepted: list[Any]) -> tuple[str, str]:
    try:
        with _open(place) as index:
            answers = json.loads(json.dumps(_answers(index)))
    except HebbgraphError as error:
        return "told", f"{type(error).__name__}: {error}"
    if answers in accepted:
        return "right", ""
    off = [
        f"{name} ({_first_difference(answers[name], accepted[0][name])})"
        for name in answers
        if all(answers[name] != one[name] for one in accepted)
    ]
    return "wrong", f"other {', '.join(off) or 'mix of states'}"


def _first_difference(one: Any, other: Any) -> str:
    pairs = itertools.zip_longest(one, other)
    return next((f"{a!r:.150} for {b!r:.150}" for a, b in pairs if a != b), "")


def in_child(work: Callable[[], Outcome], seconds: float = _SECONDS) -> Outcome:
    """Run in a forked process, so that a crash or a hang is an outcome."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 2)
            try:
                outcome = work()
            except BaseException as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                told = f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
                outcome = Outcome("foreign error", False, False, told)
            os.write(writer, json.dumps(outcome).encode()[:60_000])
        finally:
            os._exit(0)
    os.close(writer)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.005)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reader)
        return Outcome("hangs", False, False)
    with os.fdopen(reader, "rb") as file:
        told = file.read()
    if not told:
        return Outcome("crash", False, False, f"status {status}")
    return Outcome(*json.loads(told))


def run(made: Made, case: Case, scratch: Path) -> Outcome:
    """Examine one case in a process of its own."""
    pool = [p for p in (*made.old.rglob("*"), *made.new.rglob("*")) if p.is_file()]

    def damage(place: Path) -> None:
        DAMAGES[case.damage](place / case.file, random.Random(case.seed), pool)

    return run_damage(made, damage, scratch, truth=kind_of(case.file) == "database")


def run_damage(
    made: Made, damage: Callable[[Path], None], scratch: Path, *, truth: bool = False
) -> Outcome:
    """Examine one damage in a process of its own."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    try:
        return in_child(lambda: examine(made, folder, damage, truth=truth))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def table(results: Sequence[tuple[str, Outcome]]) -> str:
    """Return the counts by kind of file, as Markdown."""
    kinds: dict[str, Counter[str]] = {}
    for kind, outcome in results:
        counted = kinds.setdefault(kind, Counter())
        counted["cases"] += 1
        counted[outcome.answer.split(":")[0].split(" ")[0]] += 1
        counted["missed"] += not outcome.found
        counted["unmended"] += not outcome.mended
    lines = [
        "| file | cases | right answers | one of our errors | wrong | foreign errors, crashes, "
        "hangs | missed by the doctor | not mended |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for kind, c in kinds.items():
        bad = c["foreign"] + c["crash"] + c["hangs"]
        lines.append(
            f"| {kind} | {c['cases']} | {c['right']} | {c['told']} | {c['wrong']} | {bad} | "
            f"{c['missed']} | {c['unmended']} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Run as many cases as the command line says, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", action="append", help="only such files: a row of the table")
    parser.add_argument("--results", type=Path, help="keep outcomes here, and go on from them")
    parser.add_argument("--table", type=Path, nargs="+", help="only print what is kept in these")
    options = parser.parse_args()
    if options.table:
        held = dict(json.loads(line) for one in options.table for line in one.open())
        told = [(_kind_in(name), Outcome(*outcome)) for name, outcome in held.items()]
        sys.stdout.write(f"{table(told)}\n")
        return any(not outcome.ok for _, outcome in told)
    import rooms  # noqa: F401

    results: list[tuple[str, Outcome]] = []
    kept = KeptResults(options.results)
    with tempfile.TemporaryDirectory() as root:
        ready = made_in_child(Path(root))

        def note(kind: str, name: str, work: Callable[..., Outcome], *args: Any) -> None:
            if not options.kind or kind in options.kind:
                results.append((kind, Outcome(*kept.of(name, work, *args))))
                _tell(name, results[-1][1])

        folders = whole_folders(ready)
        for what, damage in folders:
            note("whole folders", what, run_damage, ready, damage, Path(root))
        for case in cases_of(ready, options.cases - len(folders), options.seed):
            name = f"{shape_of(case.file)}: {case.damage}, {case.seed}"
            note(kind_of(case.file), name, run, ready, case, Path(root))
    sys.stdout.write(f"{table(results)}\n")
    return any(not outcome.ok for _, outcome in results)


def _kind_in(name: str) -> str:
    file, _, damage = name.partition(": ")
    return kind_of(file) if damage else "whole folders"


def made_in_child(root: Path) -> Made:
    """Make the indexes in another process, as threads of Tantivy do not survive a fork."""

    (root / "made").mkdir()
    child = os.fork()
    if child == 0:
        try:
            (root / "answers.json").write_text(json.dumps(made(root / "made").answers))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    answers = json.loads((root / "answers.json").read_text())
    return Made(root / "made" / "old", root / "made" / "new", answers)


def _tell(what: str, outcome: Outcome) -> None:
    if not outcome.ok:
        sys.stdout.write(f"{what}: {outcome}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
