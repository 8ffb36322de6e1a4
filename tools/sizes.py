"""Hold the code to its ceilings: lines and modules of its parts, modules, functions.

usage: python tools/sizes.py      exits 1 where a part is over its ceiling
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Lines and modules at most, of one folder or several; docstrings count.
CEILINGS = {
    "src/hebbgraph": (16_000, 95),
    "src/hebbgraph/text": (2_800, 25),
    "integrations/langchain": (1_800, 13),
    "integrations/llama_index": (1_800, 13),
    "extensions/server": (2_400, 22),
    "extensions/papers benchmarks/hebbgraph_bench/papers": (2_600, 20),
    "benchmarks": (5_000, 40),
    "usebench": (3_000, 30),
    "tests": (20_000, 200),
}
MODULE_LINES, FUNCTION_LINES = 400, 60


def function_lengths(path: Path) -> Iterator[tuple[str, int]]:
    """Yield name and length of each function, its docstring aside."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node, clean=False)
            doc = node.body[0] if docstring else None
            doc_lines = 0 if doc is None else (doc.end_lineno or 0) - doc.lineno + 1
            yield node.name, (node.end_lineno or 0) - node.lineno + 1 - doc_lines


def main() -> int:
    """Print sizes; return 1 where something is over its ceiling."""
    over = []
    for part, (most, modules) in CEILINGS.items():
        found = (path for folder in part.split() for path in (ROOT / folder).rglob("*.py"))
        files = [path for path in found if "__pycache__" not in path.parts]
        lines = sum(path.read_text("utf-8").count("\n") for path in files)
        print(f"{part:30s} {lines:7,} lines, {len(files):3} modules (at most {most:,}, {modules})")
        if lines > most or len(files) > modules:
            over.append(f"{part} is over its ceiling")
    for path in sorted((ROOT / "src/hebbgraph").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if (n := path.read_text("utf-8").count("\n")) > MODULE_LINES:
            over.append(f"{name} has {n} lines")
        over += (
            f"{name}: {function} has {n} lines"
            for function, n in function_lengths(path)
            if n > FUNCTION_LINES
        )
    print(*over, sep="\n")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())
