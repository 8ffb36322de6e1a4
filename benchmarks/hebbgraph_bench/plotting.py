"""Save figures as PNG (extra ``plots``)."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from hebbgraph.errors import MissingExtraError

__all__ = ["matplotlib_figures", "save_figure"]


def matplotlib_figures() -> Any:
    """Return the figure module; it draws files without a screen and without global state.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    try:
        return import_module("matplotlib.figure")
    except ImportError as error:
        raise MissingExtraError(
            'plots need matplotlib, which is not installed; run: pip install "hebbgraph[plots]"'
        ) from error


def save_figure(figure: Any, directory: Path, name: str) -> Path:
    """Write a figure as ``name``.png, whatever characters the name holds; return the file."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{re.sub(r'[^A-Za-z0-9_-]+', '-', name)}.png"
    figure.savefig(path, dpi=130)
    return path
