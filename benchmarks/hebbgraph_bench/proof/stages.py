"""Stages of a long run: each measured once, kept as one file, and measured again when it is stale.

A stage is stale when its sets, its settings or the code that it runs have changed: its module and
what that imports, and so on; comments and docstrings are no code. What a stage finds falls in two
parts: ``figures`` come out the same in every run, ``costs`` (times, memory) do not. A run that was
ended goes on with the next stage that is missing.
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

#: What no stage enters, though an index could: a build by workers, and repairs.
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
        The function that measures, in the module that it was defined in.
    measure : callable
        Calls it.
    settings : mapping
        All that the figures depend on beside sets and code.
    data : sequence of Path
        Folders of the sets that are read.
    code : tuple of str, optional
        The modules that figures follow from beside the one of ``by``; all that this one imports
        if left out. What they import counts too.
    closed : sequence of str, optional
        Modules and packages that no figure follows from though they are imported.
    """

    name: str
    by: Callable[..., Measured]
    measure: Callable[[], Measured]
    settings: Mapping[str, Any]
    data: Sequence[Path]
    code: tuple[str, ...] | None = None
    closed: Sequence[str] = CLOSED

    def fingerprint(self) -> dict[str, Any]:
        """Return digests of what the figures follow from."""
        return {
            "settings": plain(dict(self.settings)),
            "data": {folder.name: _folder_digest(folder) for folder in self.data},
            "code": _run_digest(self.by.__module__, self.code, tuple(self.closed)),
        }


class Results:
    """A folder with one JSON a stage.

    Parameters
    ----------
    folder : Path
        Made when the first stage is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        """Return where the stage of that name is kept."""
        return self.folder / (re.sub(r"[^\w.]+", "-", name) + ".json")

    def read(self, name: str) -> dict[str, Any] | None:
        """Return what is kept of a stage, or None.

        Raises
        ------
        ParameterError
            If the file is no result.
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
                f"{path}: expected the result of the stage {name}; remove the file to measure anew"
            ) from error
        result: dict[str, Any] = content
        return result

    def is_fresh(self, stage: Stage) -> bool:
        """Tell whether the stage is kept, and follows from what is here now."""
        stored = self.read(stage.name)
        return stored is not None and stored["fingerprint"] == stage.fingerprint()

    def write(self, stage: Stage, measured: Measured) -> None:
        """Keep what was measured; a file is there as a whole or not at all."""
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
        unfinished.write_text(_written(plain(content)) + "\n", encoding="utf-8")
        unfinished.replace(path)


def chosen(stages: Sequence[Stage], patterns: Sequence[str]) -> list[Stage]:
    """Return the stages whose names fit one of the patterns; all without a pattern.

    Raises
    ------
    ParameterError
        If a pattern fits none.
    """
    for pattern in patterns:
        if not any(_fits(stage, pattern) for stage in stages):
            names = ", ".join(stage.name for stage in stages)
            raise ParameterError(f"no stage fits {pattern!r}; there are: {names}")
    if not patterns:
        return list(stages)
    return [stage for stage in stages if any(_fits(stage, pattern) for pattern in patterns)]


def _fits(stage: Stage, pattern: str) -> bool:
    return fnmatch(stage.name, pattern) or stage.name.startswith(pattern.rstrip("/") + "/")


def differences(first: Any, second: Any, place: str = "") -> Iterator[str]:
    """Yield the places at which two figures differ.

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
    """Return what JSON can hold, as it will be read back: numbers rounded, no NaN."""
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


def _written(value: Any, indent: str = "") -> str:
    """Write JSON with one line for each list of plain values."""
    if isinstance(value, dict) and value:
        inner = indent + "  "
        lines = (
            f"{inner}{json.dumps(key)}: {_written(item, inner)}" for key, item in value.items()
        )
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


@cache
def _run_digest(module: str, code: tuple[str, ...] | None, closed: tuple[str, ...]) -> str:
    """Return the digest of what a stage runs."""
    files = set(imported([module] if code is None else code, closed=closed))
    if module_file := module_path(module):
        files.add(module_file)
    return code_digest(sorted(files))


def code_digest(files: Sequence[Path]) -> str:
    """Return the digest of what modules do: their names and syntax trees, without docstrings."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + _code(path).encode())
    return digest.hexdigest()[:16]


@cache
def _code(path: Path) -> str:
    """Return what a module does: its syntax tree without docstrings."""
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
