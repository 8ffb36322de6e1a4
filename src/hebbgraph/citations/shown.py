"""Finds the sources that a prompt shows, however it was written, and their keys."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate

from hebbgraph.citations.keys import Key, key_before
from hebbgraph.citations.markers import defused
from hebbgraph.citations.rendered import (
    PREFIX,
    Rendered,
    Source,
    SourceLike,
    as_source,
)

__all__ = ["MAX_PROMPT_CHARACTERS", "rendered_in", "shown_in"]

MAX_PROMPT_CHARACTERS = 4_000_000
_MAX_OCCURRENCES = 8
#: A shorter text counts only if it has a key or lines of its own.
_SHORT = 32
_MAX_SENTENCES = 40
_MAX_SEARCHED = 8_000_000

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")


@dataclass(frozen=True, slots=True)
class _Place:
    """An occurrence of a source's text in a prompt, and the key before it."""

    start: int
    stop: int
    source: int
    key: Key | None
    inside: tuple[int, ...] = ()  # our sources within another retriever's text


class _KeyTable:
    """Maps keys to chunks; a key before two different texts stands for none."""

    def __init__(self) -> None:
        self._ids: dict[str, tuple[str, ...]] = {}
        self._ambiguous: set[str] = set()
        self.forms: set[str] = set()

    def add(self, key: Key, ids: Sequence[str]) -> None:
        """Add a key before a text."""
        self.forms.update({"[": (), "name": ("(",), "label": ("label", "(")}.get(key.form, ("(",)))
        for name in (key.name, *key.others):
            if self._ids.setdefault(name, tuple(ids)) != tuple(ids):
                self._ambiguous.add(name)

    @property
    def keys(self) -> dict[str, str]:
        """The first chunk that each key stands for."""
        return {
            name: ids[0]
            for name, ids in self._ids.items()
            if ids[0] and name not in self._ambiguous
        }

    @property
    def foreign(self) -> frozenset[str]:
        """Keys of other retrievers' texts."""
        return frozenset(name for name, ids in self._ids.items() if not ids[0])

    @property
    def shared(self) -> dict[str, tuple[str, ...]]:
        """The further chunks that a key stands for."""
        return {name: self._ids[name][1:] for name in self.keys if len(self._ids[name]) > 1}


def rendered_in(
    prompt: str,
    sources: Iterable[SourceLike],
    *,
    blocks: Sequence[str] = (),
    instead: Sequence[Source] = (),
) -> Rendered:
    r"""Read back from a prompt which sources it shows, and under which keys.

    Works on any prompt: sources that a reranker or a token limit dropped are not found, and
    renumbered ones have their new keys.

    Parameters
    ----------
    prompt : str
        All text that the model received.
    sources : iterable of Source or Chunk
        Candidates, in the order of retrieval.
    blocks : sequence of str
        The texts of native document blocks, in order, for :func:`parse_annotations`. They count
        as shown.
    instead : sequence of Source
        Other texts of the same sources, such as the sentences around one. They are searched for
        the sources whose own text has no key.

    Returns
    -------
    Rendered
        A source is shown if the prompt contains its text, at least its first 64 characters, or one
        of its sentences, and not just as part of another source. Its key is in brackets at the
        start of the same line or the line before. Texts under 32 characters need a key or lines
        of their own.

    Examples
    --------
    >>> chunks = [Source("a", "Built by Ida Moss."), Source("b", "Born in Tessel Bay.")]
    >>> rendered_in("Sources:\n[1] On births\nBorn in Tessel Bay.\n\nWho?", chunks).keys
    {'1': 'b'}
    """
    candidates = list(dict.fromkeys(map(as_source, sources)))
    rendered = _rendered_in(prompt, candidates, blocks)
    keyed = set(rendered.keys.values())
    if keyless := [source for source in instead if source.id not in keyed]:
        again = _rendered_in(prompt, list(dict.fromkeys([*candidates, *keyless])), blocks)
        if not keyed.issuperset(again.keys.values()):
            return again
    return rendered


def _rendered_in(prompt: str, sources: Sequence[Source], blocks: Sequence[str]) -> Rendered:
    prompt = prompt[-MAX_PROMPT_CHARACTERS:]
    places = {at: _places(prompt, source, at) for at, source in enumerate(sources)}
    for search in (_rewrapped, _in_passages):
        if missing := {at: sources[at] for at in places if not places[at]}:
            places.update(search(prompt, missing))
    foreign = {at for at, source in enumerate(sources) if not source.id}
    everywhere = [place for at in sorted(places) for place in places[at]]
    table = _KeyTable()
    shown: dict[int, None] = {}
    for place in _one_source_each(prompt, _outermost(everywhere, foreign), sources):
        shown[place.source] = None
        if place.key is not None:
            table.add(place.key, [sources[at].id for at in place.inside or (place.source,)])
        shown.update(dict.fromkeys(place.inside))
    native = tuple(_block_id(text, sources) for text in blocks)
    for at, source in enumerate(sources):
        if source.id and source.id in native:
            shown.setdefault(at)
    return Rendered(
        sources=tuple(sources[at] for at in shown),
        keys=table.keys,
        blocks=native,
        shared=table.shared,
        forms=frozenset(table.forms),
        foreign=table.foreign,
    )


def shown_in(prompt: str, sources: Rendered | Iterable[SourceLike]) -> list[str]:
    r"""Return the ids of the chunks that a prompt shows, in the order of the prompt.

    Parameters
    ----------
    prompt : str
    sources : Rendered, or iterable of Source or Chunk
        The candidates, as in :func:`rendered_in`.

    Examples
    --------
    >>> shown_in("Context: Born in Tessel Bay, in the north.", [Source("b", "Born in Tessel")])
    []
    >>> shown_in("Context:\nBorn in Tessel\n", [Source("b", "Born in Tessel")])
    ['b']
    """
    candidates = sources.sources if isinstance(sources, Rendered) else sources
    return list(rendered_in(prompt, candidates).ids)


def _places(prompt: str, source: Source, at: int) -> list[_Place]:
    text = source.text.strip()
    for variant in dict.fromkeys((text, defused(text))):
        if places := _verbatim(prompt, variant, at):
            return places
    return []


def _in_passages(prompt: str, sources: Mapping[int, Source]) -> dict[int, list[_Place]]:
    """Find extracts from texts, by one sentence of each."""
    places: dict[int, list[_Place]] = {}
    limit = min(_MAX_SENTENCES, _MAX_SEARCHED // (len(prompt) + 1))
    for at, source in sources.items():
        text = source.text.strip()
        for sentence in _SENTENCE_END.split(text, maxsplit=_MAX_SENTENCES)[:limit]:
            if len(sentence) > _SHORT and (start := prompt.find(sentence)) >= 0:
                # A passage may begin in the middle of the sentence before.
                first = start - _common_before(prompt, start, text, text.find(sentence))
                stop = start + len(sentence)
                places[at] = [_Place(first, stop, at, key_before(prompt, first))]
                break
    return places


def _common_before(prompt: str, start: int, text: str, at: int) -> int:
    """Return how many characters before two positions agree."""
    count = 0
    while count < min(start, at) and prompt[start - 1 - count] == text[at - 1 - count]:
        count += 1
    while count and text[at - count].isspace():
        count -= 1
    return count


def _verbatim(prompt: str, text: str, at: int) -> list[_Place]:
    """Find a text, or its beginning, with the key before each occurrence."""
    if not text:
        return []
    places: list[_Place] = []
    beginning = text[:PREFIX].rstrip()
    start = prompt.find(beginning)
    while start >= 0 and len(places) < _MAX_OCCURRENCES:
        stop = start + _common(prompt, start, text)
        key = key_before(prompt, start)
        if key is not None or len(text) >= _SHORT or _has_own_lines(prompt, start, stop):
            places.append(_Place(start, stop, at, key))
        start = prompt.find(beginning, stop)
    return places


def _common(prompt: str, start: int, text: str) -> int:
    """Return the length of the longest prefix of ``text`` found at ``start``."""
    least, most = 0, len(text)
    if prompt.startswith(text, start):
        return most
    while least < most - 1:
        middle = (least + most) // 2
        if prompt.startswith(text[:middle], start):
            least = middle
        else:
            most = middle
    return least


def _has_own_lines(prompt: str, start: int, stop: int) -> bool:
    before = prompt[max(0, start - 8) : start].rstrip(" \t")
    after = prompt[stop : stop + 8].lstrip(" \t")
    return (not before or before[-1] == "\n") and (not after or after[0] in "\r\n")


def _rewrapped(prompt: str, sources: Mapping[int, Source]) -> dict[int, list[_Place]]:
    """Find texts whose line ends and spaces were changed, such as one line per passage."""
    sources = {
        at: source
        for at, source in sources.items()
        if len(source.text) >= _SHORT
        and all(word in prompt for word in source.text[:PREFIX].split()[:-1])
    }
    if not sources:
        return {}
    words = list(re.finditer(r"\S+", prompt))
    flat = " ".join(match.group() for match in words)
    starts = list(accumulate((len(match.group()) + 1 for match in words), initial=0))
    places: dict[int, list[_Place]] = {}
    for at, source in sources.items():
        text = " ".join(source.text.split())
        start = flat.find(text[: max(PREFIX, _SHORT)]) if len(text) >= _SHORT else -1
        if start < 0:
            continue
        stop = start + _common(flat, start, text)
        first = bisect_right(starts, start) - 1
        last = min(max(first, bisect_right(starts, stop - 1) - 1), len(words) - 1)
        begin = words[first].start() + start - starts[first]
        places[at] = [_Place(begin, words[last].end(), at, key_before(prompt, begin))]
    return places


def _outermost(places: Iterable[_Place], foreign: Set[int]) -> list[_Place]:
    """Drop places within another source's text, but not equal spans.

    The key of another retriever's text, such as a parent document, stands for our sources in it.
    """
    outermost: list[_Place] = []
    by_length = sorted(places, key=lambda place: (place.start - place.stop, place.source))
    for place in by_length:
        around = [
            number
            for number, other in enumerate(outermost)
            if other.start <= place.start
            and place.stop <= other.stop
            and (other.start, other.stop) != (place.start, place.stop)
            and other.source != place.source
        ]
        if not around:
            outermost.append(place)
        elif outermost[around[0]].source in foreign and place.source not in foreign:
            outer = outermost[around[0]]
            inside = tuple(sorted({*outer.inside, place.source}))
            outermost[around[0]] = replace(outer, inside=inside)
    return sorted(outermost, key=lambda place: (place.start, place.source))


def _one_source_each(
    prompt: str, places: Sequence[_Place], sources: Sequence[Source]
) -> Iterator[_Place]:
    """Assign each place to one source, where several have the same text.

    The title in the line before decides; otherwise sources are assigned in order.
    """
    used: set[int] = set()
    by_start: dict[int, list[_Place]] = {}
    for place in places:
        by_start.setdefault(place.start, []).append(place)
    for start, rivals in by_start.items():
        if len(rivals) > 1:
            line = prompt[max(0, start - 256) : start]
            titled = [
                place
                for place in rivals
                if (title := " ".join(sources[place.source].title.split())) and title in line
            ]
            fresh = [place for place in titled or rivals if place.source not in used]
            rivals = (fresh or titled or rivals)[:1]
        used.add(rivals[0].source)
        yield rivals[0]


def _block_id(block: str, sources: Sequence[Source]) -> str:
    stripped = block.strip()
    for source in sources:
        if source.text.strip() == stripped:
            return source.id
    for source in sources:
        text = source.text.strip()
        if len(text) >= _SHORT and text[:PREFIX] in stripped:
            return source.id
    return ""
