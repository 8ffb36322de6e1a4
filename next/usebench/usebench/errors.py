"""Errors.

::

    UsebenchError
    ├── ParameterError (ValueError)      an invalid value
    ├── SetError (ValueError)            a set, or its source, that cannot be read
    └── MissingError (ImportError)       a missing package or clone
"""

from __future__ import annotations

__all__ = ["MissingError", "ParameterError", "SetError", "UsebenchError"]


class UsebenchError(Exception):
    """Base class of all errors of usebench."""


class ParameterError(UsebenchError, ValueError):
    """A value is invalid."""


class SetError(UsebenchError, ValueError):
    """A set, or its source, cannot be read; the message names file and line."""


class MissingError(UsebenchError, ImportError):
    """A package or a clone is missing; the message says how to get it."""
