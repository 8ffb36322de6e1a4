"""Which modules a measurement runs: those that it imports, those that these import, and so on.

Read from the source, so that the answer is the same in every process. Imports within functions
count, those for type checkers alone do not. A package that is only passed through counts not
either: that ``hebbgraph.records`` lies in ``hebbgraph`` makes nothing depend on all of it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

__all__ = ["imported", "module_path"]

_PACKAGES = ("hebbgraph", "hebbgraph_bench")


def imported(roots: Sequence[str], *, closed: Collection[str] = ()) -> list[Path]:
    """Return the files of the modules named and of all that they import of these two packages.

    Parameters
    ----------
    roots : sequence of str
        Dotted names, such as ``hebbgraph_bench.protocol``.
    closed : collection of str
        Modules and packages that are not entered.

    Raises
    ------
    ModuleNotFoundError
        If one of ``roots`` is not there.

    Examples
    --------
    >>> [path.name for path in imported(["hebbgraph.arrays"])]
    ['arrays.py']
    """
    files: dict[str, Path] = {}
    waiting = [*roots]
    while waiting:
        name = waiting.pop()
        if name in files or any(f"{name}.".startswith(f"{door}.") for door in closed):
            continue
        if (path := module_path(name)) is None:
            raise ModuleNotFoundError(f"no module is called {name!r}")
        files[name] = path
        waiting += _names(path, name)
    return sorted(files.values())


@cache
def module_path(name: str) -> Path | None:
    """Return the file of a module of ours, without running it; None for what is no module."""
    package, *rest = name.split(".")
    if package not in _PACKAGES or not (spec := find_spec(package)) or spec.origin is None:
        return None
    place = Path(spec.origin).parent.joinpath(*rest)
    for path in (place / "__init__.py", place.with_suffix(".py")):
        if path.exists():
            return path
    return None


@cache
def _names(path: Path, module: str) -> tuple[str, ...]:
    """Return the modules of ours that a file imports."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    names: dict[str, None] = {}
    for node in _run(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names.update((alias.name, None) for alias in node.names if module_path(alias.name))
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) + 1 - node.level]
            base = ".".join([*parts, *([node.module] if node.module else [])])
            base = base if node.level else node.module or ""
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                if module_path(inner):
                    names[inner] = None
                elif module_path(base):
                    names[base] = None
        else:
            names.update((name, None) for name in _quoted(node))
    return tuple(names)


def _quoted(node: ast.AST) -> Iterator[str]:
    """Yield the module that a constant names, as ``import_module`` is given it."""
    match node:
        case ast.Constant(str() as name) if "." in name and module_path(name):
            yield name


def _run(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module but for those that only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for statement in node.orelse:
                yield from (statement, *_run(statement))
            continue
        yield node
        yield from _run(node)
