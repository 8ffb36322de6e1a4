"""JSON that the database holds: what cannot be read is damage, told as ours."""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json

from hebbgraph.errors import DamagedIndexError

__all__ = ["read_json"]


def read_json(held: object, kind: type, what: str) -> Any:
    """Parse what was written as JSON.

    Parameters
    ----------
    held : str
    kind : type
        list or dict.
    what : str
        What it is of, for the message.

    Raises
    ------
    DamagedIndexError
        If it is none, or something else than was written.
    """
    try:
        if not isinstance(held, str):  # a damaged page may tell the value of another column
            raise TypeError(f"str expected, got {type(held).__name__}")
        value = from_json(held)
    except (ValueError, TypeError) as error:
        raise DamagedIndexError(_TOLD.format(what=what, why=error)) from error
    if not isinstance(value, kind):
        why = f"{kind.__name__} expected, got {type(value).__name__}"
        raise DamagedIndexError(_TOLD.format(what=what, why=why))
    return value


_TOLD = (
    "the database holds damaged JSON ({what}: {why}); hebbgraph doctor tells how much is "
    "damaged: restore a backup"
)
