"""Precision of tags: occurrences drawn at random and judged blind.

``python -m hebbgraph_bench.tagging.precision draw`` draws occurrences (a tag of a chunk) with the
installed hebbgraph, so *before* and *after* come from two checkouts. ``shuffle`` mixes them into
one sheet that hides the source of each line. A judge writes down the numbers of the bad ones, by
the rule in docs/taggers.md. ``join`` converts them into the verdicts stored in this package, and
``report`` counts those. Verdicts contain ids of chunks and hashes of tags, but no text.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from hebbgraph import Chunk, HebbianIndex
from hebbgraph.text import display, tokenize
from hebbgraph_documents import Document, split_document
from rich.console import Console

from hebbgraph_bench.datasets import load
from hebbgraph_bench.output import Output
from hebbgraph_bench.tables import Grid

__all__ = ["VERDICTS", "draw", "interval", "join", "report", "shuffle"]

VERDICTS = Path(__file__).with_name("verdicts.jsonl")
_LARGEST_SOURCE = 120_000  # bytes
_AROUND = 60  # characters of context on either side

Line: TypeAlias = dict[str, Any]


def corpus(path: Path) -> list[Chunk]:
    """Read an evaluation set, or else a folder of Python sources as plain files."""
    if (path / "corpus.jsonl").exists():
        return [chunk for chunk in load(path).corpus if chunk.text.strip() or chunk.title.strip()]
    chunks = []
    for folder in ("", "asyncio", "email", "json"):
        for file in sorted((path / folder).glob("*.py")):
            if file.stat().st_size < _LARGEST_SOURCE:
                text = file.read_text("utf-8", "replace")
                document = Document(text, title=file.stem, media_type="text/plain")
                chunks += split_document(document, document_id=str(file.relative_to(path)))
    return chunks


def draw(path: Path, kind: str, count: int, seed: int = 0) -> list[Line]:
    """Draw occurrences of tags with equal probability, without links between chunks."""
    chunks = corpus(path)
    bare: dict[str, Any] = {
        name: () for name in ("addresses", "references") if name in Chunk.model_fields
    }
    by_id = {chunk.id: chunk.model_copy(update=bare) for chunk in chunks}
    with HebbianIndex.open(":memory:") as index:
        index.add(list(by_id.values()))
        graph = index.parts.derived.graph
        live = np.flatnonzero(graph.alive)
        owner, tags, _ = graph.tags_of(live)
        ids = index.parts.truth.ids(graph.rows[live].tolist())
        ids_of_live = [ids[row] for row in graph.rows[live].tolist()]
        occurrences = sorted(
            (ids_of_live[slot], graph.phrases.keys[tag])
            for slot, tag in zip(owner.tolist(), tags.tolist(), strict=True)
        )
    return [
        {
            "kind": kind,
            "set": path.name,
            "chunk": chunk,
            "tag": display(key),
            "context": _context(by_id[chunk], key),
        }
        for chunk, key in random.Random(seed).sample(occurrences, count)
    ]


def _context(chunk: Chunk, key: str) -> str:
    """Return the title, and the surroundings of the first mention."""
    pattern = r"[\W_]{0,3}".join(map(re.escape, tokenize(key)))
    match = re.search(rf"(?i)\b{pattern}", chunk.text)
    start, stop = (0, 0) if match is None else match.span()
    around = chunk.text[max(start - _AROUND, 0) : stop + _AROUND]
    return f"{chunk.title} // {' '.join(around.split())}"


def digest(line: Line) -> str:
    """Identify an occurrence without its text."""
    text = "\0".join((line["set"], line["chunk"], line["tag"]))
    return blake2b(text.encode(), digest_size=8).hexdigest()


def shuffle(arms: Iterable[Sequence[Line]], seed: int = 0) -> list[Line]:
    """Mix occurrences; one drawn in several arms becomes one line."""
    lines = list({digest(line): line for arm in arms for line in arm}.values())
    random.Random(seed).shuffle(lines)
    return sorted(lines, key=lambda line: str(line["kind"]))


def join(
    sheet: Sequence[Line], bad: Iterable[int], arms: Mapping[str, Sequence[Line]]
) -> list[Line]:
    """Return the verdicts: the arms of each line of the sheet, and whether it is good."""
    drawn = {name: {digest(line) for line in arm} for name, arm in arms.items()}
    rejected = set(bad)
    return [
        {
            "kind": line["kind"],
            "set": line["set"],
            "chunk": line["chunk"],
            "tag": blake2b(str(line["tag"]).encode(), digest_size=8).hexdigest(),
            "drawn": [name for name, digests in drawn.items() if digest(line) in digests],
            "good": number not in rejected,
        }
        for number, line in enumerate(sheet)
    ]


def interval(good: int, count: int) -> tuple[float, float]:
    """Return the 95 % Wilson interval of a share.

    Examples
    --------
    >>> [round(bound, 2) for bound in interval(9, 10)]
    [0.6, 0.98]
    """
    z = 1.96
    centre = (good + z * z / 2) / (count + z * z)
    spread = z * math.sqrt(good * (count - good) / count + z * z / 4) / (count + z * z)
    return centre - spread, centre + spread


def report(verdicts: Sequence[Line]) -> Iterator[tuple[str, str, str, str]]:
    """Yield a row per kind and arm: precision with its interval, and the number judged."""
    for kind in sorted({line["kind"] for line in verdicts}):
        for arm in sorted({name for line in verdicts for name in line["drawn"]}, reverse=True):
            judged = [
                line["good"] for line in verdicts if line["kind"] == kind and arm in line["drawn"]
            ]
            low, high = interval(sum(judged), len(judged))
            share = sum(judged) / len(judged)
            yield kind, arm, f"{share:.3f} [{low:.3f}, {high:.3f}]", str(len(judged))


def _read(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _write(path: Path, lines: Iterable[Line]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def main() -> None:
    """Run the command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("draw")
    command.add_argument("corpus", type=Path)
    command.add_argument("kind")
    command.add_argument("count", type=int)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("-o", "--output", type=Path, required=True)
    command = commands.add_parser("shuffle")
    command.add_argument("arms", type=Path, nargs="+")
    command.add_argument("-o", "--output", type=Path, required=True)
    command = commands.add_parser("join")
    command.add_argument("sheet", type=Path)
    command.add_argument("bad", type=Path, help="numbers of the bad lines, from 0")
    command.add_argument("arms", type=Path, nargs="+", help="the name of each file names its arm")
    command.add_argument("-o", "--output", type=Path, default=VERDICTS)
    command = commands.add_parser("report")
    command.add_argument("verdicts", type=Path, nargs="?", default=VERDICTS)
    command.add_argument(
        "--json", type=Path, help="write the figures to this JSON file, and Markdown beside it"
    )
    options = parser.parse_args()
    if options.command == "draw":
        lines = draw(options.corpus, options.kind, options.count, options.seed)
        with options.output.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    elif options.command == "shuffle":
        _write(options.output, shuffle(map(_read, options.arms)))
    elif options.command == "join":
        arms = {path.stem: _read(path) for path in options.arms}
        bad = map(int, options.bad.read_text().split())
        _write(options.output, join(_read(options.sheet), bad, arms))
    else:
        rows = list(report(_read(options.verdicts)))
        grid = Grid("Good tags", ("texts", "drawn", "share that is good", "judged"), rows)
        Output(options.json, Console()).tables([grid])


if __name__ == "__main__":
    main()
