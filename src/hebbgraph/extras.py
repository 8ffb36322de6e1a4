"""Load optional dependencies and extensions on demand, with install hints for missing ones."""

from __future__ import annotations

from importlib import import_module, metadata
from typing import Any

from hebbgraph.errors import MissingExtraError

__all__ = ["load_plugin", "require"]


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
        raise _missing(purpose, missing, extra, otherwise) from error


def load_plugin(group: str, name: str, *, extra: str, purpose: str, otherwise: str = "") -> Any:
    """Load an object that an extension offers as an entry point.

    Parameters
    ----------
    group : str
        Group of entry points, such as ``hebbgraph.commands``.
    name : str
    extra : str
        The extra of hebbgraph that installs the extension.
    purpose : str
        What needs the extension; begins the error message.
    otherwise : str, optional
        Alternative without the extra; ends the error message.

    Raises
    ------
    MissingExtraError
        If no installed distribution offers it, or a module that it imports is not installed.

    Examples
    --------
    >>> load_plugin("hebbgraph.commands", "fly", extra="wings", purpose="hebbgraph fly")
    Traceback (most recent call last):
    ...
    hebbgraph.errors.MissingExtraError: hebbgraph fly needs hebbgraph[wings], which is not \
installed; pip install "hebbgraph[wings]"
    """
    missing = f"hebbgraph[{extra}]"
    reason: ImportError | None = None
    for entry in metadata.entry_points(group=group, name=name):
        try:
            return entry.load()
        except ImportError as error:
            missing, reason = (error.name or entry.value).partition(".")[0], error
    raise _missing(purpose, missing, extra, otherwise) from reason


def _missing(purpose: str, missing: str, extra: str, otherwise: str) -> MissingExtraError:
    return MissingExtraError(
        f"{purpose} needs {missing}, which is not installed; "
        f'pip install "hebbgraph[{extra}]"' + (f", or {otherwise}" if otherwise else "")
    )
