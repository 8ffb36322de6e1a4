"""Where an index lies: a directory or a database URL, and how messages name it.

Messages, logs and ``repr`` never show a password. A URL that lacks a slash is refused: it would
become the name of a folder, password included.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote

from hebbgraph.errors import ParameterError

__all__ = [
    "BUILDS_ELSEWHERE",
    "BUILD_FOLDER",
    "Url",
    "as_directory",
    "is_url",
    "masked",
    "parse_url",
]

#: Beside the database: the results of a build, and a file that names folders elsewhere where
#: builds were begun and not completed. Both are removed when a build is complete.
BUILD_FOLDER, BUILDS_ELSEWHERE = "build", "build.json"

_MASK = "***"
#: Parameters of a URL whose values are secret.
_SECRET = re.compile("password|passwd|secret|token", re.IGNORECASE)
#: A scheme of two letters or more: ``C:/`` is a drive.
_URL_WITHOUT_SLASH = re.compile(
    r"([a-z][a-z0-9+.-]+):(?=/)|((?:postgres(?:ql)?|sqlite)(?:\+\w+)?):", re.IGNORECASE
)
_URL = re.compile(
    r"(?P<scheme>[\w+]+)://"
    r"(?:(?P<user>[^:/]*)(?::(?P<password>[^@]*))?@)?"
    r"(?P<host>\[[^/?]+\]|[^/:?]*)(?::(?P<port>\d*))?"
    r"(?:/(?P<database>[^?]*))?(?:\?(?P<query>.*))?",
    re.DOTALL,
)
_EXAMPLE = "write postgresql+psycopg://user@host:5432/database"


class Url(NamedTuple):
    """A database URL in parts, unquoted; missing parts are empty."""

    scheme: str
    user: str
    password: str
    host: str
    port: str
    database: str
    query: Mapping[str, str]

    @property
    def backend(self) -> str:
        """The database system, without the driver."""
        return self.scheme.partition("+")[0]


def is_url(location: object) -> bool:
    """Return whether a location is a URL, not a directory."""
    return isinstance(location, str) and "://" in location


def parse_url(location: str) -> Url:
    """Parse a database URL.

    Raises
    ------
    ParameterError
        If it is not one. The message shows no part of it: any part may hold the password.
    """
    match = _URL.fullmatch(location)
    if match is None or not _is_encodable(location):
        raise ParameterError(f"not the URL of a database; {_EXAMPLE}")
    *parts, query = (part or "" for part in match.groups())
    scheme, user, password, host, port, database = map(unquote, parts)
    return Url(scheme, user, password, host, port, database, dict(parse_qsl(query)))


def masked(url: Url) -> str:
    """Return a URL as text, with stars for every password.

    Examples
    --------
    >>> masked(parse_url("postgresql://ida:knot@db/boats?sslpassword=bowline"))
    'postgresql://ida:***@db/boats?sslpassword=***'
    """
    user = quote(url.user, safe=" +") + (f":{_MASK}" if url.password else "")
    host = url.host + (f":{url.port}" if url.port else "")
    query = "&".join(
        f"{quote(name, safe='')}={_MASK if _SECRET.search(name) else quote(value, safe='')}"
        for name, value in url.query.items()
    )
    return (
        f"{url.scheme}://{f'{user}@' if user else ''}{host}"
        f"{f'/{url.database}' if url.database else ''}{f'?{query}' if query else ''}"
    )


def as_directory(location: object, what: str = "location") -> Path:
    """Return a directory as a path.

    Raises
    ------
    ParameterError
        If no directory can have this name, or it looks like a URL.
    """
    if not isinstance(location, str | os.PathLike) or not str(location):
        raise ParameterError(f"{what} must be a directory or a URL, got {location!r}")
    name = os.fspath(location)
    if not isinstance(name, str):
        raise ParameterError(f"{what} must be a str or a path of str, got {name!r}")
    if match := _URL_WITHOUT_SLASH.match(name):
        raise ParameterError(
            f"{what} looks like a URL, where a directory belongs or a slash is missing; "
            f"a database is named {match[1] or match[2]}://..., and a directory of this name "
            "./..."
        )
    try:
        encoded = os.fsencode(name)
    except ValueError:  # half a surrogate pair
        encoded = b"\0"
    if b"\0" in encoded:
        raise ParameterError(f"no directory can have this name: {name!r}")
    return Path(name)


def _is_encodable(text: str) -> bool:
    """Return whether a text has no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
