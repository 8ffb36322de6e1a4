"""Convert values of metadata and filters to JSON, by one rule.

==================================================  ======================================
value                                               kept, compared and returned as
==================================================  ======================================
str, int, float, bool, None                         itself
Enum                                                its value, by this rule
NumPy scalar                                        the number, bool, str or moment
Decimal                                             an int or a float
datetime with a zone                                ISO 8601 text in UTC, so that order is time
datetime without a zone, date, time                 ISO 8601 text
UUID, Path                                          text
tuple, list, NumPy array, pandas Series             a list
set, frozenset                                      a sorted list
dict                                                a dict; keys become text
NaN, of float, Decimal, NumPy and pandas; NaT, NA   missing: the field is left out
==================================================  ======================================
"""

from __future__ import annotations

import enum
import math
import os
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

__all__ = ["is_missing", "plain"]

_MISSING_OF_PANDAS = frozenset({"NAType", "NaTType"})


def is_missing(value: object) -> bool:
    """Return whether a value means a missing one: NaN, NaT or NA.

    Examples
    --------
    >>> is_missing(float("nan")), is_missing(Decimal("NaN")), is_missing(None)
    (True, True, False)
    """
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, float):
        return math.isnan(value)
    if type(value).__name__ in _MISSING_OF_PANDAS:
        return True
    return _is_scalar(value) and value != value


def plain(value: Any, path: str = "", *, other: Callable[[Any], Any] | None = None) -> Any:
    """Return a value as JSON can hold it; see the table above.

    Parameters
    ----------
    value : object
    path : str
        Where the value is, for messages.
    other : callable, optional
        Converts values that the table does not name. Without it they are errors.

    Raises
    ------
    ValueError
        If JSON cannot hold the value; the message says where it is.

    Examples
    --------
    >>> plain({"day": date(2024, 5, 17), "price": Decimal("3.50"), "rank": float("nan")})
    {'day': '2024-05-17', 'price': 3.5}
    >>> plain({"sizes": (2, {"b", "a"}), "at": datetime(2024, 5, 17, 9, tzinfo=UTC)})
    {'sizes': [2, ['a', 'b']], 'at': '2024-05-17T09:00:00+00:00'}
    """
    if isinstance(value, enum.Enum):
        return plain(value.value, path, other=other)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value) if type(value) is not str else value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isinf(value):
            return None if math.isnan(value) else float(value)
    elif isinstance(value, Mapping):
        return {
            _key(key): plain(part, f"{path}.{_key(key)}" if path else _key(key), other=other)
            for key, part in value.items()
            if not is_missing(part)
        }
    elif isinstance(value, list | tuple) or _is_array(value):
        return [plain(part, f"{path}[{i}]", other=other) for i, part in enumerate(value)]
    elif isinstance(value, set | frozenset):
        return sorted(plain(list(value), path, other=other), key=_order)
    return _plain_scalar(value, path, other)


def _plain_scalar(value: Any, path: str, other: Callable[[Any], Any] | None) -> Any:
    if is_missing(value):
        return None
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Decimal) and value.is_finite():
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if _is_scalar(value) and not isinstance(value, float):
        is_moment = getattr(getattr(value, "dtype", None), "kind", "") == "M"
        scalar = value.astype("datetime64[us]") if is_moment else value
        return plain(scalar.item(), path, other=other)
    if other is not None:
        return other(value)
    what = f"{value}" if isinstance(value, float | Decimal) else f"of type {type(value).__name__}"
    raise ValueError(
        f"{path or 'a value'} is {what}, which JSON cannot say; make it a str, number, bool, date, "
        "list or dict, or leave it out"
    )


def _is_scalar(value: object) -> bool:
    """Return whether a value is a number of NumPy, PyTorch or the like."""
    return getattr(value, "shape", None) == () and callable(getattr(value, "item", None))


def _is_array(value: object) -> bool:
    """Return whether a value is an array of such numbers."""
    return bool(getattr(value, "shape", None)) and callable(getattr(value, "tolist", None))


def _key(key: object) -> str:
    plain_key = plain(key, other=str)
    return plain_key if isinstance(plain_key, str) else str(plain_key)


def _order(value: Any) -> tuple[str, Any]:
    """Return a key that orders numbers by size, texts by letters, other values by repr."""
    if isinstance(value, int | float):
        return "", value
    return type(value).__name__, value if isinstance(value, str) else repr(value)
