"""Labels for people: the heading and the place of a passage, and counts with their noun."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath

from hebbgraph.records import Chunk, label_of

__all__ = ["counted", "heading_of", "place_of"]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "lesson"), counted(1200, "lesson")
    ('1 lesson', '1,200 lessons')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def heading_of(chunk: Chunk) -> str:
    """Return the title and the further headings of a chunk, or else the beginning of its text.

    Examples
    --------
    >>> heading_of(Chunk(title="Petrel", text="It sails.", metadata={"headings": ["Crew", "Mate"]}))
    'Petrel › Crew › Mate'
    >>> heading_of(Chunk(text="It sails."))
    'It sails.'
    """
    values = chunk.metadata.get("headings")
    headings = (
        [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
    )
    heading = " › ".join(filter(None, dict.fromkeys((chunk.title, *headings))))
    return heading or label_of(chunk) or chunk.id


def place_of(chunk: Chunk) -> str:
    """Return the document of a chunk and its place in it; absolute paths are cut to the name.

    Examples
    --------
    >>> place_of(Chunk(text="x", document_id="/home/ada/ships/petrel.md", metadata={"position": 2}))
    'petrel.md, passage 3'
    >>> place_of(Chunk(text="x", document_id="ships/petrel.md")), place_of(Chunk(text="x"))
    ('ships/petrel.md', '')
    """
    name = chunk.document_id or ""
    if PurePosixPath(name).is_absolute():
        name = PurePosixPath(name).name
    elif PureWindowsPath(name).is_absolute():
        name = PureWindowsPath(name).name
    position = chunk.metadata.get("position")
    if not name or not isinstance(position, int):
        return name
    return f"{name}, passage {position + 1}"
