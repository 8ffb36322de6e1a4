"""Where the texts of a namespace are: in the database, or in a store of the caller's.

Readers ask a :class:`TextStore` and need not know which. Of a text kept elsewhere the database
holds an *imprint* of 24 bytes: the hash that learning uses, and the key of tagging models'
answers. So a text that has changed since it was added is noticed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from hashlib import blake2b
from typing import Any, NamedTuple

from pydantic_core import to_json

from hebbgraph.errors import TextSourceError
from hebbgraph.protocols import TextSource
from hebbgraph.records import Chunk, Hit, storable, text_hash

__all__ = [
    "CheckedText",
    "Passage",
    "TextState",
    "TextStore",
    "TextsElsewhere",
    "content_key",
    "content_key_of",
    "hash_in",
    "imprint",
    "some_of",
    "vector_key",
]

logger = logging.getLogger(__name__)

#: Characters of texts just added that derived parts have not read yet.
_MOST_REMEMBERED = 16_000_000
_NAMED = 3
_HASH_BYTES = 8


class TextState(Enum):
    """What became of a text since it was added."""

    same = "same"
    changed = "changed"
    missing = "missing"


class Passage(NamedTuple):
    """What the database holds of a chunk's text: the text, or its imprint."""

    id: str
    title: str
    held: Any


class CheckedText(NamedTuple):
    """A text, empty if it is missing, and its state."""

    text: str
    state: TextState


def content_key(title: str, text: str) -> bytes:
    """Return 16 bytes that differ if what a tagger reads differs.

    Examples
    --------
    >>> content_key("a", "bc") == content_key("ab", "c")
    False
    """
    return blake2b(to_json([title, text]), digest_size=16).digest()


def imprint(title: str, text: str) -> bytes:
    """Return the 24 bytes stored for a text kept elsewhere."""
    return bytes.fromhex(text_hash(title, text)) + content_key(title, text)


def hash_in(imprint: bytes) -> str:
    """Return the :func:`~hebbgraph.records.text_hash` of the text that was added."""
    return bytes(imprint[:_HASH_BYTES]).hex()


def content_key_of(title: str, text: str, imprint: bytes | None) -> bytes:
    """Return the :func:`content_key` of a row with the text or its imprint."""
    return content_key(title, text) if imprint is None else bytes(imprint[_HASH_BYTES:])


def vector_key(title: str, text: str, imprint: bytes | None, context: str | None) -> bytes:
    """Return 16 bytes that differ if what is embedded of a row differs."""
    key = content_key_of(title, text, imprint)
    return blake2b(key + context.encode(), digest_size=16).digest() if context else key


class TextStore:
    """Reads and writes the part of a chunk's row that concerns its text: the text itself."""

    #: Whether the database has the texts, so that derived parts may hold them too.
    here = True
    #: The column of :attr:`Passage.held`.
    column = "text"

    def values(self, chunk: Chunk) -> tuple[str, bytes | None]:
        """Return what is stored of a chunk's text: the text and its imprint."""
        return chunk.text, None

    def stored_order(self, phrases: Sequence[str]) -> Sequence[str]:
        """Return phrases of a text in the order in which they may be stored."""
        return phrases

    def read(self, passages: Sequence[Passage]) -> list[CheckedText]:
        """Return the texts, in order; asks the source once."""
        return [CheckedText(passage.held, TextState.same) for passage in passages]

    def remember(self, chunks: Iterable[Chunk], generation: int) -> None:
        """Hold texts that are being written, as they are about to be read."""

    def forget(self, generation: int) -> None:
        """Drop remembered texts: all parts are derived up to this generation."""


class TextsElsewhere(TextStore):
    """Texts are in a store of the caller's.

    Parameters
    ----------
    source : TextSource, optional
        Without it, whatever needs a text raises, and hits have none.
    place : str
        The name of the index in messages.
    """

    here = False
    column = "imprint"

    def __init__(self, source: TextSource | None, place: str) -> None:
        self._source = source
        self._place = place
        self._lock = threading.Lock()
        self._remembered: dict[str, tuple[int, str]] = {}
        self._n_remembered = 0

    def values(self, chunk: Chunk) -> tuple[str, bytes | None]:
        return "", imprint(chunk.title, chunk.text)

    def stored_order(self, phrases: Sequence[str]) -> Sequence[str]:
        return sorted(phrases)  # not in the order of the text

    def read(self, passages: Sequence[Passage]) -> list[CheckedText]:
        checked = self._checked([(one.id, one.title, hash_in(one.held)) for one in passages])
        for state in (TextState.missing, TextState.changed):
            if off := sum(text.state is state for text in checked):
                logger.warning("%s: texts %s: %d; doctor names them", self._place, state.value, off)
        return checked

    def completed(self, hits: tuple[Hit, ...]) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
        """Return hits with their texts, and notes for the reader; asks once."""
        if self._source is None:
            return hits, ("texts are kept elsewhere: open the index with texts=... to have them",)
        checked = self._checked([(one.chunk.id, one.chunk.title, one.hash_of_text) for one in hits])
        states = [one.state for one in checked]
        notes = [
            f"{what}: {some_of(off)}"
            for state, what in (
                (TextState.missing, "hits without text, for the store has none"),
                (TextState.changed, "text has changed since it was added; add it again"),
            )
            if (
                off := [hit.chunk.id for hit, is_ in zip(hits, states, strict=True) if is_ is state]
            )
        ]
        return tuple(map(_with_text, hits, checked)), tuple(notes)

    def remember(self, chunks: Iterable[Chunk], generation: int) -> None:
        with self._lock:
            for chunk in chunks:
                self._drop(chunk.id)
                self._remembered[chunk.id] = generation, chunk.text
                self._n_remembered += len(chunk.text)
            while self._n_remembered > _MOST_REMEMBERED:
                self._drop(next(iter(self._remembered)))

    def forget(self, generation: int) -> None:
        with self._lock:
            for id_ in [id_ for id_, (at, _) in self._remembered.items() if at <= generation]:
                self._drop(id_)

    def _drop(self, id_: str) -> None:
        if (held := self._remembered.pop(id_, None)) is not None:
            self._n_remembered -= len(held[1])

    def _checked(self, wanted: Sequence[tuple[str, str, str]]) -> list[CheckedText]:
        """Return the text of each (id, title, hash of the text that was added)."""
        with self._lock:
            at_hand = {
                id_: self._remembered[id_][1] for id_, _, _ in wanted if id_ in self._remembered
            }
        fresh = {
            id_
            for id_, title, expected in wanted
            if id_ in at_hand and text_hash(title, at_hand[id_]) == expected
        }
        given = self._asked([id_ for id_, _, _ in wanted if id_ not in fresh])
        return [
            CheckedText(at_hand[id_], TextState.same)
            if id_ in fresh
            else _compared(title, given.get(id_), expected)
            for id_, title, expected in wanted
        ]

    def _asked(self, ids: list[str]) -> dict[str, str]:
        """Ask the source; no lock is held and no transaction open."""
        if not ids:
            return {}
        if self._source is None:
            raise TextSourceError(
                f"{self._place} keeps no texts, and {len(ids)} are needed; open it with "
                "texts=..., a callable from ids to texts"
            )
        try:
            given = self._source(ids)
            if not isinstance(given, Mapping):
                raise TextSourceError(
                    f"a source of texts gives a mapping from id to text, got {type(given).__name__}"
                )
            return {id_: _text_of(id_, given[id_]) for id_ in ids if given.get(id_) is not None}
        except TextSourceError:
            raise
        except Exception as error:
            raise TextSourceError(
                f"the source of texts failed, asked for {len(ids)}: "
                f"{type(error).__name__}: {error}; the index is as it was"
            ) from error


def _text_of(id_: str, value: object) -> str:
    if isinstance(value, Chunk):
        return value.text
    if isinstance(value, str):
        return value
    raise TextSourceError(
        f"a source of texts gives a str or a Chunk for each id, got {type(value).__name__} "
        f"for {id_!r}"
    )


def _compared(title: str, text: str | None, expected: str) -> CheckedText:
    if text is None:
        return CheckedText("", TextState.missing)
    clean = storable(text)  # a lone surrogate has no hash
    same = clean == text and text_hash(title, text) == expected
    return CheckedText(clean, TextState.same if same else TextState.changed)


def _with_text(hit: Hit, read: CheckedText) -> Hit:
    if read.state is TextState.missing:
        return hit
    chunk = hit.chunk.model_copy(update={"text": read.text})
    shown = hit.text_hash if read.state is TextState.same else text_hash(chunk.title, read.text)
    return hit.model_copy(update={"chunk": chunk, "text_hash": shown})


def some_of(ids: Sequence[str]) -> str:
    """Name the first few ids, and say how many more there are."""
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return ", ".join(map(repr, ids[:_NAMED])) + more
