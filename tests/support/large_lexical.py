"""Damage a large lexical index (above 64 MB).

``python tests/support/large_lexical.py --cases 120 --place DIR`` makes one from generated text, or
takes the one that is there, and damages one file of a segment in each case. What is found is built
anew; that takes half a minute, so most cases end there.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from damage import DAMAGES, QUESTIONS, Outcome, in_child
from kept_results import KeptResults

from hebbgraph import HebbgraphError, HebbianIndex, Settings
from hebbgraph.derived.segments import inventory
from hebbgraph.derived.steps import Steps

_BYTES = 64_000_000
_SETTINGS = Settings(text_tags=False, batch_size=200)
_KINDS = ("flipped bits", "a block of zeros", "truncated", "content of another file")


class _FoundError(Exception):
    """It would be built anew now."""


def _chunks(first: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(first)
    for n in range(first, first + 200):
        words = " ".join(f"{rng.getrandbits(44):011x}" for _ in range(2000))
        text = f"Ida Moss built the Petrel with rope {n} at the harbour mill. {words}"
        yield {"id": f"c{n:05}", "title": f"Petrel {n}" if n % 9 == 0 else "", "text": text}


def make(place: Path) -> None:
    """Add chunks until the lexical index is large enough."""
    with HebbianIndex.open(place, settings=_SETTINGS) as index:
        first = 0
        while first == 0 or inventory(_lexical(place)).size <= _BYTES:
            index.add(_chunks(first))
            first += 200
        index.compact()


def _lexical(place: Path) -> Path:
    (found,) = (place / "derived").glob("*/lexical")
    return found


def _answers(index: HebbianIndex) -> list[Any]:
    recalls = [index.recall(question, k=12, id="asked") for question in QUESTIONS]
    return [[[hit.chunk.id, round(hit.score, 7)] for hit in one.hits] for one in recalls]


def _damaged_copy(place: Path, copy: Path, kind: str, *, seed: int) -> Path:
    """Copy an index, damage it, and return the file."""
    rng = random.Random(seed)
    shutil.copytree(place, copy, copy_function=os.link)
    lexical = _lexical(copy)
    files = sorted(inventory(lexical).files)
    file = lexical / files[seed % len(files)]
    content = file.read_bytes()
    file.unlink()  # else all copies would be damaged
    file.write_bytes(content)
    DAMAGES[kind](file, rng, [one for one in lexical.iterdir() if one.is_file()])
    return file


def _examine(copy: Path, expected: list[Any], *, rebuild: bool) -> Outcome:
    if not rebuild:

        def found(*_: object, **__: object) -> None:
            raise _FoundError

        Steps.advance_lexical = found  # type: ignore[method-assign]  # in a process of its own
    try:
        with HebbianIndex.open(copy, settings=_SETTINGS) as index:
            right = _answers(index) == expected
            detail = "; ".join(index.repairs)
    except _FoundError:
        return Outcome("found", found=True, mended=True)
    except HebbgraphError as error:
        return Outcome("told", found=True, mended=False, detail=f"{type(error).__name__}: {error}")
    said = "mended" if detail else "not found"
    return Outcome(f"right, {said}" if right else "wrong", bool(detail), right, detail)


def main() -> int:
    """Run as many cases as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=120)
    parser.add_argument("--rebuilds", type=int, default=4, help="build anew in so many of them")
    parser.add_argument("--place", type=Path, help="keep the index here, or take it from here")
    parser.add_argument("--results", type=Path, help="keep outcomes here, and go on from them")
    options = parser.parse_args()
    import rooms  # noqa: F401

    kept = KeptResults(options.results)
    counted: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=options.place and options.place.parent) as root:
        place = options.place or Path(root) / "index"
        if not place.exists():
            in_child(lambda: (make(place), Outcome("made", True, True))[1], seconds=3600)
        size = inventory(_lexical(place)).size
        assert size > _BYTES, f"{size} bytes are not large"
        answers = Path(root) / "answers.json"

        def ask() -> Outcome:
            with HebbianIndex.open(place, settings=_SETTINGS) as index:
                answers.write_text(json.dumps(_answers(index)))
            return Outcome("right", True, True)

        in_child(ask)
        expected = json.loads(answers.read_text())
        sys.stdout.write(f"{size / 1e6:.0f} MB\n")
        for n in range(options.cases):
            name, rebuild = _name(n), n < options.rebuilds
            suffix, answer, *_, detail = kept.of(
                name, _case, place, Path(root), expected, n, rebuild=rebuild
            )
            counted[answer] += 1
            if rebuild or _is_bad(answer):
                sys.stdout.write(f"{name}, {suffix}: {answer} {detail}\n")
                sys.stdout.flush()
    for answer, number in sorted(counted.items()):
        sys.stdout.write(f"{number} {answer}\n")
    return any(map(_is_bad, counted))


def _name(n: int) -> str:
    return f"{n}: {_KINDS[n % len(_KINDS)]}"


def _is_bad(answer: str) -> bool:
    bad = ("wrong", "crash", "hangs", "foreign error")
    return answer in bad or answer.endswith("not found")


def _case(place: Path, root: Path, expected: list[Any], n: int, *, rebuild: bool) -> list[Any]:
    copy, kind = root / f"case{n}", _KINDS[n % len(_KINDS)]
    file = _damaged_copy(place, copy, kind, seed=n // 4)
    try:
        if file.read_bytes() == (_lexical(place) / file.name).read_bytes():
            return [file.suffix, "right, as nothing changed", True, True, ""]
        work = functools.partial(_examine, copy, expected, rebuild=rebuild)
        return [file.suffix, *in_child(work, seconds=1200)]
    finally:
        shutil.rmtree(copy)


if __name__ == "__main__":
    sys.exit(main())
