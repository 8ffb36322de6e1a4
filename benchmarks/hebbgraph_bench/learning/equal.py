"""Whether ``hebbgraph bench --learning`` and ``usebench run`` tell the same of a set.

``python -m hebbgraph_bench.learning.equal FOLDER... [--embedder MODEL] [--to FILE]``

FOLDER holds sets by their names. Each stream of the proof whose set is there is measured by both
commands, in processes of their own, and every figure is compared to its last digit: means, values
of each question, differences with their intervals, and regret. What a run cost is left out. The
exit status is 1 if a figure differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from usebench.experiment import versions

from hebbgraph_bench.learning.use import OURS, SYSTEMS, VECTOR_SYSTEMS
from hebbgraph_bench.proof.use import PROTOCOLS, Protocol

__all__ = ["compare", "differing", "main"]

_MISSING = "missing"


def compare(
    path: Path, protocol: Protocol, *, model: str | None = None, at_most: int | None = None
) -> dict[str, Any]:
    """Measure a stream by both commands, and compare.

    Parameters
    ----------
    path : Path
        The set.
    protocol : Protocol
    model : str, optional
        A sentence-transformers model for what uses vectors; hebbgraph's own command has its
        system ``hebbgraph-minilm`` use it, so it is all-MiniLM-L6-v2.
    at_most : int, optional
        Draw so many events.

    Returns
    -------
    dict
        How many figures were compared, and which differ: the path of each, and what both say.
    """
    ours = OURS if model is None else f"{OURS}-minilm"
    names = [ours, *SYSTEMS, *(() if model is None else VECTOR_SYSTEMS)]
    stream = ["--order", protocol.order, "--frozen", "--feedback", protocol.feedback]
    bench = ["hebbgraph", "bench", str(path), "--learning", *stream]
    bench += [] if model is None else ["--embedder", model]
    bench += [] if at_most is None else ["--queries", str(at_most)]
    use = ["usebench", "run", str(path), *stream, "--systems", ",".join(names)]
    use += ["--no-unlearning", "--metric", "nDCG@10"]
    use += [] if model is None else ["--model", model]
    use += [] if at_most is None else ["--at-most", str(at_most)]
    bench_figures, use_figures = (dict(_figures(_run(command))) for command in (bench, use))
    use_figures = {path.replace(ours, OURS, 1): value for path, value in use_figures.items()}
    return {
        "set": protocol.set,
        "order": protocol.order,
        "feedback": protocol.feedback,
        "systems": [OURS, *names[1:]],
        "figures": len(bench_figures),
        "unequal": differing(bench_figures, use_figures),
    }


def differing(
    bench_figures: Mapping[str, Any], use_figures: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """Return what both say of each figure that is not the same, or not in both.

    Examples
    --------
    >>> differing({"a/R@5": 0.5, "b/R@5": 0.25}, {"a/R@5": 0.5, "b/R@5": 0.250001})
    {'b/R@5': [0.25, 0.250001]}
    """
    return {
        path: [bench_figures.get(path, _MISSING), use_figures.get(path, _MISSING)]
        for path in sorted(bench_figures.keys() | use_figures.keys())
        if bench_figures.get(path, _MISSING) != use_figures.get(path, _MISSING)
    }


def _run(command: Sequence[str]) -> dict[str, Any]:
    """Run a command, and return what it says of its only set."""
    with TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        completed = subprocess.run(
            [sys.executable, "-m", *command, "--json", str(result)],
            check=False,
            capture_output=True,
            text=True,
        )
        if completed.returncode:
            raise SystemExit(
                f"{' '.join(command)}: exit status {completed.returncode}\n{completed.stderr}"
            )
        result_of_set: dict[str, Any] = json.loads(result.read_text("utf-8"))["sets"][0]
    return result_of_set


def _figures(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Give each figure under a path; systems go by their names, and costs are left out."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name != "cost":
                yield from _figures(inner, f"{path}/{name}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            name = inner["name"] if isinstance(inner, dict) else place
            yield from _figures(inner, f"{path}/{name}")
    else:
        yield path, value


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare each stream of the proof whose set is there; print and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--embedder", help="the path of all-MiniLM-L6-v2; no vectors without")
    parser.add_argument("--at-most", type=int, help="events drawn of each set")
    parser.add_argument("--to", type=Path, help="where the result goes, as JSON")
    options = parser.parse_args(arguments)
    content: dict[str, Any] = {
        "versions": versions(),
        "model": None if options.embedder is None else Path(options.embedder).name,
        "at most": options.at_most,
        "streams": [],
    }
    for protocol in PROTOCOLS:
        path = next(
            (
                folder / protocol.set
                for folder in options.folders
                if (folder / protocol.set).is_dir()
            ),
            None,
        )
        if path is None:
            continue
        comparison = compare(path, protocol, model=options.embedder, at_most=options.at_most)
        content["streams"].append(comparison)
        sys.stdout.write(
            f"{comparison['set']}, {comparison['order']}, {comparison['feedback']}: "
            f"{comparison['figures']:,} figures, {len(comparison['unequal'])} differ\n"
        )
        sys.stdout.flush()
        if options.to is not None:
            options.to.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    if not content["streams"]:
        sys.stderr.write(f"none of {', '.join(dict.fromkeys(p.set for p in PROTOCOLS))} is there\n")
    return int(not content["streams"] or any(folder["unequal"] for folder in content["streams"]))


if __name__ == "__main__":
    raise SystemExit(main())
