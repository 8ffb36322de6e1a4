"""``shards.toml``: which shards there are, in which order, and whose a document is."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from hebbgraph.errors import NotAnIndexError, ParameterError
from hebbgraph.store.places import as_directory, is_url

__all__ = ["ROWS", "ShardPlace", "ShardPlan", "home_of", "is_plan", "number_of", "write_plan"]

#: Rows of the database that belong to one shard: so a row tells its shard, and rows ascend
#: from shard to shard.
ROWS = 1 << 40
_MOST = 1 << 12
_COORDINATOR = "coordinator"


class ShardPlace(NamedTuple):
    """Where one shard lies.

    Attributes
    ----------
    number : int
        Its place in the file, from 0.
    name : str
    path : Path
    namespaces : tuple of str
        The only namespaces that it keeps; empty for all that no shard claims.
    """

    number: int
    name: str
    path: Path
    namespaces: tuple[str, ...] = ()


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
        if len(tables) > _MOST:
            raise ParameterError(f"{file}: at most {_MOST} shards, got {len(tables)}")
        places = tuple(_place(file, number, table) for number, table in enumerate(tables))
        for what, values in (
            ("name", [place.name for place in places]),
            ("path", [str(place.path.absolute()) for place in places]),
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


def write_plan(file: Path, shards: int | Sequence[str | Path]) -> None:
    """Write a plan of so many shards beside the file, or of these directories.

    Raises
    ------
    ParameterError
        If they are no plan; nothing is written then.
    """
    if isinstance(shards, int):
        if isinstance(shards, bool) or not 1 <= shards <= _MOST:
            raise ParameterError(f"from 1 to {_MOST} shards, got {shards!r}")
        shards = [f"shard-{number}" for number in range(shards)]
    if isinstance(shards, str) or not isinstance(shards, Sequence):
        raise ParameterError(f"shards is how many, or a list of directories, got {shards!r:.200}")
    entries = [{"name": Path(one).name, "path": str(one)} for one in shards]
    ShardPlan._of_tables(file, {"shard": entries})
    written = (
        "[[shard]]\n" + "".join(f"{key} = {_quoted(value)}\n" for key, value in one.items())
        for one in entries
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(written), "utf-8")


def _quoted(value: str) -> str:
    """Return a string as TOML has it: as JSON, but for pairs of surrogates and DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _hash(name: str, document: str) -> bytes:
    return blake2b(f"{name}\0{document}".encode(), digest_size=8).digest()


def _place(file: Path, number: int, table: Any) -> ShardPlace:
    known = {"name", "path", "namespaces"}
    if not isinstance(table, dict) or not {"name", "path"} <= table.keys() <= known:
        raise ParameterError(f"{file}: a shard has name and path, and may have namespaces")
    name, path = table["name"], table["path"]
    if not (isinstance(name, str) and name and name.isprintable()):
        raise ParameterError(f"{file}: the name of a shard is a printable str, got {name!r:.80}")
    if is_url(path):
        raise ParameterError(
            f"{file}: shard {name!r} is a directory of this machine; shards behind a URL are "
            "not supported"
        )
    where = file.parent / as_directory(path, f"path of shard {name!r}")
    namespaces = table.get("namespaces", [])
    if not isinstance(namespaces, list) or not all(isinstance(one, str) for one in namespaces):
        raise ParameterError(f"{file}: namespaces of shard {name!r} are a list of str")
    return ShardPlace(number, name, where, tuple(namespaces))
