"""Titles that a question names: one passage of each is among the first hits.

Evidence and activation see single words, and those of "A League of Their Own" are common. A whole
title in the question says more. So for each title that a question names, one passage is among the
first three (or among as many as there are titles named), and above passages whose title is a part
of that title, or a longer form of it, as "Moss, Ida" is of "Moss". If the question is nothing but
the title ("What is moss?"), the passage comes first. One that already ranks there stays where it
is.

A question names a title if

- it is the whole title of a passage,
- it is not part of a longer name, as *Ash Fenn* is in "Ash Fenn Mill", and
- it consists of several words written as a name, or is as rare as the rarest word of the question,
  or the question has no other words. "Information systems" in a longer question is neither, nor is
  "heat transfer" where many other passages mention it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, IntArray, flatnonzero
from hebbgraph.formulas.activation import Activation
from hebbgraph.recall.question import Question, is_as_rare
from hebbgraph.recall.snapshot import Snapshot
from hebbgraph.recall.words import DECIMALS, first_by_id
from hebbgraph.text.tokens import stop_words, tokenize

__all__ = ["is_named", "show_named"]

#: One passage of each named title is among this many hits.
_FIRST = 3
#: Of passages with the same title, check this many of the best.
_CANDIDATES = 8
#: Of the titles that a question names, look at the first so many: it may be a list of hundreds.
_MOST = 32
#: By how much a raised score exceeds the one that it passes.
_MARGIN = 1e-6
_CLOSING = ',.;:!?"”“)]»'
_OPENING = "\"“(['«"


def show_named(
    activation: Activation,
    snapshot: Snapshot,
    question: Question,
    allowed: Callable[[IntArray], BoolArray] | None,
) -> Activation:
    """Raise the scores of named passages that would not be among the first hits.

    Parameters
    ----------
    activation : Activation
        Before lessons add to it: what was learned may still move a named passage.
    snapshot : Snapshot
    question : Question
    allowed : callable, optional
        Returns which of some chunks take part.
    """
    asked = _Asked(question.text)
    named = _best_titled(activation, snapshot, _named_tags(snapshot, question, asked), allowed)
    if not named:
        return activation
    scores: NDArray[np.float64] = activation.scores.astype(np.float64).round(DECIMALS)
    n_first = max(_FIRST, len(named))
    order = first_by_id(snapshot, activation.chunks, scores, n_first + len(named))
    others = [position for position in order.tolist() if position not in named]
    n_kept = n_first - len(named)  # of the others, this many stay above the named passages
    limit = float(scores[others[n_kept]]) if len(others) > n_kept else 0.0
    titles = _titles(snapshot, activation.chunks[others[:n_first]])
    raised: dict[int, float] = {}
    for position, key in sorted(named.items(), key=lambda item: (scores[item[0]], item[1])):
        is_all = asked.is_all(key)
        behind = [
            float(scores[other])
            for other, its_titles in zip(others[:n_first], titles, strict=True)
            if is_all
            or any(_is_part(title, key) for title in its_titles)
            or (key in its_titles and any(_is_part(key, title) for title in its_titles))
        ]
        floor = max([limit, *behind])
        if scores[position] <= floor:
            limit = raised[position] = floor + _MARGIN
    return _with_scores(activation, raised) if raised else activation


def _named_tags(snapshot: Snapshot, question: Question, asked: _Asked) -> dict[int, str]:
    """Return the cues that are titles and named as such, with their keys."""
    named: dict[int, str] = {}
    for cue in question.cues:
        if not cue.titles or len(named) == _MOST:
            continue
        mentions = 0 if snapshot.is_incidental(cue) else cue.df - cue.titles
        # Two words that often stand together are rare by themselves, but not as a title.
        rare = question.trust.get(cue.id, 1.0) >= 1.0 and is_as_rare(
            mentions, question.frequencies, snapshot.n_chunks
        )
        if asked.is_all(cue.key) or is_named(cue.key, asked, rare=rare):
            named[cue.id] = cue.key
    return named


def _best_titled(
    activation: Activation,
    snapshot: Snapshot,
    tags: dict[int, str],
    allowed: Callable[[IntArray], BoolArray] | None,
) -> dict[int, str]:
    """Return the positions of the best chunks whose whole title a tag is, with its key."""
    if not len(activation.chunks) or not tags:
        return {}
    owner, chunks, is_title = snapshot.chunks_of(np.array(list(tags)))
    if allowed is not None:
        is_title &= allowed(chunks)
    positions = np.minimum(activation.chunks.searchsorted(chunks), len(activation.chunks) - 1)
    is_title &= activation.chunks[positions] == chunks
    best: list[list[int]] = []
    for at in range(len(tags)):
        titled = positions[is_title & (owner == at)]
        scores = activation.scores[titled].round(DECIMALS)
        order = first_by_id(snapshot, activation.chunks[titled], scores, _CANDIDATES)
        best.append(titled[order].tolist())
    every = list(chain.from_iterable(best))
    titles = dict(zip(every, _titles(snapshot, activation.chunks[every]), strict=True))
    named: dict[int, str] = {}
    for key, candidates in zip(tags.values(), best, strict=True):
        whole = (p for p in candidates if not any(_is_part(key, title) for title in titles[p]))
        if (position := next(whole, None)) is not None:
            named[position] = key
    return named


def _titles(snapshot: Snapshot, chunks: IntArray) -> list[list[str]]:
    """Return the keys of each chunk's titles: whole, without a parenthesis, up to a comma."""
    owner, tags, is_title = snapshot.tags_of(chunks)
    keys = snapshot.keys(tags[is_title].tolist())
    titles: list[list[str]] = [[] for _ in chunks]
    for at, tag in zip(owner[is_title].tolist(), tags[is_title].tolist(), strict=True):
        titles[at].append(keys[tag])
    return titles


def _is_part(part: str, whole: str) -> bool:
    """Return whether the words of one key are some, but not all, of the words of another.

    >>> _is_part("fenn mill", "ash fenn mill"), _is_part("mill", "mill"), _is_part("mi", "a mill")
    (True, False, False)
    """
    return part != whole and f" {part} " in f" {whole} "


class _Asked:
    """The words of a question, read once for all titles.

    >>> _Asked("What is moss?").is_all("moss"), _Asked("Where does moss grow?").is_all("moss")
    (True, False)
    """

    def __init__(self, query: str) -> None:
        self.words = query.split()
        owners = [(at, token) for at, word in enumerate(self.words) for token in tokenize(word)]
        self.owners = [at for at, _ in owners]
        self.tokens = [token for _, token in owners]
        #: So capitals mean something.
        self.mixed_case = any(word[:1].islower() for word in self.words)
        self._distinct = set(self.tokens)
        self._content = self._distinct - stop_words()
        self._places: dict[int, dict[str, list[int]]] = {}

    def is_all(self, key: str) -> bool:
        """Return whether the question has no words but a title and stop words."""
        title = set(key.split(" "))
        return title <= self._distinct and self._content <= title

    def spans(self, key: str) -> list[slice]:
        """Return the words in which a title occurs."""
        n = key.count(" ") + 1
        if n not in self._places:
            places: dict[str, list[int]] = {}
            for start in range(len(self.tokens) - n + 1):
                places.setdefault(" ".join(self.tokens[start : start + n]), []).append(start)
            self._places[n] = places
        starts = self._places[n].get(key, ())
        return [slice(self.owners[start], self.owners[start + n - 1] + 1) for start in starts]


def is_named(key: str, query: str | _Asked, *, rare: bool) -> bool:
    """Return whether a question names a title, at least once outside a longer name.

    Two adjacent names count as one: a capitalised word right before or after the title belongs to
    it, unless all words of the question are capitalised, punctuation separates them, or the word
    is an article or another stop word.

    Parameters
    ----------
    key : str
    query : str
    rare : bool
        Whether its words are rare. If not, they must be several and written as a name.

    Examples
    --------
    >>> is_named("ash fenn", "Who built Ash Fenn?", rare=False)
    True
    >>> is_named("ash fenn", "Who built Ash Fenn Mill?", rare=True)
    False
    >>> is_named("pier 50", "Who built Pier 50?", rare=False)
    True
    """
    asked = _Asked(query) if isinstance(query, str) else query
    words, spans = asked.words, asked.spans(key)
    for span in spans:
        is_name = asked.mixed_case and " " in key and all(map(_is_capital, words[span]))
        if (rare or is_name) and not (asked.mixed_case and _is_in_longer(words, span)):
            return True
    return rare and not spans  # it is spelt differently, or the text has no spaces


def _is_in_longer(words: list[str], span: slice) -> bool:
    """Return whether a neighbour of some words belongs to the same name."""
    first, last = words[span.start], words[span.stop - 1]
    before = words[span.start - 1] if span.start > 1 and first[0] not in _OPENING else ""
    after = words[span.stop] if span.stop < len(words) and last[-1] not in _CLOSING else ""
    if before and (before[-1] in _CLOSING or before.endswith(("'s", "’s"))):
        before = ""
    return any(word[:1].isupper() and not _is_stop_word(word) for word in (before, after))


def _is_capital(word: str) -> bool:
    first = word.lstrip(_OPENING)[:1]
    return first.isupper() or first.isdigit() or _is_stop_word(word)


def _is_stop_word(word: str) -> bool:
    return all(token in stop_words() for token in tokenize(word))


def _with_scores(activation: Activation, raised: dict[int, float]) -> Activation:
    """Set scores; the increase counts as arrived over the graph. All shrink if any exceeds 1."""
    at: IntArray = np.array(list(raised), np.int64)
    most = max(1.0, *raised.values())
    scores, arrived = activation.scores / most, activation.arrived / most
    free = flatnonzero(arrived[at] < 1.0)
    at = at[free]
    direct = (scores[at] - arrived[at]) / (1.0 - arrived[at])
    scores[at] = np.array(list(raised.values()))[free] / most
    open_ = flatnonzero(direct < 1.0)
    arrived[at[open_]] = (scores[at[open_]] - direct[open_]) / (1.0 - direct[open_])
    return replace(activation, scores=scores, arrived=arrived)
