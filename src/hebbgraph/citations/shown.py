"""Finds the sources that a prompt shows, however it was written, and their keys."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence, Set
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

#: White space other than one space.
_GAP = re.compile(r"[^\S ]\s*| \s+")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")


@dataclass(frozen=True, slots=True)
class _Place:
    """An occurrence of a source's text in a prompt, and the key before it."""

    start: int
    stop: int
    source: int
    key: Key | None
    inside: tuple[int, ...] = ()  # our sources within another retriever's text


#: Forms that an answer may use, by the form of a key in the prompt.
_ANSWER_FORMS = {"[": (), "name": ("(",), "label": ("label", "("), "(": ("(",)}


class _FlatPrompt:
    """A prompt in which each run of white space is one space."""

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        gaps = list(_GAP.finditer(prompt))
        self.text = _GAP.sub(" ", prompt)
        self._removed = [0, *accumulate(len(gap.group()) - 1 for gap in gaps)]
        self._gaps = [
            gap.start() - removed for gap, removed in zip(gaps, self._removed, strict=False)
        ]

    def place(self, start: int, stop: int, source: int) -> _Place:
        """Return the place of a source in the prompt, from its place in the flat text."""
        stop -= self.text[stop - 1] == " "
        first, last = self._position(start), self._position(stop - 1) + 1
        return _Place(first, last, source, key_before(self.prompt, first))

    def _position(self, at: int) -> int:
        return at + self._removed[bisect_left(self._gaps, at)]


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
    flat = _FlatPrompt(prompt[-MAX_PROMPT_CHARACTERS:])
    places = [
        place
        for at, source in enumerate(sources)
        for place in _places(flat, source, at) or _in_passages(flat, source, at)
    ]
    foreign = {at for at, source in enumerate(sources) if not source.id}
    ids_by_key: dict[str, tuple[str, ...]] = {}
    ambiguous: set[str] = set()
    forms: set[str] = set()
    shown: dict[int, None] = {}
    for place in _one_source_each(flat.prompt, _outermost(places, foreign), sources):
        shown[place.source] = None
        if place.key is not None:
            forms.update(_ANSWER_FORMS[place.key.form])
            ids = tuple(sources[at].id for at in place.inside or (place.source,))
            for name in (place.key.name, *place.key.others):
                if ids_by_key.setdefault(name, ids) != ids:
                    ambiguous.add(name)  # before two different texts, it stands for none
        shown.update(dict.fromkeys(place.inside))
    native = tuple(_block_id(text, sources) for text in blocks)
    shown.update(
        (at, None) for at, source in enumerate(sources) if source.id and source.id in native
    )
    keys = {name: ids for name, ids in ids_by_key.items() if ids[0] and name not in ambiguous}
    return Rendered(
        sources=tuple(sources[at] for at in shown),
        keys={name: ids[0] for name, ids in keys.items()},
        blocks=native,
        shared={name: ids[1:] for name, ids in keys.items() if len(ids) > 1},
        forms=frozenset(forms),
        foreign=frozenset(name for name, ids in ids_by_key.items() if not ids[0]),
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


def _places(flat: _FlatPrompt, source: Source, at: int) -> list[_Place]:
    """Find a text, or its beginning, whatever became of its white space."""
    text = _flattened(source.text)
    for variant in dict.fromkeys((text, defused(text))) if text else ():
        places: list[_Place] = []
        beginning = variant[:PREFIX].rstrip()
        start = flat.text.find(beginning)
        while start >= 0 and len(places) < _MAX_OCCURRENCES:
            stop = start + _common(flat.text, start, variant)
            place = flat.place(start, stop, at)
            if (
                place.key is not None
                or len(variant) >= _SHORT
                or _has_own_lines(flat.prompt, place.start, place.stop)
            ):
                places.append(place)
            start = flat.text.find(beginning, stop)
        if places:
            return places
    return []


def _in_passages(flat: _FlatPrompt, source: Source, at: int) -> list[_Place]:
    """Find an extract from a text, by one of its sentences."""
    text = _flattened(source.text)
    limit = min(_MAX_SENTENCES, _MAX_SEARCHED // (len(flat.text) + 1))
    for sentence in _SENTENCE_END.split(source.text.strip(), maxsplit=_MAX_SENTENCES)[:limit]:
        words = _flattened(sentence)
        if len(words) > _SHORT and (start := flat.text.find(words)) >= 0:
            # A passage may begin in the middle of the sentence before.
            first = start - _common_before(flat.text, start, text, text.find(words))
            return [flat.place(first, start + len(words), at)]
    return []


def _flattened(text: str) -> str:
    return " ".join(text.split())


def _common_before(prompt: str, start: int, text: str, at: int) -> int:
    """Return how many characters before two positions agree."""
    count = 0
    while count < min(start, at) and prompt[start - 1 - count] == text[at - 1 - count]:
        count += 1
    while count and text[at - count].isspace():
        count -= 1
    return count


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
