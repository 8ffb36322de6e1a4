"""Compare the size of the code with the budgets in ``pyproject.toml``: part of ``make check``.

``[tool.hebbgraph.sizes]`` sets how many modules and lines may be in the *closure* of the four
verbs (everything that ``hebbgraph.index`` imports, inside functions too, but not under
``if TYPE_CHECKING``), in each distribution, and in all of them together. The benchmarks and the
adapters in ``integrations/`` have no budget. No module may be longer than ``module_lines`` and no
function longer than ``function_lines``, its docstring aside. Today's exceptions are listed with
their length, and may only shrink.

usage: ``python tools/size_budget.py [--lower]``

``--lower`` writes today's sizes where they are smaller than the budget, and drops exceptions that
are no longer needed. It never raises a number: whoever needs more room edits ``pyproject.toml``.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
#: The module whose imports the closure follows.
VERBS = "hebbgraph.index"
SECTION = "tool.hebbgraph.sizes"


@dataclass(frozen=True)
class Size:
    """Modules and lines of a set of Python files."""

    modules: int
    lines: int


@dataclass
class Measured:
    """What the code weighs: sizes by name, and whatever is longer than a limit."""

    sizes: dict[str, Size] = field(default_factory=dict)
    long_modules: dict[str, int] = field(default_factory=dict)
    long_functions: dict[str, int] = field(default_factory=dict)


def line_count(path: Path) -> int:
    """Lines of a file."""
    return path.read_text("utf-8").count("\n")


def modules_below(source: Path, package: str) -> dict[str, Path]:
    """Files of ``package``, which lies in the folder ``source``, by the name of their module."""
    modules = {}
    for path in sorted((source / package).rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def _import_statements(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports at any depth that run: those for type checkers alone are left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for statement in child.orelse:
                yield from _import_statements(statement)
        elif isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        else:
            yield from _import_statements(child)


def imported_modules(path: Path, modules: dict[str, Path]) -> set[str]:
    """Those of ``modules`` that the file imports."""
    names: set[str] = set()
    for statement in _import_statements(ast.parse(path.read_text("utf-8"))):
        if isinstance(statement, ast.ImportFrom):
            names.add(statement.module or "")
            names.update(f"{statement.module}.{alias.name}" for alias in statement.names)
        else:
            names.update(alias.name for alias in statement.names)
    return names & modules.keys()


def closure(start: str, modules: dict[str, Path]) -> set[str]:
    """Modules that importing ``start`` and calling what it holds can import, ``start`` included."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        parts = name.split(".")
        parents = {".".join(parts[:depth]) for depth in range(2, len(parts))}
        waiting += imported_modules(modules[name], modules) | (parents & modules.keys())
    return reached


def function_lengths(path: Path) -> Iterator[tuple[str, int]]:
    """Qualified name of each function of a file, and its lines without the docstring."""

    def visit(node: ast.AST, prefix: str) -> Iterator[tuple[str, int]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                yield from visit(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                name = prefix + child.name
                yield name, _lines(child) - _docstring_lines(child)
                yield from visit(child, f"{name}.")
            else:
                yield from visit(child, prefix)

    yield from visit(ast.parse(path.read_text("utf-8")), "")


def _docstring_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    has_docstring = ast.get_docstring(function, clean=False) is not None
    return _lines(function.body[0]) if has_docstring else 0


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def distributions(root: Path) -> dict[str, list[Path]]:
    """Python files of each distribution that has a budget, by the distribution's name."""
    folders = [root, *sorted(path.parent for path in root.glob("extensions/*/pyproject.toml"))]
    files = {}
    for folder in folders:
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
        packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
        files[project["project"]["name"]] = sorted(
            path for package in packages for path in (folder / package).rglob("*.py")
        )
    return files


def measure(root: Path, module_lines: int, function_lines: int) -> Measured:
    """Measure the distributions below ``root``."""
    measured = Measured()
    modules = modules_below(root / "src", VERBS.partition(".")[0])
    files = distributions(root)
    groups = {
        "closure": [modules[name] for name in closure(VERBS, modules)],
        **files,
        "all": [path for paths in files.values() for path in paths],
    }
    for name, paths in groups.items():
        measured.sizes[name] = Size(len(paths), sum(map(line_count, paths)))
    for path in groups["all"]:
        name = path.relative_to(root).as_posix()
        if (length := line_count(path)) > module_lines:
            measured.long_modules[name] = length
        for function, length in function_lengths(path):
            if length > function_lines:
                measured.long_functions[f"{name}:{function}"] = length
    return measured


def excesses(measured: Measured, budget: dict[str, Any]) -> list[str]:
    """What is larger than the budget allows, a sentence each."""
    sentences = []
    for name, size in measured.sizes.items():
        allowed = budget["budgets"].get(name)
        if allowed is None:
            sentences.append(f"{name} has no budget: add it to [{SECTION}.budgets]")
            continue
        sentences += [
            f"{name}: {getattr(size, unit)} {unit}, at most {allowed[unit]}"
            for unit in ("modules", "lines")
            if getattr(size, unit) > allowed[unit]
        ]
    for kind in ("module", "function"):
        exceptions = budget.get(f"long_{kind}s", {})
        limit = budget[f"{kind}_lines"]
        for name, length in getattr(measured, f"long_{kind}s").items():
            if length > (most := exceptions.get(name, limit)):
                sentences.append(f"{kind} {name}: {length} lines, at most {most}: split it")
    return sentences


def lowered(text: str, measured: Measured) -> str:
    """The text of a ``pyproject.toml`` whose budgets are no larger than what was measured."""
    budget = tomllib.loads(text)["tool"]["hebbgraph"]["sizes"]
    budgets = [
        f'"{name}" = {{ modules = {min(size.modules, allowed["modules"])}, '
        f"lines = {min(size.lines, allowed['lines'])} }}"
        for name, size in measured.sizes.items()
        if (allowed := budget["budgets"].get(name))
    ]
    text = _with_table(text, "budgets", budgets)
    for kind in ("long_modules", "long_functions"):
        lengths = getattr(measured, kind)
        exceptions = [
            f'"{name}" = {min(most, lengths[name])}'
            for name, most in sorted(budget.get(kind, {}).items())
            if name in lengths
        ]
        text = _with_table(text, kind, exceptions)
    return text


def _with_table(text: str, name: str, lines: list[str]) -> str:
    """Replace the content of a table of sizes."""
    header = f"[{SECTION}.{name}]\n"
    pattern = re.escape(header) + r"(?:[^\[\n][^\n]*\n)*"
    return re.sub(pattern, lambda _: header + "".join(f"{line}\n" for line in lines), text)


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Print each size beside its budget; return 1 if a budget is exceeded."""
    parser = argparse.ArgumentParser(description="Compare the size of the code with its budgets.")
    parser.add_argument("--lower", action="store_true", help="lower the budgets to today's sizes")
    lower = parser.parse_args(arguments).lower
    path = root / "pyproject.toml"
    text = path.read_text("utf-8")
    budget = tomllib.loads(text)["tool"]["hebbgraph"]["sizes"]
    measured = measure(root, budget["module_lines"], budget["function_lines"])
    for name, size in measured.sizes.items():
        most = budget["budgets"].get(name, {"modules": "-", "lines": "-"})
        print(
            f"{name:22} {size.modules:4} modules of {most['modules']}, "
            f"{size.lines:6} lines of {most['lines']}"
        )
    problems = excesses(measured, budget)
    for problem in problems:
        print(f"too large: {problem}", file=sys.stderr)
    if lower:
        path.write_text(lowered(text, measured), "utf-8")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
