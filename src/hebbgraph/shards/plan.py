"""``shards.toml``: which shards there are, in which order, and whose a document is."""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from hebbgraph.errors import NotAnIndexError, ParameterError
from hebbgraph.store.places import as_directory, is_url
from hebbgraph.wire import Wire

__all__ = [
    "MOST_SHARDS",
    "ROWS",
    "ShardPlace",
    "ShardPlan",
    "home_of",
    "is_plan",
    "number_of",
    "write_plan",
]

#: Rows of the database that belong to one shard: so a row tells its shard, and rows ascend
#: from shard to shard.
ROWS = 1 << 40
#: How long a message to a shard elsewhere may take, if the file says nothing else.
TIMEOUT_SECONDS = 5.0
MOST_SHARDS = 1 << 12
_COORDINATOR = "coordinator"


class ShardPlace(NamedTuple):
    """Where one shard lies.

    Attributes
    ----------
    number : int
        Its place in the file, from 0.
    name : str
    path : Path or None
        Its directory; None if it is served elsewhere.
    namespaces : tuple of str
        The only namespaces that it keeps; empty for all that no shard claims.
    url : str or None
        Where ``hebbgraph serve --shard`` keeps it.
    token_env : str or None
        The environment variable with its token.
    timeout_seconds : float
        How long one message to it may take.
    """

    number: int
    name: str
    path: Path | None = None
    namespaces: tuple[str, ...] = ()
    url: str | None = None
    token_env: str | None = None
    timeout_seconds: float = TIMEOUT_SECONDS

    @property
    def where(self) -> str:
        """Its directory or URL, for messages."""
        return str(self.path) if self.url is None else self.url

    def token(self) -> str | None:
        """Return its token; None if it takes none.

        Raises
        ------
        ParameterError
            If the environment has none.
        """
        if self.token_env is None:
            return None
        secret = os.environ.get(self.token_env)
        if not secret:
            raise ParameterError(
                f"shard {self.name!r}: the environment variable {self.token_env} is to hold the "
                f"token for {self.url}, and is not set"
            )
        return secret


class ShardPlan(NamedTuple):
    """What ``shards.toml`` says."""

    file: Path
    places: tuple[ShardPlace, ...]

    @property
    def coordinator(self) -> Path:
        """The directory of what all shards share: the log, corrections, the vocabulary."""
        return self.file.parent / _COORDINATOR

    @classmethod
    def read(cls, file: Path) -> ShardPlan:
        """Read a plan.

        Raises
        ------
        NotAnIndexError
            If there is no such file.
        ParameterError
            If it says something else than which shards there are.
        """
        try:
            held = tomllib.loads(file.read_text("utf-8"))
        except FileNotFoundError as error:
            raise NotAnIndexError(
                f"there is no {file}; make it: hebbgraph shards create {file} --shards 3, or "
                "ShardedIndex.create"
            ) from error
        except (OSError, ValueError) as error:
            raise ParameterError(f"{file} is no TOML: {error}") from error
        return cls._of_tables(file, held)

    @classmethod
    def _of_tables(cls, file: Path, held: Mapping[str, Any]) -> ShardPlan:
        tables = held.get("shard")
        if held.keys() != {"shard"} or not isinstance(tables, list) or not tables:
            raise ParameterError(f"{file} holds one [[shard]] for each shard, and nothing else")
        if len(tables) > MOST_SHARDS:
            raise ParameterError(f"{file}: at most {MOST_SHARDS} shards, got {len(tables)}")
        places = tuple(_place(file, number, table) for number, table in enumerate(tables))
        for what, values in (
            ("name", [place.name for place in places]),
            ("path", [str(place.path.absolute()) for place in places if place.path is not None]),
            ("url", [place.url.rstrip("/") for place in places if place.url is not None]),
        ):
            if len(set(values)) < len(values):
                raise ParameterError(f"{file}: two shards have the same {what}")
        return cls(file, places)

    def of(self, namespace: str) -> tuple[ShardPlace, ...]:
        """Return the shards of a namespace: those that claim it, else those without claims."""
        claimed = tuple(place for place in self.places if namespace in place.namespaces)
        found = claimed or tuple(place for place in self.places if not place.namespaces)
        if not found:
            raise ParameterError(
                f"{self.file}: no shard keeps namespace {namespace!r}; add it to `namespaces` of "
                "one, or a shard without `namespaces`"
            )
        return found


def is_plan(location: object) -> bool:
    """Return whether a location is a file of shards, by its name."""
    return isinstance(location, str | Path) and str(location).endswith(".toml")


def number_of(row: int) -> int:
    """Return the number of the shard that a row belongs to."""
    return row // ROWS


def home_of(document: str, places: Sequence[ShardPlace]) -> int:
    """Return the number of the shard that a new document goes to.

    The shard whose name, hashed with the document's, is highest [1]_: another shard takes
    documents from all others and moves none between them.

    References
    ----------
    .. [1] Thaler and Ravishankar (1998), Using name-based mappings to increase hit rates.

    Examples
    --------
    >>> places = [ShardPlace(at, name, Path(name)) for at, name in enumerate("abc")]
    >>> [home_of(f"document {at}", places) for at in range(6)]
    [0, 2, 0, 0, 2, 1]
    """
    return max(places, key=lambda place: (_hash(place.name, document), place.number)).number


def write_plan(
    file: Path, shards: int | Sequence[str | Path], *, token_env: str | None = None
) -> None:
    """Write a plan of so many shards beside the file, or of these directories and URLs.

    Parameters
    ----------
    file : Path
    shards : int or sequence of str or Path
    token_env : str, optional
        The environment variable with the token for those that are URLs.

    Raises
    ------
    ParameterError
        If they are no plan, a URL is none of a server, or its token is missing; nothing is
        written then.
    """
    if isinstance(shards, int):
        if isinstance(shards, bool) or not 1 <= shards <= MOST_SHARDS:
            raise ParameterError(f"from 1 to {MOST_SHARDS} shards, got {shards!r}")
        shards = [f"shard-{number}" for number in range(shards)]
    if isinstance(shards, str) or not isinstance(shards, Sequence):
        raise ParameterError(
            f"shards is how many, or a list of directories and URLs, got {shards!r:.200}"
        )
    entries = [_entry(one, token_env) for one in shards]
    if token_env is not None and not any("url" in one for one in entries):
        raise ParameterError("token_env goes with shards behind a URL, and there is none")
    for place in ShardPlan._of_tables(file, {"shard": entries}).places:
        if place.url is not None:
            Wire(place.url, token=place.token(), timeout_seconds=place.timeout_seconds)
    written = (
        "[[shard]]\n" + "".join(f"{key} = {_quoted(value)}\n" for key, value in one.items())
        for one in entries
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(written), "utf-8")


def _entry(place: str | Path, token_env: str | None) -> dict[str, str]:
    """Return the table of a shard in a directory, or behind a URL."""
    if not is_url(place):
        return {"name": Path(place).name, "path": str(place)}
    name = str(place).partition("://")[2].rstrip("/")
    return {"name": name, "url": str(place)} | ({"token_env": token_env} if token_env else {})


def _quoted(value: str) -> str:
    """Return a string as TOML has it: as JSON, but for pairs of surrogates and DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _hash(name: str, document: str) -> bytes:
    return blake2b(f"{name}\0{document}".encode(), digest_size=8).digest()


def _place(file: Path, number: int, table: Any) -> ShardPlace:
    elsewhere = isinstance(table, dict) and "url" in table
    needed = {"name", "url"} if elsewhere else {"name", "path"}
    known = needed | {"namespaces"} | ({"token_env", "timeout_seconds"} if elsewhere else set())
    if not isinstance(table, dict) or not needed <= table.keys() <= known:
        raise ParameterError(
            f"{file}: a shard has name and path, or name and url with token_env and "
            "timeout_seconds if need be; either may have namespaces"
        )
    name = table["name"]
    if not (isinstance(name, str) and name and name.isprintable()):
        raise ParameterError(f"{file}: the name of a shard is a printable str, got {name!r:.80}")
    namespaces = table.get("namespaces", [])
    if not isinstance(namespaces, list) or not all(isinstance(one, str) for one in namespaces):
        raise ParameterError(f"{file}: namespaces of shard {name!r} are a list of str")
    if not elsewhere:
        path = table["path"]
        if is_url(path):
            raise ParameterError(
                f"{file}: path of shard {name!r} is a directory of this machine; for a shard "
                "behind hebbgraph serve --shard write url instead"
            )
        where = file.parent / as_directory(path, f"path of shard {name!r}")
        return ShardPlace(number, name, where, tuple(namespaces))
    return ShardPlace(number, name, None, tuple(namespaces), *_line(file, name, table))


def _line(file: Path, name: str, table: Mapping[str, Any]) -> tuple[str, str | None, float]:
    """Return URL, variable of the token and time limit of a shard elsewhere."""
    url, variable = table["url"], table.get("token_env")
    seconds = table.get("timeout_seconds", TIMEOUT_SECONDS)
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise ParameterError(
            f"{file}: url of shard {name!r} is like 'https://shard.example.org', got {url!r:.200}"
        )
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise ParameterError(
            f"{file}: the url of shard {name.rpartition('@')[2]!r} holds a password, which "
            "messages and logs would show; name a variable with a token instead: token_env"
        )
    if variable is not None and not (isinstance(variable, str) and variable.isidentifier()):
        raise ParameterError(
            f"{file}: token_env of shard {name!r} names an environment variable, such as "
            "'SHARD_TOKEN'; the token itself does not belong into the file"
        )
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not 0 < seconds < math.inf:
        raise ParameterError(
            f"{file}: timeout_seconds of shard {name!r} is above 0, got {seconds!r:.80}"
        )
    return url, variable, float(seconds)
