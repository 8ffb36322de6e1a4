"""The time that a question asks about: a year, a date, before, after, first, latest.

Rules cover English, German, French, Spanish, Italian, Portuguese and Dutch. Only certain
expressions count: "originally" is a time, "first" alone is not ("first aid").
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Literal, NamedTuple, TypeAlias

from hebbgraph.moments import microseconds

__all__ = ["AskedTime", "Relation", "asked_time", "said_dates"]

Relation: TypeAlias = Literal["in", "before", "after", "first", "latest"]


class AskedTime(NamedTuple):
    """The time a question asks about: a relation, and the period it refers to, if it names one.

    ``start`` and ``stop`` are microseconds since 1970; ``stop`` is exclusive.
    """

    relation: Relation
    start: int | None = None
    stop: int | None = None


_MONTHS = (
    "january janvier januar enero gennaio janeiro januari",
    "february février fevrier februar febrero febbraio fevereiro februari",
    "march mars märz marzo março maart",
    "april avril abril aprile",
    "may mai mayo maggio maio mei",
    "june juin juni junio giugno junho",
    "july juillet juli julio luglio julho",
    "august août aout agosto augustus",
    "september septembre septiembre settembre setembro",
    "october octobre oktober octubre ottobre outubro",
    "november novembre noviembre novembro",
    "december décembre dezember diciembre dicembre dezembro",
)
_MONTH = {name: at for at, names in enumerate(_MONTHS, 1) for name in names.split()}
_MONTH_NAME = "|".join(sorted(_MONTH, key=len, reverse=True))
_YEAR = r"(?P<{}>1\d{{3}}|20\d{{2}}|21\d{{2}})"
_DAY = r"(?P<{}>[0-3]?\d)(?:st|nd|rd|th|\.|er|º|°)?"
#: Before a year that ends in 0, these name a decade; "1990s" and "1990er" need none.
_DECADE = "années|annees|años|anos|anni|jaren|jahre"
_OF = r"\s+(?:of\s+|de\s+|d')?"
_DATE = re.compile(
    r"(?<![\w.,-])(?:"
    + _YEAR.format("y1") + r"-(?P<m1>\d{2})(?:-(?P<d1>\d{2}))?"
    + r"|" + _DAY.format("d2") + _OF + rf"(?P<m2>{_MONTH_NAME})" + r",?" + _OF + _YEAR.format("y2")
    + r"|" + rf"(?P<m3>{_MONTH_NAME})\s+" + _DAY.format("d3") + r",?\s+" + _YEAR.format("y3")
    + r"|" + rf"(?P<m4>{_MONTH_NAME})" + r",?" + _OF + _YEAR.format("y4")
    + rf"|(?P<decade>(?:{_DECADE})\s+)?" + _YEAR.format("y5")
    + r"|(?P<y6>1\d\d0|20\d0)(?:'?s|er[ns]?)"
    + r")(?![\w%]|[.,]\d|-\w)",
    re.IGNORECASE,
)  # fmt: skip
_BEFORE = (
    r"before|prior\s+to|until|till|bevor|vor|bis|avant|jusqu'en|antes\s+de|hasta|prima\s+del?"
    r"|até|voor"
)
_AFTER = r"after|following|nach|après|después\s+de|despues\s+de|dopo\s+il|dopo|depois\s+de|na"
_BETWEEN = r"(?:the\s+|dem\s+|den\s+|der\s+|le\s+|el\s+|o\s+|het\s+)?"
_TO_PERIOD = {
    "before": re.compile(rf"\b(?:{_BEFORE})\s+{_BETWEEN}$", re.IGNORECASE),
    "after": re.compile(rf"\b(?:{_AFTER})\s+{_BETWEEN}$", re.IGNORECASE),
    "since": re.compile(rf"\b(?:since|seit|depuis|desde|dal|sinds)\s+{_BETWEEN}$", re.IGNORECASE),
}
_TO_EVENT: tuple[tuple[Relation, re.Pattern[str]], ...] = (
    ("first", re.compile(
        r"\b(?:originally|initially|at\s+first|earliest|ursprünglich|zuerst|anfangs|"
        r"à\s+l'origine|initialement|originalmente|inicialmente|al\s+principio|"
        r"originariamente|inizialmente|oorspronkelijk|aanvankelijk)\b"
        r"|\b(?:first|original|initial)\s+(?:version|edition|draft|price|rate|rule)\b"
        r"|\b(?:was|were|did|had)\b[^?.]*\bfirst\b(?!\s+(?:aid|name|class|floor|person))",
        re.IGNORECASE,
    )),
    ("latest", re.compile(
        r"\b(?:latest|newest|most\s+recent(?:ly)?|current(?:ly)?|nowadays|today|aktuell\w*|"
        r"neueste\w*|heute|actuellement|actual(?:mente)?|aujourd'hui|hoy|attualmente|"
        r"atualmente|huidige|nu)\b",
        re.IGNORECASE,
    )),
    ("before", re.compile(
        r"\b(?:before|prior\s+to|previous(?:ly)?|former(?:ly)?|predecessors?|preceded|bevor|"
        r"(?:war|waren|wurde)\b[^?.]*\bvor|"
        r"vorher\w*|früher\w*|vorgänger\w*|avant|précédent\w*|précéd\w+|prédécesseure?s?|antes|"
        r"anterior\w*|predecesor\w*|precedente\w*|predecessore\w*|antecessor\w*|vorige|voordat|"
        r"voorganger\w*)\b",
        re.IGNORECASE,
    )),
    ("after", re.compile(
        r"\b(?:after(?:wards)?|next|successors?|succeeded|nachdem|danach|nachfolger\w*|après|"
        r"ensuite|succéd\w+|successeure?s?|después|sucesor\w*|sucedió|dopo|successore\w*|depois|"
        r"sucessor\w*|daarna|nadat|opvolger\w*)\b",
        re.IGNORECASE,
    )),
)  # fmt: skip


def asked_time(question: str) -> AskedTime | None:
    """Return the time that a question asks about, or None.

    Examples
    --------
    >>> asked_time("What was the fare in 1970?")
    AskedTime(relation='in', start=0, stop=31536000000000)
    >>> asked_time("Who was warden before 2 January 1970?").relation
    'before'
    >>> asked_time("What did the ferry originally cost?")
    AskedTime(relation='first', start=None, stop=None)
    >>> asked_time("Where is the first aid box?")
    """
    dates = ((match.start(), _period(match)) for match in _DATE.finditer(question))
    periods = [(at, period) for at, period in dates if period is not None]
    if periods:
        at, (start, stop) = periods[0]
        ahead = question[:at]
        if _TO_PERIOD["since"].search(ahead):
            return None  # "since" holds before and after that time: nothing to prefer
        for relation in ("before", "after"):
            if _TO_PERIOD[relation].search(ahead):
                return AskedTime("before" if relation == "before" else "after", start, stop)
        return AskedTime("in", start, max(period[1] for _, period in periods[:2]))
    for relation_to_event, words in _TO_EVENT:
        if words.search(question):
            return AskedTime(relation_to_event)
    return None


def said_dates(question: str) -> list[str]:
    """Return the dates and years in a question, as written.

    Examples
    --------
    >>> said_dates("Who was warden between May 1970 and 1972?")
    ['May 1970', '1972']
    """
    return [match[0] for match in _DATE.finditer(question) if _period(match)]


def _period(match: re.Match[str]) -> tuple[int, int] | None:
    """Return the first instant of a period and the first one after it; None for invalid dates."""
    kind = next(number for number in "123456" if match[f"y{number}"])
    year, month, day = int(match[f"y{kind}"]), 0, 0
    is_decade = kind == "6" or (match["decade"] is not None and year % 10 == 0)
    if kind not in "56":
        month_text = match[f"m{kind}"]
        month = int(month_text) if month_text.isdigit() else _MONTH[month_text.casefold()]
        day = int(match[f"d{kind}"] or 0) if kind in "123" else 0
    try:
        start = datetime(year, month or 1, day or 1, tzinfo=UTC)
        if day:
            return microseconds(start), microseconds(start) + 86_400_000_000
        if month:
            stop = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
        else:
            stop = datetime(year + (10 if is_decade else 1), 1, 1, tzinfo=UTC)
    except ValueError:
        return None
    return microseconds(start), microseconds(stop)
