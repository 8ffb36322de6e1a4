"""Optional dependencies: imported when they are needed, missed in one sentence."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hebbgraph.errors import MissingExtraError

__all__ = ["require", "require_neural"]


def require(module: str, *, extra: str, purpose: str, otherwise: str = "") -> Any:
    """Import a module of an optional dependency.

    Parameters
    ----------
    module : str
        Dotted name.
    extra : str
        The extra of hebbgraph that installs it.
    purpose : str
        What needs it: the subject of the error's sentence.
    otherwise : str, optional
        What to do without it.

    Raises
    ------
    MissingExtraError
        If it, or something it imports, is not installed.

    Examples
    --------
    >>> require("no_such_module", extra="ivf", purpose='vector_search="ivf"')
    Traceback (most recent call last):
    ...
    hebbgraph.errors.MissingExtraError: vector_search="ivf" needs no_such_module, which is not \
installed; pip install "hebbgraph[ivf]"
    """
    try:
        return import_module(module)
    except ImportError as error:
        missing = (error.name or module).partition(".")[0]
        raise MissingExtraError(
            f"{purpose} needs {missing}, which is not installed; "
            f'pip install "hebbgraph[{extra}]"' + (f", or {otherwise}" if otherwise else "")
        ) from error


def require_neural(purpose: str) -> None:
    """Raise MissingExtraError, on behalf of ``purpose``, unless all of the extra is there."""
    for module in ("torch", "sklearn", "safetensors"):
        require(module, extra="neural", purpose=purpose)
