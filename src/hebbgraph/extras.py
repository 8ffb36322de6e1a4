"""Import optional dependencies on demand; if one is missing, say how to install it."""

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
        What needs the module; begins the error message.
    otherwise : str, optional
        Alternative without the extra; ends the error message.

    Raises
    ------
    MissingExtraError
        If the module, or one that it imports, is not installed.

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
    """Raise MissingExtraError unless all packages of the extra ``neural`` are installed."""
    for module in ("torch", "sklearn", "safetensors"):
        require(module, extra="neural", purpose=purpose)
