"""Moments: times given by callers, as instants in UTC.

A date, a month or a year stands for its first instant. A time without a zone is in UTC, so it means
the same on every machine.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import TypeAlias

from hebbgraph.errors import ParameterError

__all__ = [
    "FIRST",
    "LAST",
    "Moment",
    "as_moment",
    "check_moment",
    "microseconds",
    "moment_text",
    "order_of",
]

Moment: TypeAlias = datetime | date | str
"""A datetime, a date, or ISO 8601 text such as ``"2024-05-17"`` or ``"2024-05-17T09:30+02:00"``."""

FIRST, LAST = -(2**62), 2**62
"""Before and after every moment, in microseconds."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_YEAR_OR_MONTH = re.compile(r"(\d{4})(?:-(\d{2}))?", re.ASCII)


def as_moment(value: object) -> datetime:
    """Return a value as an instant in UTC.

    Raises
    ------
    ValueError
        If it is not a time between the years 1 and 9999.

    Examples
    --------
    >>> as_moment("2024-05-17").isoformat(), as_moment("2024").isoformat()
    ('2024-05-17T00:00:00+00:00', '2024-01-01T00:00:00+00:00')
    >>> as_moment("2024-05-17T01:30+02:00").isoformat()
    '2024-05-16T23:30:00+00:00'
    >>> as_moment("2024-02-30")
    Traceback (most recent call last):
    ValueError: '2024-02-30' is no time: day is out of range for month
    """
    if isinstance(value, str):
        text = value.strip()
        try:
            if short := _YEAR_OR_MONTH.fullmatch(text):
                value = date(int(short[1]), int(short[2] or 1), 1)
            else:
                value = datetime.fromisoformat(text)
        except ValueError as error:
            raise ValueError(f"{text[:80]!r} is no time: {_reason(error)}") from error
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time(), UTC)
    if not isinstance(value, datetime):
        raise ValueError(
            "a time is a datetime, a date or ISO 8601 text like '2024-05-17', "
            f"got {value!r:.80}; for seconds since the epoch write datetime.fromtimestamp(t, UTC)"
        )
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    try:
        # A subclass of datetime, such as pandas', becomes a plain datetime.
        moment = value.astimezone(UTC)
        return datetime.combine(moment.date(), moment.time(), UTC)
    except (OverflowError, ValueError) as error:
        raise ValueError(
            f"{value.isoformat()!r} is no time in UTC between the years 1 and 9999"
        ) from error


def _reason(error: ValueError) -> str:
    reason = str(error)
    if "isoformat" in reason or "year" in reason:
        return "it takes ISO 8601, from the year 0001 to 9999, such as '2024-05-17'"
    return reason


def check_moment(name: str, value: object) -> datetime:
    """Return an argument as an instant; raise ParameterError if it is not a time."""
    try:
        return as_moment(value)
    except ValueError as error:
        raise ParameterError(f"{name}: {error}") from error


def microseconds(moment: datetime) -> int:
    """Return microseconds since 1970, exactly.

    >>> microseconds(as_moment("0001-01-01")) > FIRST, microseconds(as_moment("1970-01-02"))
    (True, 86400000000)
    """
    return (moment - _EPOCH) // _MICROSECOND


def moment_text(moment: datetime) -> str:
    """Return a moment in UTC as short text.

    >>> moment_text(as_moment("2024-05-17")), moment_text(as_moment("2024-05-17T09:30"))
    ('2024-05-17', '2024-05-17T09:30:00Z')
    """
    text = moment.replace(tzinfo=None).isoformat()
    return text.removesuffix("T00:00:00") if text.endswith("T00:00:00") else f"{text}Z"


def order_of(valid_from: datetime | None, valid_until: datetime | None) -> tuple[int, int]:
    """Return a key that sorts versions, oldest first; without a beginning, by the end."""
    if valid_from is not None:
        return (microseconds(valid_from), 1)
    return (FIRST if valid_until is None else microseconds(valid_until), 0)
