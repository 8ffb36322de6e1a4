"""JSON in the database: unreadable JSON is damage."""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json

from hebbgraph.errors import DamagedIndexError

__all__ = ["read_json"]


def read_json(text: object, kind: type, what: str) -> Any:
    """Parse JSON from the database.

    Parameters
    ----------
    text : str
    kind : {list, dict}
        The expected type.
    what : str
        Names the value in messages.

    Raises
    ------
    DamagedIndexError
        If it is not JSON, or not of this type.
    """
    try:
        if not isinstance(text, str):  # a damaged page may contain the value of another column
            raise TypeError(f"str expected, got {type(text).__name__}")
        value = from_json(text)
        if not isinstance(value, kind):
            raise TypeError(f"{kind.__name__} expected, got {type(value).__name__}")
    except (ValueError, TypeError) as error:
        raise DamagedIndexError(
            f"the database holds damaged JSON ({what}: {error}); hebbgraph doctor tells how much "
            "is damaged: restore a backup"
        ) from error
    return value
