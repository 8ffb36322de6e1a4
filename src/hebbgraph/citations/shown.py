"""Which sources a prompt shows, whatever wrote it, and under which keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hebbgraph.citations.markers import BRACKETS, defused, without_label
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

_SOURCE_LINE = re.compile(r"(?:source|document|passage) ([0-9]{1,4}):?\s*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a source's text stands in a prompt, and the key before it."""

    start: int
    stop: int
    source: int
    key: str | None


def rendered_in(
    prompt: str, sources: Iterable[SourceLike], *, blocks: Sequence[str] = ()
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
    prompt = prompt[-MAX_PROMPT_CHARACTERS:]
    places = _unclaimed(place for at, one in enumerate(own) for place in _places(prompt, one, at))
    keys: dict[str, str] = {}
    ambiguous: set[str] = set()
    shown: dict[int, None] = {}
    for place in _told_apart(prompt, places, own):
        shown[place.source] = None
        if place.key is not None and keys.setdefault(place.key, own[place.source].id) != (
            own[place.source].id
        ):
            ambiguous.add(place.key)
    native = tuple(_block_id(text, own) for text in blocks)
    for at, one in enumerate(own):
        if one.id and one.id in native:
            shown.setdefault(at)
    return Rendered(
        sources=tuple(own[at] for at in shown),
        keys={key: id_ for key, id_ in keys.items() if id_ and key not in ambiguous},
        blocks=native,
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
    limit = min(_MAX_SENTENCES, _MAX_SEARCHED // (len(prompt) + 1))
    for sentence in _SENTENCE_END.split(text, maxsplit=_MAX_SENTENCES)[:limit]:
        if len(sentence) > _SHORT and (start := prompt.find(sentence)) >= 0:
            return [_Place(start, start + len(sentence), at, _key_before(prompt, start))]
    return []


def _verbatim(prompt: str, text: str, at: int) -> list[_Place]:
    """Find a text, or its beginning, with the key before each occurrence."""
    if not text:
        return []
    places: list[_Place] = []
    beginning = text[:PREFIX].rstrip()
    start = prompt.find(beginning)
    while start >= 0 and len(places) < _MAX_OCCURRENCES:
        stop = start + _common(prompt, start, text)
        key = _key_before(prompt, start)
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


def _key_before(prompt: str, start: int) -> str | None:
    r"""Return what stands in brackets at the start of this line or the one before.

    In a prompt that contains JSON, line ends are the two characters ``\n``.
    """
    before = prompt[max(0, start - 512) : start]
    if "\\n" in before:
        before = before.replace('": "', "\n").replace("\\n", "\n")
    before = before.rstrip(" \t")
    *above, line = before.rsplit("\n", 2)
    if line.strip():
        rest, same_line = line, True
    elif above:
        rest, same_line = above[-1], False
    else:
        return None
    rest = rest.lstrip(" \t>*#-\"'")
    if not same_line and (numbered := _SOURCE_LINE.fullmatch(rest)):
        return numbered.group(1)
    found = BRACKETS.match(rest)
    if found is None or (same_line and rest[found.end() :].strip(" \t:.*-")):
        return None
    return without_label(found.group(1).strip())


def _unclaimed(places: Iterable[_Place]) -> list[_Place]:
    """Drop what lies within another source's text; equal spans stay for now."""
    kept: list[_Place] = []
    by_length = sorted(places, key=lambda place: (place.start - place.stop, place.source))
    for place in by_length:
        if not any(
            other.start <= place.start
            and place.stop <= other.stop
            and (other.start, other.stop) != (place.start, place.stop)
            and other.source != place.source
            for other in kept
        ):
            kept.append(place)
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
