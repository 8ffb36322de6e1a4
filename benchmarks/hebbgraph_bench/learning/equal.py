"""Check that ``hebbgraph bench --learning`` and ``usebench run`` give the same figures.

``python -m hebbgraph_bench.learning.equal FOLDER... [--embedder MODEL] [--to FILE]``

FOLDER contains sets by name. For each stream of the proof whose set exists, both commands run in
their own processes and every figure is compared exactly: means, values of each question,
differences with their intervals, and regret. Costs are ignored. The exit status is 1 if a figure
differs.
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
    """Measure a stream by both commands, and compare the figures.

    Parameters
    ----------
    path : Path
        The set.
    protocol : Protocol
    model : str, optional
        A sentence-transformers model for the systems with vectors. It must be all-MiniLM-L6-v2,
        which usebench's ``hebbgraph-minilm`` uses.
    at_most : int, optional
        Sample this many events.

    Returns
    -------
    dict
        Number of compared figures, and for each that differs its path and both values.
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
    use_figures = {
        path.replace(ours, OURS, 1): OURS if value == ours else value
        for path, value in use_figures.items()
    }
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
    """Return both values of each figure that differs or is missing from one side.

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
    """Run a command, and return its figures of the only set."""
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
    """Yield each figure with its path; systems go by name, costs are skipped."""
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
    """Compare each stream of the proof whose set exists; print and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--embedder", help="the path of all-MiniLM-L6-v2; no vectors without")
    parser.add_argument("--at-most", type=int, help="sample this many events of each set")
    parser.add_argument("--to", type=Path, help="write the result to this file, as JSON")
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
        sys.stderr.write(f"none of {', '.join(dict.fromkeys(p.set for p in PROTOCOLS))} exists\n")
    return int(not content["streams"] or any(stream["unequal"] for stream in content["streams"]))


if __name__ == "__main__":
    raise SystemExit(main())
