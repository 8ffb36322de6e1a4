"""Time recalls and indexing of two versions of the library in one run.

``python -m hebbgraph_bench.against OTHER SET... --chunks 6000 --chunks 200000`` takes another
checkout of this repository, for example a worktree at an older commit. Each version indexes the
same recombined chunks in its own process. Then each question goes to both versions in turn,
alternating which comes first. Ratios are of sums over all questions, with a bootstrap interval over
questions. Only one of the two processes works at a time, so other load on the machine affects both.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self

import hebbgraph
import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from hebbgraph_bench.datasets import Dataset, load
from hebbgraph_bench.scale.corpus import Recombined
from hebbgraph_bench.tables import Grid

__all__ = [
    "Speedup",
    "compare_versions",
    "main",
    "measure_indexing",
    "measure_recalls",
    "ratio_of_sums",
]

_DRAWS = 2000
_SRC = Path(hebbgraph.__file__).parents[1]

# Uses public names only, so it runs with any version. The parent compares the answers, too.
_CHILD = """
import gc, json, sys
from time import perf_counter, process_time
from hebbgraph import Chunk, HebbianIndex

task, directory, chunks = sys.argv[1:]

def elapsed(began):
    return process_time() - began[0], perf_counter() - began[1]

def now():
    return process_time(), perf_counter()

if task == "index":
    with open(chunks, encoding="utf-8") as lines:
        batch = [Chunk.model_validate_json(line) for line in lines]
    with HebbianIndex.open(directory) as index:
        began = now()
        index.add(batch)
        print(json.dumps(elapsed(began)))
else:
    with HebbianIndex.open(directory) as index:
        gc.collect()
        gc.freeze()
        print("ready", flush=True)
        for line in sys.stdin:
            began = now()
            recall = index.recall(json.loads(line), k=10)
            took = elapsed(began)
            hits = [[hit.chunk.id, round(hit.score, 9), hit.path_text] for hit in recall.hits]
            print(json.dumps([*took, hits]), flush=True)
"""


class Speedup(NamedTuple):
    """Speed relative to the other version: processor and wall time, with intervals."""

    what: str
    other_ms: float
    ms: float
    cpu: tuple[float, float, float]
    wall: tuple[float, float, float]
    different: int = 0


class _Version:
    """The library of one checkout, in a process that answers questions."""

    def __init__(self, source: Path, directory: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CHILD, "ask", str(directory), ""],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(source),
            text=True,
        )
        self._read()  # waits for "ready"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # closes stdin, which ends the process

    def ask(self, question: str) -> tuple[float, float, Any]:
        """Return processor seconds, seconds, and the hits."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        cpu, wall, hits = json.loads(self._read())
        return cpu, wall, hits

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.communicate()  # closes the pipes
            raise RuntimeError("the answering process has ended; see its error above")
        return line


def _environment(source: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}


def _index(source: Path, directory: Path, chunks: Path) -> tuple[float, float]:
    completed = subprocess.run(
        [sys.executable, "-c", _CHILD, "index", str(directory), str(chunks)],
        env=_environment(source),
        stdout=subprocess.PIPE,
        check=True,
    )
    cpu, wall = json.loads(completed.stdout)
    return cpu, wall


def measure_recalls(
    label: str, sources: Sequence[Path], paths: Sequence[Path], questions: Sequence[str],
    *, rounds: int = 5, seed: int = 0,
) -> Speedup:  # fmt: skip
    """Ask each question of both versions in turn.

    Parameters
    ----------
    what : str
    sources : two of Path
        Import paths of the other version, then of this one.
    paths : two of Path
        Their indexes, in the same order.
    questions : sequence of str
    rounds : int
    seed : int
    """
    different: set[str] = set()
    seconds = np.zeros((2, 2, len(questions)))  # processor or wall, version, question
    with _Version(sources[0], paths[0]) as other, _Version(sources[1], paths[1]) as this:
        for turn in range(-1, rounds):  # the first round warms up
            for number, question in enumerate(questions):
                answers: list[Any] = [None, None]
                for version in ((0, 1), (1, 0))[(turn + number) % 2]:
                    *spent, answers[version] = (other, this)[version].ask(question)
                    if turn >= 0:
                        seconds[:, version, number] += spent
                if answers[0] != answers[1]:
                    different.add(question)
    cpu, wall = (ratio_of_sums(by_version[0], by_version[1], seed) for by_version in seconds)
    each = 1e3 * seconds[0].mean(axis=1) / rounds
    return Speedup(label, float(each[0]), float(each[1]), cpu, wall, len(different))


def measure_indexing(
    sources: Sequence[Path], chunks: Path, directory: Path, *, rounds: int = 3, seed: int = 0
) -> Speedup:
    """Index the same chunks with both versions, alternating which comes first."""
    seconds = np.zeros((2, 2, rounds))
    for turn in range(rounds):
        for version in ((0, 1), (1, 0))[turn % 2]:
            with TemporaryDirectory(dir=directory) as path:
                seconds[:, version, turn] = _index(sources[version], Path(path) / "index", chunks)
    size = chunks.stat().st_size / 1e6
    cpu, wall = (ratio_of_sums(by_version[0], by_version[1], seed) for by_version in seconds)
    each = 1e3 * seconds[0].mean(axis=1) / size
    return Speedup(f"indexing, ms a MB ({size:.0f} MB)", float(each[0]), float(each[1]), cpu, wall)


def ratio_of_sums(
    other: NDArray[np.float64], this: NDArray[np.float64], seed: int
) -> tuple[float, float, float]:
    """Return ``sum(other) / sum(this)``, and its 95 % bootstrap interval over pairs."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(this), (_DRAWS, len(this)))
    low, high = np.percentile(other[drawn].sum(axis=1) / this[drawn].sum(axis=1), [2.5, 97.5])
    return float(other.sum() / this.sum()), float(low), float(high)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__, prog="hebbgraph_bench.against")
    parser.add_argument("other", type=Path, help="another checkout of this repository")
    parser.add_argument("sets", nargs="+", type=Path, help="directories of evaluation sets")
    parser.add_argument(
        "--chunks", type=int, action="append", help="size of an index to recall from"
    )
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--indexing", type=int, default=0, help="chunks to index with both versions"
    )
    parser.add_argument("--keep", type=Path, help="keep indexes here for another run")
    options = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="hebbgraph-against-") as temporary:
        rows = compare_versions(
            options.other,
            [load(path) for path in options.sets],
            options.keep or Path(temporary),
            chunks=options.chunks or (),
            questions=options.questions,
            rounds=options.rounds,
            indexing=options.indexing,
        )
    _print(rows)


def compare_versions(
    other: Path,
    datasets: Sequence[Dataset],
    folder: Path,
    *,
    chunks: Sequence[int] = (),
    questions: int = 200,
    rounds: int = 5,
    indexing: int = 0,
) -> list[Speedup]:
    """Compare another checkout with this one.

    Parameters
    ----------
    other : Path
        The other checkout.
    datasets : sequence of Dataset
        Where sentences and questions come from.
    folder : Path
        Directory of the indexes; existing ones are used as they are.
    chunks : sequence of int
        Sizes of the indexes to recall from.
    questions, rounds : int
    indexing : int
        Number of chunks to index with both versions; 0 skips this.
    """
    sources = (other.resolve() / "src", _SRC)
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[Speedup] = []
    for n in chunks:
        corpus = Recombined(datasets, n)
        chunk_file = _write_chunks(corpus, folder)
        paths = [folder / f"other-{n}", folder / f"this-{n}"]
        for source, path in zip(sources, paths, strict=True):
            if not path.exists():
                _index(source, path, chunk_file)
        sample = corpus.questions(questions)
        label = f"recall, ms ({n:,} chunks)"
        rows.append(measure_recalls(label, sources, paths, sample, rounds=rounds))
    if indexing:
        chunk_file = _write_chunks(Recombined(datasets, indexing), folder)
        rows.append(measure_indexing(sources, chunk_file, folder))
    return rows


def _write_chunks(corpus: Recombined, folder: Path) -> Path:
    path = folder / f"chunks-{corpus.n}.jsonl"
    if not path.exists():
        with path.open("w", encoding="utf-8") as file:
            file.writelines(chunk.model_dump_json() + "\n" for chunk in corpus.chunks())
    return path


def _print(rows: Sequence[Speedup]) -> None:
    def spelled(ratio: tuple[float, float, float]) -> str:
        return f"{ratio[0]:.2f} ({ratio[1]:.2f}–{ratio[2]:.2f})"

    cells = [
        (
            row.what, f"{row.other_ms:.2f}", f"{row.ms:.2f}",
            spelled(row.cpu), spelled(row.wall), str(row.different),
        )
        for row in rows
    ]  # fmt: skip
    headings = ("", "other, CPU", "this, CPU", "times as fast, CPU", "wall", "answers that differ")
    Grid("Two versions", headings, cells).print(Console())


if __name__ == "__main__":
    main()
