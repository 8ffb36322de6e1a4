"""What users name as a place: a directory or a database URL, and how messages name it.

Messages, logs and ``repr`` never show a password. A URL that lost a slash is refused, as a
folder would be made that has the password for a name.
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

#: Beside the database: the results of a build, and a file that names the folders elsewhere in
#: which builds of it were begun and not completed. Both are gone when a build is complete.
BUILD_FOLDER, BUILDS_ELSEWHERE = "build", "build.json"

_MASK = "***"
#: Parameters of a URL whose values are secret; drivers accept a password here too.
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
    """A database URL in parts, unquoted; what it does not name is empty."""

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
        If it is none. The message shows no part of it: any part may hold the password.
    """
    try:
        location.encode()
    except UnicodeEncodeError:
        matched = None
    else:
        matched = _URL.fullmatch(location)
    if matched is None:
        raise ParameterError(f"not the URL of a database; {_EXAMPLE}")
    *parts, query = (part or "" for part in matched.groups())
    scheme, user, password, host, port, database = map(unquote, parts)
    return Url(scheme, user, password, host, port, database, dict(parse_qsl(query)))


def masked(url: Url) -> str:
    """Return a URL as text, with stars in place of every password.

    Examples
    --------
    >>> masked(parse_url("postgresql://ida:knot@db/boats?sslpassword=bowline"))
    'postgresql://ida:***@db/boats?sslpassword=***'
    """
    who = quote(url.user, safe=" +") + (f":{_MASK}" if url.password else "")
    where = url.host + (f":{url.port}" if url.port else "")
    shown = {
        name: _MASK if _SECRET.search(name) else quote(value, safe="")
        for name, value in url.query.items()
    }
    rest = "&".join(f"{quote(name, safe='')}={value}" for name, value in shown.items())
    return (
        f"{url.scheme}://{f'{who}@' if who else ''}{where}"
        f"{f'/{url.database}' if url.database else ''}{f'?{rest}' if rest else ''}"
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
    if found := _URL_WITHOUT_SLASH.match(name):
        raise ParameterError(
            f"{what} looks like a URL, where a directory belongs or a slash is missing; "
            f"a database is named {found[1] or found[2]}://..., and a directory of this name "
            "./..."
        )
    try:
        os.fsencode(name)
    except ValueError:
        bad = True
    else:
        bad = "\0" in name
    if bad:  # a NUL, or half a surrogate pair
        raise ParameterError(f"no directory can have this name: {name!r}")
    return Path(name)
