"""Which sources a prompt shows, whatever wrote it, and under which keys."""

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
#: A shorter text proves nothing unless it has a key or lines of its own.
_SHORT = 32
_MAX_SENTENCES = 40
_MAX_SEARCHED = 8_000_000

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a source's text stands in a prompt, and the key before it."""

    start: int
    stop: int
    source: int
    key: Key | None
    inside: tuple[int, ...] = ()  # our sources that stand within a text that is not ours


class _Given:
    """Which key stands for what; one that stands before two texts stands for none."""

    def __init__(self) -> None:
        self._ids: dict[str, tuple[str, ...]] = {}
        self._ambiguous: set[str] = set()
        self.forms: set[str] = set()

    def note(self, key: Key, ids: Sequence[str]) -> None:
        """Take in a key before a text."""
        self.forms.update({"[": (), "name": ("(",), "label": ("label", "(")}.get(key.form, ("(",)))
        for name in (key.name, *key.others):
            if self._ids.setdefault(name, tuple(ids)) != tuple(ids):
                self._ambiguous.add(name)

    @property
    def keys(self) -> dict[str, str]:
        """Key to chunk, the first of those within a text that is not ours."""
        return {
            name: ids[0]
            for name, ids in self._ids.items()
            if ids[0] and name not in self._ambiguous
        }

    @property
    def foreign(self) -> frozenset[str]:
        """Keys of texts that are not ours."""
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

    Works on any prompt: what a reranker or a token limit dropped is not found, and what was
    renumbered has its new key.

    Parameters
    ----------
    prompt : str
        All the text that the model received.
    sources : iterable of Source or Chunk
        Candidates, in the order of retrieval.
    blocks : sequence of str
        Texts of native document blocks, in order, for :func:`parse_annotations`. They count as
        shown.
    instead : sequence of Source
        Other texts of the same sources, such as the sentences around one: a source whose own text
        has no key is looked for by these.

    Returns
    -------
    Rendered
        A source is shown if the prompt contains its text, at least its first 64 characters, or one
        of its sentences, and not just as part of another source. Its key is what stands in
        brackets at the start of the same line or the line before. Texts under 32 characters need a
        key or lines of their own.

    Examples
    --------
    >>> chunks = [Source("a", "Built by Ida Moss."), Source("b", "Born in Tessel Bay.")]
    >>> rendered_in("Sources:\n[1] On births\nBorn in Tessel Bay.\n\nWho?", chunks).keys
    {'1': 'b'}
    """
    own = list(dict.fromkeys(as_source(one) for one in sources))
    rendered = _rendered_in(prompt, own, blocks)
    keyed = set(rendered.keys.values())
    if lost := [one for one in instead if one.id not in keyed]:
        again = _rendered_in(prompt, list(dict.fromkeys([*own, *lost])), blocks)
        if not keyed.issuperset(again.keys.values()):
            return again
    return rendered


def _rendered_in(prompt: str, own: Sequence[Source], blocks: Sequence[str]) -> Rendered:
    prompt = prompt[-MAX_PROMPT_CHARACTERS:]
    found = {at: _places(prompt, one, at) for at, one in enumerate(own)}
    for otherwise in (_rewrapped, _in_passages):
        if lost := {at: own[at] for at, places in found.items() if not places}:
            found.update(otherwise(prompt, lost))
    everywhere = [place for at in sorted(found) for place in found[at]]
    places = _unclaimed(everywhere, {at for at, one in enumerate(own) if not one.id})
    given = _Given()
    shown: dict[int, None] = {}
    for place in _told_apart(prompt, places, own):
        shown[place.source] = None
        if place.key is not None:
            given.note(place.key, [own[at].id for at in place.inside] or [own[place.source].id])
        shown.update(dict.fromkeys(place.inside))
    native = tuple(_block_id(text, own) for text in blocks)
    for at, one in enumerate(own):
        if one.id and one.id in native:
            shown.setdefault(at)
    return Rendered(
        sources=tuple(own[at] for at in shown),
        keys=given.keys,
        blocks=native,
        shared=given.shared,
        forms=frozenset(given.forms),
        foreign=given.foreign,
    )


def shown_in(prompt: str, sources: Rendered | Iterable[SourceLike]) -> list[str]:
    r"""Return the ids of the chunks that a prompt shows, in the order of the prompt.

    Parameters
    ----------
    prompt : str
    sources : Rendered, or iterable of Source or Chunk
        As in :func:`rendered_in`. Of a ``Rendered``, those that are still there.

    Examples
    --------
    >>> shown_in("Context: Born in Tessel Bay, in the north.", [Source("b", "Born in Tessel")])
    []
    >>> shown_in("Context:\nBorn in Tessel\n", [Source("b", "Born in Tessel")])
    ['b']
    """
    own = sources.sources if isinstance(sources, Rendered) else sources
    return list(rendered_in(prompt, own).ids)


def _places(prompt: str, one: Source, at: int) -> list[_Place]:
    text = one.text.strip()
    for variant in dict.fromkeys((text, defused(text))):
        if found := _verbatim(prompt, variant, at):
            return found
    return []


def _in_passages(prompt: str, sources: Mapping[int, Source]) -> dict[int, list[_Place]]:
    """Find passages that were taken out of texts, by a sentence of each."""
    found: dict[int, list[_Place]] = {}
    limit = min(_MAX_SENTENCES, _MAX_SEARCHED // (len(prompt) + 1))
    for at, one in sources.items():
        text = one.text.strip()
        for sentence in _SENTENCE_END.split(text, maxsplit=_MAX_SENTENCES)[:limit]:
            if len(sentence) > _SHORT and (start := prompt.find(sentence)) >= 0:
                # A passage may begin in the middle of the sentence before.
                first = start - _common_before(prompt, start, text, text.find(sentence))
                stop = start + len(sentence)
                found[at] = [_Place(first, stop, at, key_before(prompt, first))]
                break
    return found


def _common_before(prompt: str, start: int, text: str, at: int) -> int:
    """Return how many characters before two positions are the same."""
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
    """Find texts whose line ends and spaces were changed, such as by a line per passage."""
    sources = {
        at: one
        for at, one in sources.items()
        if len(one.text) >= _SHORT
        and all(word in prompt for word in one.text[:PREFIX].split()[:-1])
    }
    if not sources:
        return {}
    words = list(re.finditer(r"\S+", prompt))
    flat = " ".join(match.group() for match in words)
    starts = list(accumulate((len(match.group()) + 1 for match in words), initial=0))
    found: dict[int, list[_Place]] = {}
    for at, one in sources.items():
        text = " ".join(one.text.split())
        start = flat.find(text[: max(PREFIX, _SHORT)]) if len(text) >= _SHORT else -1
        if start < 0:
            continue
        stop = start + _common(flat, start, text)
        first = bisect_right(starts, start) - 1
        last = min(max(first, bisect_right(starts, stop - 1) - 1), len(words) - 1)
        place = words[first].start() + start - starts[first]
        found[at] = [_Place(place, words[last].end(), at, key_before(prompt, place))]
    return found


def _unclaimed(places: Iterable[_Place], foreign: Set[int]) -> list[_Place]:
    """Drop what lies within another source's text; equal spans stay for now.

    What lies within a text that is not ours, such as a parent document, is what that text's key
    stands for.
    """
    kept: list[_Place] = []
    by_length = sorted(places, key=lambda place: (place.start - place.stop, place.source))
    for place in by_length:
        around = [
            number
            for number, other in enumerate(kept)
            if other.start <= place.start
            and place.stop <= other.stop
            and (other.start, other.stop) != (place.start, place.stop)
            and other.source != place.source
        ]
        if not around:
            kept.append(place)
        elif kept[around[0]].source in foreign and place.source not in foreign:
            outer = kept[around[0]]
            inside = tuple(sorted({*outer.inside, place.source}))
            kept[around[0]] = replace(outer, inside=inside)
    return sorted(kept, key=lambda place: (place.start, place.source))


def _told_apart(
    prompt: str, places: Sequence[_Place], sources: Sequence[Source]
) -> Iterator[_Place]:
    """Assign each place that several sources with the same text share to one of them.

    By the title in the line before; otherwise in order, as long as there are enough places.
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


def _block_id(text: str, sources: Sequence[Source]) -> str:
    stripped = text.strip()
    for one in sources:
        if one.text.strip() == stripped:
            return one.id
    for one in sources:
        own = one.text.strip()
        if len(own) >= _SHORT and own[:PREFIX] in stripped:
            return one.id
    return ""
