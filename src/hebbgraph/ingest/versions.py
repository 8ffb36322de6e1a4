"""Versions of a chunk: which one bears its id, and under which id the others are kept.

A version is identified by the chunk's id and ``valid_from``, so versions with dates may be added
in any order, and one that is added again replaces itself. A chunk without dates holds from when
it replaces another; that one ends there. The newest version bears the id. The others are chunks
of their own, whose ids follow from the chunk's id and their dates.
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
    "Arranged",
    "arranged",
    "check_versioned",
    "dated",
    "ended",
    "version_key",
]

MARK = "@@"
"""What separates the id of a chunk from the date of an old version."""

_FIELDS = ("valid_from", "valid_until", "supersedes")
_TICK = timedelta(microseconds=1)
_LONGEST_DATE = len("until-2024-05-17T09:30:00.000000Z")


class Arranged(NamedTuple):
    """What a batch leads to, as it is to be written.

    Attributes
    ----------
    put : list of Chunk
        The chunks of the batch, under the ids that they get.
    moved : list of Chunk
        Versions held before, of which ids or ends change.
    """

    put: list[Chunk]
    moved: list[Chunk]


def check_versioned(chunk: Chunk) -> None:
    """Raise InvalidChunkError for an id that could be that of an old version."""
    if chunk.version_of is not None:
        return  # as it was read from an index
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
    """Return a chunk that says itself what fields of its metadata say about time.

    Parameters
    ----------
    chunk : Chunk
    fields : (valid_from, valid_until, supersedes), optional
        Names of metadata fields, for what the chunk leaves out.

    Raises
    ------
    InvalidChunkError
        If such a field holds something else.

    Examples
    --------
    >>> names = ("published", "expires", "replaces")
    >>> dated(Chunk(text="x", metadata={"published": "2024-05-17"}), names).valid_from.year
    2024
    """
    if fields is None:
        return chunk
    own = (chunk.valid_from, chunk.valid_until, chunk.supersedes)
    said = {
        name: value
        for name, field, has in zip(_FIELDS, fields, own, strict=True)
        if not has and (value := chunk.metadata.get(field)) not in (None, "", [])
    }
    if not said:
        return chunk
    if isinstance(said.get("supersedes"), str):
        said["supersedes"] = [said["supersedes"]]
    try:
        return Chunk.coerce(dict(chunk) | said)
    except InvalidChunkError as error:
        raise InvalidChunkError(
            f"{error}; it is read from metadata: mend it there, or name other fields by "
            "Settings(time_fields=...)"
        ) from error


def version_key(chunk: Chunk) -> str:
    """Return what tells a version from the others of its chunk.

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


def arranged(chunks: Iterable[Chunk], held: Mapping[str, Chunk], now: datetime) -> Arranged:
    """Arrange new versions among those that are held.

    Parameters
    ----------
    chunks : iterable of Chunk
        New ones. Of one id, several in order of arrival.
    held : mapping
        The chunks of these ids and their old versions, by the id under which they are kept.
    now : datetime
        When a chunk without dates replaces another one.

    Examples
    --------
    >>> old = Chunk(id="fare", text="4 crowns", valid_from="2021")
    >>> new = Chunk(id="fare", text="5 crowns", valid_from="2024")
    >>> found = arranged([new], {"fare": old}, now=new.valid_from)
    >>> [chunk.id for chunk in found.put], [chunk.id for chunk in found.moved]
    (['fare'], ['fare@@2021-01-01'])
    """
    by_subject: dict[str, list[Chunk]] = {}
    for chunk in held.values():
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
        # The chunk under its own id is the newest, dates or not.
        if subject in held and versions:
            current = _bare(held[subject])
            versions.remove(current)
            versions.append(current)
        kept = [_put(versions, chunk, now) for chunk in incoming]
        for at, version in enumerate(versions):
            is_new = any(version is one for one in kept)
            if at < len(versions) - 1:
                version = _as_old(version, versions[at - 1].valid_until if at else None)
            if is_new:
                put.append(version)
            elif held.get(version.id) != version:
                moved.append(version)
    return Arranged(put, moved)


def ended(chunk: Chunk, now: datetime) -> Chunk:
    """Return a chunk that holds until now, or until it would have ended before.

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
    """Put one version in its place among the others; return it as it is kept."""
    same = next((at for at, one in enumerate(versions) if _is_same(one, chunk)), None)
    if same is not None:
        return versions[same]
    undated = chunk.valid_from is None and chunk.valid_until is None
    if not undated:
        key = version_key(chunk)
        at = next((at for at, one in enumerate(versions) if version_key(one) == key), None)
        if at is not None:
            versions[at] = chunk
            return chunk
        # One without dates that is in force was there before.
        place = sum(_order(one) < _order(chunk) for one in versions)
        versions.insert(place, chunk)
        return chunk
    if versions:
        ends = (one.valid_until for one in versions if one.valid_from is None)
        now = max([now, *(end + _TICK for end in ends if end is not None)])
        versions[-1] = ended(versions[-1], now)
    versions.append(chunk)
    return chunk


def _is_same(held: Chunk, chunk: Chunk) -> bool:
    """Return whether a version is held as it is, but for the end that another gave it."""
    if chunk.valid_until is None and chunk.valid_from is not None:
        held = held.model_copy(update={"valid_until": None})
    return held == chunk


def _bare(chunk: Chunk) -> Chunk:
    if chunk.version_of is None:
        return chunk
    return chunk.model_copy(update={"id": chunk.version_of, "version_of": None})


def _as_old(chunk: Chunk, since: datetime | None) -> Chunk:
    """Return a version as it is kept; one without dates held since the end of the one before."""
    if chunk.valid_from is None and chunk.valid_until is None and since is not None:
        chunk = chunk.model_copy(update={"valid_from": since})
    return chunk.model_copy(
        update={"id": f"{chunk.id}{MARK}{version_key(chunk)}", "version_of": chunk.id}
    )


def _order(chunk: Chunk) -> tuple[int, int]:
    return order_of(chunk.valid_from, chunk.valid_until)
