"""What can go wrong.

::

    UsebenchError
    ├── ParameterError (ValueError)      a value that does not fit
    ├── SetError (ValueError)            a set or a source of one that cannot be read
    └── MissingError (ImportError)       what a system needs and this machine lacks
"""

from __future__ import annotations

__all__ = ["MissingError", "ParameterError", "SetError", "UsebenchError"]


class UsebenchError(Exception):
    """The base of all errors that usebench raises on purpose."""


class ParameterError(UsebenchError, ValueError):
    """A value does not fit."""


class SetError(UsebenchError, ValueError):
    """A set, or what it is built from, cannot be read; the message names file and line."""


class MissingError(UsebenchError, ImportError):
    """A package or a clone is missing; the message says how to get it."""
