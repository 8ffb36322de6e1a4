"""Print what each distribution and extra weighs, and what importing it costs: ``make sizes``.

With ``--store`` the rows go to ``benchmarks/results/sizes.json``, which docs/installing.md shows.

Sizes are those of the files that pip installs, without compiled bytecode, for this platform; what
an extra needs follows from the metadata of what is installed here. Times are processor time of a
fresh process in user mode, less that of one that imports nothing: the least of several, so that
other load counts little.
"""

from __future__ import annotations

import json
import platform
import resource
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from projects import FOLDERS, ROOT, module, package, project

RUNS = 3
KEPT = ROOT / "benchmarks" / "results" / "sizes.json"
#: Folder of each distribution, its packages, and what a program imports of it.
OWN = {
    project(folder)["name"]: (
        folder,
        package(folder),
        "hebbgraph_bench.cli" if folder == "benchmarks" else module(folder),
    )
    for folder in FOLDERS
}
#: What an extra lets a program import, beside the core.
BROUGHT = {
    "scale": "hebbgraph_scale.build.building",
    "build": "pyarrow.parquet",
    "ray": "ray",
    "llm": "tenacity",
    "spacy": "spacy",
    "gliner": "gliner",
    "documents": "hebbgraph_documents, bs4, mammoth, markdownify, pypdfium2",
    "files": "hebbgraph_documents, bs4, mammoth, markdownify, pypdfium2",
    "sentence-transformers": "sentence_transformers",
    "postgres": "hebbgraph_scale.postgresql",
    "papers": "hebbgraph_papers",
    "neural": "hebbgraph_papers.nakg.training, torch",
    "quantized": "numkong",
    "ivf": "faiss",
    "server": "hebbgraph_server.app",
    "agents": "langchain.agents",
    "langgraph": "langgraph.graph",
    "models": "sentence_transformers",
    "mem0": "mem0",
    "plots": "matplotlib.figure",
}


def main(chosen: list[str]) -> None:
    """Print the table in Markdown: those rows that are named, or all, which ``--store`` keeps."""
    store = chosen == ["--store"]
    chosen = [] if store else chosen
    kept = []
    nothing = user_seconds("pass")
    print("| installed | own MB | with all it needs, MB | packages | import, ms |")
    print("|---|---:|---:|---:|---:|")
    for name, (folder, path, imported) in OWN.items():
        table = project(folder)
        own = size_of_folder(ROOT / folder / path)
        extras: dict[str, list[str]] = table.get("optional-dependencies", {})
        rows: dict[str, tuple[list[str], str]] = {name: ([], f"import {imported}")}
        for extra, requirements in extras.items():
            if extra in BROUGHT:
                code = f"import {imported}, {BROUGHT[extra]}"
                rows[f"{name}[{extra}]"] = (requirements, code)
        for shown, (requirements, code) in rows.items():
            if not chosen or shown in chosen:
                names = needed([*table["dependencies"], *requirements]) | {name}
                kept.append(row(shown, own, names, code, nothing))
                print(f"| {' | '.join(kept[-1])} |", flush=True)
    if store:
        of = {"python": platform.python_version(), "platform": platform.platform()}
        KEPT.write_text(json.dumps({"environment": of, "rows": kept}, indent=1) + "\n", "utf-8")


def row(name: str, own: int, names: set[str], code: str, nothing: float) -> list[str]:
    """Return the cells of one row; what is not installed here is said."""
    missing = sorted(one for one in names if one not in OWN and not installed(one))
    if missing:
        return [name, f"{own / 1e6:.1f}", f"not installed here: {', '.join(missing)}", "", ""]
    whole = sum(size_of(one) for one in names)
    cost = 1000 * (user_seconds(code) - nothing)
    return [name, f"{own / 1e6:.1f}", f"{whole / 1e6:,.0f}", str(len(names)), f"{cost:,.0f}"]


def needed(requirements: list[str]) -> set[str]:
    """Return the names of all that requirements bring, as installed here."""
    found: dict[tuple[str, str], None] = {}
    waiting = [Requirement(one) for one in requirements]
    while waiting:
        one = waiting.pop()
        name = str(canonicalize_name(one.name))
        for extra in ("", *one.extras):
            if (name, extra) not in found:
                found[name, extra] = None
                waiting += dependencies(name, extra)
    return {name for name, _ in found}


def dependencies(name: str, extra: str) -> Iterator[Requirement]:
    """Yield what a distribution asks for on this platform."""
    if name in OWN:
        table = project(OWN[name][0])
        extras = table.get("optional-dependencies", {})
        yield from map(Requirement, extras[extra] if extra else table["dependencies"])
    elif installed(name):
        for one in map(Requirement, distribution(name).requires or ()):
            if one.marker is None or one.marker.evaluate({"extra": extra}):
                yield one


def size_of(name: str) -> int:
    """Return the bytes of a distribution's files."""
    if name in OWN:
        folder, path, _ = OWN[name]
        return size_of_folder(ROOT / folder / path)
    files = distribution(name).files or ()
    return sum(one.size or 0 for one in files if one.suffix != ".pyc")


def size_of_folder(folder: Path) -> int:
    """Return the bytes of a package's own files."""
    files = (one for one in folder.rglob("*") if one.is_file() and one.suffix != ".pyc")
    return sum(one.stat().st_size for one in files)


def installed(name: str) -> bool:
    """Tell whether a distribution is there."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def user_seconds(code: str) -> float:
    """Return the least time in user mode that a fresh process takes to run some code."""
    times = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        times.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return min(times)


if __name__ == "__main__":
    main(sys.argv[1:])
