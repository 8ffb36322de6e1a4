"""Find the modules that a measurement runs: its transitive imports.

Imports are read from the source, so the answer is the same in every process. Imports inside
functions count; imports for type checkers do not. A parent package does not count either:
importing ``hebbgraph.records`` does not depend on all of ``hebbgraph``.
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
    """Return the files of modules and of their transitive imports in these two packages.

    Parameters
    ----------
    roots : sequence of str
        Dotted names, such as ``hebbgraph_bench.protocol``.
    closed : collection of str
        Modules and packages to skip.

    Raises
    ------
    ModuleNotFoundError
        If one of ``roots`` does not exist.

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
    """Return the file of one of our modules, without running it; None for other names."""
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
    """Return our modules that a file imports."""
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
    """Yield the module named by a constant, as an argument of ``import_module``."""
    match node:
        case ast.Constant(str() as name) if "." in name and module_path(name):
            yield name


def _run(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module, without those that only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for statement in node.orelse:
                yield from (statement, *_run(statement))
            continue
        yield node
        yield from _run(node)
