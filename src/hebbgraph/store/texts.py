"""Where the texts of a namespace are: in the database, or in a store of the caller's.

Readers ask a :class:`TextStore` and need not know which. For a text kept elsewhere the database
has an *imprint* of 24 bytes: the hash that learning uses, and the key of tagging models' answers.
It reveals whether a text has changed since it was added.
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

#: Characters of texts that were just added, and that derived parts have not read yet.
_MOST_REMEMBERED = 16_000_000
_MOST_NAMED = 3
_HASH_BYTES = 8


class TextState(Enum):
    """What has become of a text since it was added."""

    same = "same"
    changed = "changed"
    missing = "missing"


class Passage(NamedTuple):
    """A chunk with what the database stores for its text: the text, or its imprint."""

    id: str
    title: str
    stored: Any


class CheckedText(NamedTuple):
    """A text, empty if it is missing, and its state."""

    text: str
    state: TextState


def content_key(title: str, text: str) -> bytes:
    """Return a hash of what a tagger reads, 16 bytes.

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
    """Return a hash of what is embedded of a row, 16 bytes."""
    key = content_key_of(title, text, imprint)
    return blake2b(key + context.encode(), digest_size=16).digest() if context else key


class TextStore:
    """Texts are in the database."""

    #: Whether the database has the texts; then derived parts may have them too.
    here = True
    #: The column of :attr:`Passage.stored`.
    column = "text"

    def values(self, chunk: Chunk) -> tuple[str, bytes | None]:
        """Return the values of a chunk's columns ``text`` and ``imprint``."""
        return chunk.text, None

    def stored_order(self, phrases: Sequence[str]) -> Sequence[str]:
        """Return phrases of a text in an order that may be stored."""
        return phrases

    def read(self, passages: Sequence[Passage]) -> list[CheckedText]:
        """Return the texts, in order; a source elsewhere is asked once."""
        return [CheckedText(passage.stored, TextState.same) for passage in passages]

    def remember(self, chunks: Iterable[Chunk], generation: int) -> None:
        """Cache texts that are being written, since derived parts read them soon."""

    def forget(self, generation: int) -> None:
        """Drop cached texts up to a generation: derived parts have read them."""


class TextsElsewhere(TextStore):
    """Texts are in a store of the caller's.

    Parameters
    ----------
    source : TextSource, optional
        Without it, hits have no text, and reading texts raises TextSourceError.
    place : str
        Names the index in messages.
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
        return sorted(phrases)  # the order of the text would reveal it

    def read(self, passages: Sequence[Passage]) -> list[CheckedText]:
        texts = self._checked([(p.id, p.title, hash_in(p.stored)) for p in passages])
        for state in (TextState.missing, TextState.changed):
            if count := sum(text.state is state for text in texts):
                logger.warning(
                    "%s: texts %s: %d; doctor names them", self._place, state.value, count
                )
        return texts

    def completed(self, hits: tuple[Hit, ...]) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
        """Return hits with their texts, and notes for the reader; asks the source once."""
        if self._source is None:
            return hits, ("texts are kept elsewhere: open the index with texts=... to have them",)
        texts = self._checked([(hit.chunk.id, hit.chunk.title, hit.hash_of_text) for hit in hits])
        notes = []
        for state, problem in (
            (TextState.missing, "hits without text, for the store has none"),
            (TextState.changed, "text has changed since it was added; add it again"),
        ):
            pairs = zip(hits, texts, strict=True)
            if ids := [hit.chunk.id for hit, text in pairs if text.state is state]:
                notes.append(f"{problem}: {some_of(ids)}")
        return tuple(map(_with_text, hits, texts)), tuple(notes)

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
            old = [id_ for id_, (written, _) in self._remembered.items() if written <= generation]
            for id_ in old:
                self._drop(id_)

    def _drop(self, id_: str) -> None:
        if (remembered := self._remembered.pop(id_, None)) is not None:
            self._n_remembered -= len(remembered[1])

    def _checked(self, requests: Sequence[tuple[str, str, str]]) -> list[CheckedText]:
        """Return the text of each (id, title, hash of the text that was added)."""
        with self._lock:
            texts = {
                id_: self._remembered[id_][1] for id_, _, _ in requests if id_ in self._remembered
            }
        texts = {
            id_: texts[id_]
            for id_, title, expected in requests
            if id_ in texts and text_hash(title, texts[id_]) == expected
        }
        texts |= self._ask([id_ for id_, _, _ in requests if id_ not in texts])
        return [_compared(title, texts.get(id_), expected) for id_, title, expected in requests]

    def _ask(self, ids: list[str]) -> dict[str, str]:
        """Ask the source; no lock may be held and no transaction open."""
        if not ids:
            return {}
        if self._source is None:
            raise TextSourceError(
                f"{self._place} keeps no texts, and {len(ids)} are needed; open it with "
                "texts=..., a callable from ids to texts"
            )
        try:
            answer = self._source(ids)
            if not isinstance(answer, Mapping):
                raise TextSourceError(
                    "a source of texts gives a mapping from id to text, got "
                    f"{type(answer).__name__}"
                )
            return {id_: _text_of(id_, answer[id_]) for id_ in ids if answer.get(id_) is not None}
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
    hash_ = hit.text_hash if read.state is TextState.same else text_hash(chunk.title, read.text)
    return hit.model_copy(update={"chunk": chunk, "text_hash": hash_})


def some_of(ids: Sequence[str]) -> str:
    """Name the first few ids, and say how many more there are."""
    more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
    return ", ".join(map(repr, ids[:_MOST_NAMED])) + more
