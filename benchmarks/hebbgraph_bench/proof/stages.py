"""Stages of a long run. Each is measured once, stored in one file, and repeated when it is stale.

A stage is stale when its sets, its settings or its code have changed. Its code is its module and
everything this imports, transitively; comments and docstrings do not count. ``figures`` are the
same in every run; ``costs`` (times, memory) are not. An interrupted run continues with the next
missing stage.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hebbgraph.errors import ParameterError

from hebbgraph_bench.proof.imports import imported, module_path
from hebbgraph_bench.proof.measuring import Measured
from hebbgraph_bench.report import environment

__all__ = [
    "CLOSED",
    "Results",
    "Stage",
    "chosen",
    "code_digest",
    "differences",
    "plain",
]

#: Code that no stage runs, though an index imports it: builds by workers, and repairs.
CLOSED = ("hebbgraph_scale.build", "hebbgraph.inspect.doctor")
_DECIMALS = 6


@dataclass(frozen=True)
class Stage:
    """One measurement.

    Parameters
    ----------
    name : str
        Parts joined by ``/``, such as ``retrieval/SET/titles/embedder``.
    by : callable
        The function that measures; its module determines the code.
    measure : callable
        Calls it.
    settings : mapping
        Everything else that the figures depend on.
    data : sequence of Path
        Folders of the sets.
    code : tuple of str, optional
        Modules that the figures depend on, besides the one of ``by``. By default, all its
        imports. Their own imports count too.
    closed : sequence of str, optional
        Imported modules and packages that no figure depends on.
    """

    name: str
    by: Callable[..., Measured]
    measure: Callable[[], Measured]
    settings: Mapping[str, Any]
    data: Sequence[Path]
    code: tuple[str, ...] | None = None
    closed: Sequence[str] = CLOSED

    def fingerprint(self) -> dict[str, Any]:
        """Return digests of everything that the figures depend on."""
        return {
            "settings": plain(dict(self.settings)),
            "data": {folder.name: _folder_digest(folder) for folder in self.data},
            "code": _run_digest(self.by.__module__, self.code, tuple(self.closed)),
        }


class Results:
    """A folder with one JSON file per stage.

    Parameters
    ----------
    folder : Path
        Created when the first stage is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        """Return the file of a stage."""
        return self.folder / (re.sub(r"[^\w.]+", "-", name) + ".json")

    def read(self, name: str) -> dict[str, Any] | None:
        """Return the stored result of a stage, or None.

        Raises
        ------
        ParameterError
            If the file is not a result of this stage.
        """
        path = self.path(name)
        if not path.exists():
            return None
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["stage"] != name or "figures" not in content:
                raise KeyError(name)
        except (ValueError, KeyError, TypeError) as error:
            raise ParameterError(
                f"{path}: expected the result of the stage {name}; remove the file to measure again"
            ) from error
        result: dict[str, Any] = content
        return result

    def is_fresh(self, stage: Stage) -> bool:
        """Return whether the stage is stored and up to date."""
        stored = self.read(stage.name)
        return stored is not None and stored["fingerprint"] == stage.fingerprint()

    def write(self, stage: Stage, measured: Measured) -> None:
        """Store a result atomically."""
        content = {
            "stage": stage.name,
            "fingerprint": stage.fingerprint(),
            "environment": {
                key: value for key, value in environment().items() if key != "platform"
            },
            "figures": measured.figures,
            "costs": measured.costs,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(stage.name)
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(_format_json(plain(content)) + "\n", encoding="utf-8")
        unfinished.replace(path)


def chosen(stages: Sequence[Stage], patterns: Sequence[str]) -> list[Stage]:
    """Return the stages whose names match a pattern; all of them without patterns.

    Raises
    ------
    ParameterError
        If a pattern matches no stage.
    """
    for pattern in patterns:
        if not any(_fits(stage, pattern) for stage in stages):
            names = ", ".join(stage.name for stage in stages)
            raise ParameterError(f"no stage matches {pattern!r}; there are: {names}")
    if not patterns:
        return list(stages)
    return [stage for stage in stages if any(_fits(stage, pattern) for pattern in patterns)]


def _fits(stage: Stage, pattern: str) -> bool:
    return fnmatch(stage.name, pattern) or stage.name.startswith(pattern.rstrip("/") + "/")


def differences(first: Any, second: Any, place: str = "") -> Iterator[str]:
    """Yield the places where two results differ.

    Examples
    --------
    >>> list(differences({"a": [1.0, 2.0]}, {"a": [1.0, 2.5]}))
    ['a/1: 2.0, then 2.5']
    """
    if isinstance(first, dict) and isinstance(second, dict):
        for key in sorted(first.keys() | second.keys()):
            yield from differences(first.get(key), second.get(key), f"{place}/{key}".strip("/"))
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for number, pair in enumerate(zip(first, second, strict=True)):
            yield from differences(*pair, f"{place}/{number}")
    elif first != second:
        yield f"{place}: {first!r}, then {second!r}"


def plain(value: Any) -> Any:
    """Return the value as JSON will give it back: rounded numbers, no NaN."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return round(value, _DECIMALS) if math.isfinite(value) else None
    return value


def _format_json(value: Any, indent: str = "") -> str:
    """Format JSON with one line for each list of plain values."""
    if isinstance(value, dict) and value:
        inner = indent + "  "
        lines = (
            f"{inner}{json.dumps(key)}: {_format_json(item, inner)}" for key, item in value.items()
        )
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


@cache
def _run_digest(module: str, code: tuple[str, ...] | None, closed: tuple[str, ...]) -> str:
    """Return the digest of the code of a stage."""
    files = set(imported([module] if code is None else code, closed=closed))
    if module_file := module_path(module):
        files.add(module_file)
    return code_digest(sorted(files))


def code_digest(files: Sequence[Path]) -> str:
    """Return the digest of modules: their names and syntax trees, without docstrings."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + _code(path).encode())
    return digest.hexdigest()[:16]


@cache
def _code(path: Path) -> str:
    """Return the syntax tree of a module without docstrings."""
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        match node:
            case (
                ast.Module(body=[ast.Expr(ast.Constant(str())), *rest])
                | ast.ClassDef(body=[ast.Expr(ast.Constant(str())), *rest])
                | ast.FunctionDef(body=[ast.Expr(ast.Constant(str())), *rest])
                | ast.AsyncFunctionDef(body=[ast.Expr(ast.Constant(str())), *rest])
            ):
                node.body = rest
    return ast.dump(tree)


def _folder_digest(folder: Path) -> str:
    return _digest(sorted(folder.glob("*.jsonl")))


def _digest(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
