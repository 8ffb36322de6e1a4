"""Versions of a chunk: the newest one has the chunk's id, the others get ids with their dates.

A version is identified by the chunk's id and ``valid_from``, so dated versions may be added
in any order, and adding one again replaces it. A chunk without dates is valid from the moment it
replaces another, which ends then. Old versions are chunks of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from hebbgraph.errors import InvalidChunkError
from hebbgraph.limits import MAX_ID
from hebbgraph.moments import moment_text, order_of
from hebbgraph.records import Chunk

__all__ = [
    "MARK",
    "ArrangedBatch",
    "arranged",
    "check_versioned",
    "dated",
    "ended",
    "version_key",
]

MARK = "@@"
"""Separates the id of a chunk from the date of an old version."""

_FIELDS = ("valid_from", "valid_until", "supersedes")
_TICK = timedelta(microseconds=1)
_LONGEST_DATE = len("until-2024-05-17T09:30:00.000000Z")


class ArrangedBatch(NamedTuple):
    """The chunks to write for a batch.

    Attributes
    ----------
    put : list of Chunk
        The chunks of the batch, with their final ids.
    moved : list of Chunk
        Stored versions whose ids or ends change.
    """

    put: list[Chunk]
    moved: list[Chunk]


def check_versioned(chunk: Chunk) -> None:
    """Raise InvalidChunkError for an id that could be that of an old version."""
    if chunk.version_of is not None:
        return  # read from an index
    if MARK in chunk.id:
        raise InvalidChunkError(
            f"chunk {chunk.id!r}: with keep_versions, an id cannot contain {MARK!r}, which "
            "separates it from the date of an old version"
        )
    if len(chunk.id) > MAX_ID - len(MARK) - _LONGEST_DATE:
        raise InvalidChunkError(
            f"chunk {chunk.id[:40]!r}…: with keep_versions, an id has at most "
            f"{MAX_ID - len(MARK) - _LONGEST_DATE} characters, got {len(chunk.id)}"
        )


def dated(chunk: Chunk, fields: tuple[str, str, str] | None) -> Chunk:
    """Fill in the dates of a chunk from its metadata.

    Parameters
    ----------
    chunk : Chunk
    fields : (valid_from, valid_until, supersedes), optional
        Names of metadata fields, used where the chunk has no value.

    Raises
    ------
    InvalidChunkError
        If such a field has an invalid value.

    Examples
    --------
    >>> names = ("published", "expires", "replaces")
    >>> dated(Chunk(text="x", metadata={"published": "2024-05-17"}), names).valid_from.year
    2024
    """
    if fields is None:
        return chunk
    values = {
        name: value
        for name, field in zip(_FIELDS, fields, strict=True)
        if not getattr(chunk, name) and (value := chunk.metadata.get(field)) not in (None, "", [])
    }
    if not values:
        return chunk
    if isinstance(values.get("supersedes"), str):
        values["supersedes"] = [values["supersedes"]]
    try:
        return Chunk.coerce(dict(chunk) | values)
    except InvalidChunkError as error:
        raise InvalidChunkError(
            f"{error}; it is read from metadata: correct it there, or name other fields by "
            "Settings(time_fields=...)"
        ) from error


def version_key(chunk: Chunk) -> str:
    """Return the key that distinguishes a version from others of its chunk.

    Examples
    --------
    >>> version_key(Chunk(id="fare", text="5 crowns", valid_from="2024-05"))
    '2024-05-01'
    >>> version_key(Chunk(id="fare", text="4 crowns", valid_until="2024-05"))
    'until-2024-05-01'
    """
    if chunk.valid_from is not None:
        return moment_text(chunk.valid_from)
    return "earlier" if chunk.valid_until is None else f"until-{moment_text(chunk.valid_until)}"


def arranged(chunks: Iterable[Chunk], stored: Mapping[str, Chunk], now: datetime) -> ArrangedBatch:
    """Arrange new versions among the stored ones.

    Parameters
    ----------
    chunks : iterable of Chunk
        New chunks; those with the same id in order of arrival.
    stored : mapping
        The stored chunks of these ids and their old versions, by stored id.
    now : datetime
        The moment at which a chunk without dates replaces another one.

    Examples
    --------
    >>> old = Chunk(id="fare", text="4 crowns", valid_from="2021")
    >>> new = Chunk(id="fare", text="5 crowns", valid_from="2024")
    >>> put, moved = arranged([new], {"fare": old}, now=new.valid_from)
    >>> [chunk.id for chunk in put], [chunk.id for chunk in moved]
    (['fare'], ['fare@@2021-01-01'])
    """
    by_subject: dict[str, list[Chunk]] = {}
    for chunk in stored.values():
        by_subject.setdefault(chunk.version_of or chunk.id, []).append(_bare(chunk))
    for versions in by_subject.values():
        versions.sort(key=_order)
    new: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        new.setdefault(chunk.version_of or chunk.id, []).append(_bare(chunk))
    put: list[Chunk] = []
    moved: list[Chunk] = []
    for subject, incoming in new.items():
        versions = by_subject.get(subject, [])
        # The chunk under its own id is the newest, with dates or without.
        if subject in stored and versions:
            current = _bare(stored[subject])
            versions.remove(current)
            versions.append(current)
        new_versions = [_put(versions, chunk, now) for chunk in incoming]
        for at, version in enumerate(versions):
            is_new = any(version is new_version for new_version in new_versions)
            if at < len(versions) - 1:
                version = _as_old(version, versions[at - 1].valid_until if at else None)
            if is_new:
                put.append(version)
            elif stored.get(version.id) != version:
                moved.append(version)
    return ArrangedBatch(put, moved)


def ended(chunk: Chunk, now: datetime) -> Chunk:
    """Return a chunk that is valid until now, or until its earlier end.

    Examples
    --------
    >>> new_year = Chunk(text="", valid_from="2025").valid_from
    >>> ended(Chunk(text="x", valid_until="2024"), new_year).valid_until.year
    2024
    """
    if chunk.valid_from is not None:
        now = max(now, chunk.valid_from + _TICK)
    if chunk.valid_until is not None and chunk.valid_until <= now:
        return chunk
    return chunk.model_copy(update={"valid_until": now})


def _put(versions: list[Chunk], chunk: Chunk, now: datetime) -> Chunk:
    """Put one version in its place among the others; return it as stored."""
    same = next((version for version in versions if _is_same(version, chunk)), None)
    if same is not None:
        return same
    if chunk.valid_from is not None or chunk.valid_until is not None:
        keys = list(map(version_key, versions))
        if (key := version_key(chunk)) in keys:
            versions[keys.index(key)] = chunk
        else:  # behind a current version without dates, which was there before
            versions.insert(sum(_order(version) < _order(chunk) for version in versions), chunk)
        return chunk
    if versions:
        ends = (version.valid_until for version in versions if version.valid_from is None)
        now = max([now, *(end + _TICK for end in ends if end is not None)])
        versions[-1] = ended(versions[-1], now)
    versions.append(chunk)
    return chunk


def _is_same(stored: Chunk, chunk: Chunk) -> bool:
    """Return whether a version is stored already, apart from an end set by a later version."""
    if chunk.valid_until is None and chunk.valid_from is not None:
        stored = stored.model_copy(update={"valid_until": None})
    return stored == chunk


def _bare(chunk: Chunk) -> Chunk:
    if chunk.version_of is None:
        return chunk
    return chunk.model_copy(update={"id": chunk.version_of, "version_of": None})


def _as_old(chunk: Chunk, since: datetime | None) -> Chunk:
    """Return an old version as stored; without dates, it is valid since the previous one's end."""
    if chunk.valid_from is None and chunk.valid_until is None and since is not None:
        chunk = chunk.model_copy(update={"valid_from": since})
    return chunk.model_copy(
        update={"id": f"{chunk.id}{MARK}{version_key(chunk)}", "version_of": chunk.id}
    )


def _order(chunk: Chunk) -> tuple[int, int]:
    return order_of(chunk.valid_from, chunk.valid_until)
