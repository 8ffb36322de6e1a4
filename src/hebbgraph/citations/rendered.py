"""Sources as they appear in a prompt, and which chunk a key or an id stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from hebbgraph.citations.markers import LONG_ID, known_names
from hebbgraph.records import Chunk

__all__ = ["PREFIX", "Rendered", "Source", "SourceLike", "as_source", "planted_ids"]

#: So much of a chunk's beginning identifies it in a prompt, be the rest cut off.
PREFIX = 64
#: A quotation shorter than this may occur anywhere.
_QUOTE = 20


@dataclass(frozen=True, slots=True)
class Source:
    """A text for a formatter; :class:`~hebbgraph.Chunk` works as well.

    ``id`` is the chunk's, or empty for a text that is not ours: it gets a key like the others, and
    citing it has no effect.
    """

    id: str
    text: str
    title: str = ""


SourceLike: TypeAlias = Source | Chunk


@dataclass(frozen=True)
class Rendered:
    """Sources as they appear in a prompt.

    Attributes
    ----------
    sources : tuple of Source
        Those shown, in the order of the prompt.
    keys : dict of str to str
        Key to chunk id. Several keys may lead to one chunk.
    text : str
        The rendered text; empty if it was read back from a prompt.
    blocks : tuple of str
        Chunk ids (or "") of the prompt's native document blocks, by index.
    shared : dict of str to tuple of str
        Further chunks that a key stands for: of a parent document, those that were found.
    forms : frozenset of str
        Forms of keys in the prompt that an answer may take up, other than brackets: ``"("`` for
        ``(1)``, ``"label"`` for ``Source 1``.
    foreign : frozenset of str
        Keys of texts that are not ours.

    Examples
    --------
    >>> Rendered.numbered([Source("petrel", "Built by Ida Moss.")]).keys
    {'1': 'petrel'}
    """

    sources: tuple[Source, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    blocks: tuple[str, ...] = ()
    shared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    forms: frozenset[str] = frozenset()
    foreign: frozenset[str] = frozenset()

    @classmethod
    def numbered(cls, sources: Iterable[SourceLike], *, start: int = 1) -> Rendered:
        """Describe a prompt that something else numbered, in the order of ``sources``."""
        own = tuple(map(as_source, sources))
        keys = {str(number): one.id for number, one in enumerate(own, start) if one.id}
        return cls(own, keys, blocks=tuple(one.id for one in own))

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The chunks shown, each once."""
        return tuple(dict.fromkeys(one.id for one in self.sources if one.id))

    @cached_property
    def id_set(self) -> frozenset[str]:
        """The chunks shown, as a set."""
        return frozenset(self.ids)

    @cached_property
    def names(self) -> frozenset[str]:
        """All keys and ids."""
        return self.id_set.union(self.keys)

    @cached_property
    def _valid(self) -> dict[str, str]:
        """Keys that do not occur as a marker in any shown text."""
        planted: set[str] = set()
        for one in self.sources:
            planted.update(known_names(f"{one.title}\n{one.text}", self.keys))
        return {key: id_ for key, id_ in self.keys.items() if key not in planted}

    @cached_property
    def titles(self) -> dict[str, str]:
        """Titles, folded, that a single shown chunk has, and no shown text holds as a marker."""
        ids: dict[str, set[str]] = {}
        for source in self.sources:
            if title := " ".join(source.title.lower().split()):
                ids.setdefault(title, set()).add(source.id)
        planted = {
            name.lower()
            for source in self.sources
            for name in known_names(source.text.lower(), ids)
        }
        return {
            title: owner
            for title, (owner, *others) in ids.items()
            if owner and not others and title not in planted
        }

    @cached_property
    def _planted_ids(self) -> frozenset[str]:
        """Ids that occur in a shown text, from which an answer may have copied them."""
        return frozenset(planted_ids(self.ids, self.sources))

    @cached_property
    def _squashed(self) -> list[tuple[str, str]]:
        return [(one.id, _squash(one.text)) for one in self.sources if one.id]

    def find(self, name: str) -> str | None:
        """Return the chunk that a key or an id stands for, or None."""
        if (found := self._valid.get(name) or self._valid.get(name.lower())) is not None:
            return found
        if name in self.keys or name.isdecimal():
            return None
        if name in self.id_set:
            return None if name in self._planted_ids else name
        return self.titles.get(" ".join(name.lower().split()))

    def behind(self, name: str) -> tuple[str, ...]:
        """Return all chunks that a key or an id stands for: several, of a parent document."""
        found = self.find(name)
        if found is None:
            return ()
        more = self.shared.get(name) or self.shared.get(name.lower()) or ()
        return (found, *more)

    def text_of(self, id: str) -> str:
        """Return the shown text of a chunk."""
        return next((one.text for one in self.sources if one.id == id), "")

    def holding(self, quote: str) -> list[str]:
        """Return the chunks whose shown text contains a quotation, ignoring white space."""
        wanted = _squash(quote[:2_000]).strip(" .…\"'“”«»")
        if len(wanted) < _QUOTE:
            return []
        return list(dict.fromkeys(id_ for id_, text in self._squashed if wanted in text))


def as_source(value: SourceLike) -> Source:
    """Return a source unchanged; convert a chunk."""
    if isinstance(value, Source):
        return value
    return Source(value.id, value.text, value.title)


def planted_ids(ids: Iterable[str], sources: Iterable[Source]) -> Iterator[str]:
    """Yield the ids that occur in a text as an answer would cite them."""
    known = dict.fromkeys(ids, "")
    for one in sources:
        text = f"{one.title}\n{one.text}"
        yield from known_names(text, known)
        yield from (id_ for id_ in known if len(id_) >= LONG_ID and id_ in text)


def _squash(text: str) -> str:
    return " ".join(text.split())
