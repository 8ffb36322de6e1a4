"""Sources as they appear in a prompt, and the chunks that keys and ids stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from hebbgraph.citations.markers import LONG_ID, known_names
from hebbgraph.records import Chunk

__all__ = ["PREFIX", "Rendered", "Source", "SourceLike", "as_source", "planted_ids"]

#: This many characters identify a chunk in a prompt, even if the rest is cut off.
PREFIX = 64
#: A quotation shorter than this may occur anywhere.
_QUOTE = 20


@dataclass(frozen=True, slots=True)
class Source:
    """A text for a formatter; a :class:`~hebbgraph.Chunk` works as well.

    ``id`` is the chunk's, or empty for another retriever's text: it gets a key like the others,
    and citing it has no effect.
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
        The sources shown, in the order of the prompt.
    keys : dict of str to str
        Maps keys to chunk ids. Several keys may stand for one chunk.
    text : str
        The rendered text; empty if it was read back from a prompt.
    blocks : tuple of str
        The chunk ids (or "") of the prompt's native document blocks, by index.
    shared : dict of str to tuple of str
        Further chunks that a key stands for: the hits within a parent document.
    forms : frozenset of str
        Forms of keys in the prompt, other than brackets, that an answer may use: ``"("`` for
        ``(1)``, ``"label"`` for ``Source 1``.
    foreign : frozenset of str
        Keys of other retrievers' texts.

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
    def numbered(cls, sources: Iterable[SourceLike]) -> Rendered:
        """Describe a prompt in which something else has numbered the sources, in this order."""
        numbered = tuple(map(as_source, sources))
        keys = {str(number): source.id for number, source in enumerate(numbered, 1) if source.id}
        return cls(numbered, keys, blocks=tuple(source.id for source in numbered))

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The chunks shown, each once."""
        return tuple(dict.fromkeys(source.id for source in self.sources if source.id))

    @cached_property
    def names(self) -> frozenset[str]:
        """All keys and ids."""
        return frozenset((*self.ids, *self.keys))

    @cached_property
    def _valid(self) -> dict[str, str]:
        """Keys that do not occur as a marker in any shown text."""
        planted: set[str] = set()
        for source in self.sources:
            planted.update(known_names(f"{source.title}\n{source.text}", self.keys))
        return {key: id_ for key, id_ in self.keys.items() if key not in planted}

    @cached_property
    def titles(self) -> dict[str, str]:
        """Lower-case titles that one shown chunk has and no shown text contains as a marker."""
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
        """Ids that occur in a shown text, where an answer may have copied them from."""
        return frozenset(planted_ids(self.ids, self.sources))

    @cached_property
    def _squashed(self) -> list[tuple[str, str]]:
        return [(source.id, _squash(source.text)) for source in self.sources if source.id]

    def chunk_ids(self, name: str) -> tuple[str, ...]:
        """Return the chunks that a key, an id or a title stands for; of a parent document, several.

        Empty if there are none, or if a shown text contains the name as a marker.
        """
        if (id_ := self._valid.get(name) or self._valid.get(name.lower())) is not None:
            return (id_, *(self.shared.get(name) or self.shared.get(name.lower()) or ()))
        if name in self.keys or name.isdecimal() or name in self._planted_ids:
            return ()
        id_ = name if name in self.ids else self.titles.get(" ".join(name.lower().split()))
        return () if id_ is None else (id_,)

    def text_of(self, id: str) -> str:
        """Return the shown text of a chunk."""
        return next((source.text for source in self.sources if source.id == id), "")

    def containing(self, quote: str) -> list[str]:
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
    for source in sources:
        text = f"{source.title}\n{source.text}"
        yield from known_names(text, known)
        yield from (id_ for id_ in known if len(id_) >= LONG_ID and id_ in text)


def _squash(text: str) -> str:
    return " ".join(text.split())
