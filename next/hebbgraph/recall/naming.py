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

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, IntArray, flatnonzero
from hebbgraph.formulas.activation import Activation
from hebbgraph.recall.question import Question, is_as_rare
from hebbgraph.recall.snapshot import Snapshot
from hebbgraph.recall.words import DECIMALS, first_by_id
from hebbgraph.text.tokens import stop_words, tokenize_word

__all__ = ["is_named", "show_named"]

#: One passage of each named title is among this many hits.
_FIRST = 3
#: Of passages with the same title, check this many of the best.
_CANDIDATES = 8
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
    named = {}  # position in the activation: title
    for tag, key in _named_tags(snapshot, question):
        if (position := _best_titled(activation, snapshot, tag, key, allowed)) is not None:
            named[position] = key
    if not named:
        return activation
    scores: NDArray[np.float64] = activation.scores.astype(np.float64).round(DECIMALS)
    n_first = max(_FIRST, len(named))
    order = first_by_id(snapshot, activation.chunks, scores, n_first + len(named))
    others = [position for position in order.tolist() if position not in named]
    n_kept = n_first - len(named)  # of the others, this many stay above the named passages
    limit = float(scores[others[n_kept]]) if len(others) > n_kept else 0.0
    titles = [
        (position, _titles(snapshot, int(activation.chunks[position])))
        for position in others[:n_first]
    ]
    raised: dict[int, float] = {}
    for position, key in sorted(named.items(), key=lambda item: (scores[item[0]], item[1])):
        is_all = _is_all(key, question.text)
        behind = [
            float(scores[other])
            for other, its_titles in titles
            if is_all
            or any(_is_part(title, key) for title in its_titles)
            or (key in its_titles and any(_is_part(key, title) for title in its_titles))
        ]
        floor = max([limit, *behind])
        if scores[position] <= floor:
            limit = raised[position] = floor + _MARGIN
    return _with_scores(activation, raised) if raised else activation


def _named_tags(snapshot: Snapshot, question: Question) -> list[tuple[int, str]]:
    """Return the cues that are titles and named as such."""
    named = []
    for cue in question.cues:
        if not cue.titles:
            continue
        mentions = 0 if snapshot.is_incidental(cue) else cue.df - cue.titles
        # Two words that often stand together are rare by themselves, but not as a title.
        rare = question.trust.get(cue.id, 1.0) >= 1.0 and is_as_rare(
            mentions, question.frequencies, snapshot.n_chunks
        )
        if _is_all(cue.key, question.text) or is_named(cue.key, question.text, rare=rare):
            named.append((cue.id, cue.key))
    return named


def _best_titled(
    activation: Activation,
    snapshot: Snapshot,
    tag: int,
    key: str,
    allowed: Callable[[IntArray], BoolArray] | None,
) -> int | None:
    """Return the position of the best chunk whose whole title the tag is."""
    if not len(activation.chunks):
        return None
    _, chunks, is_title = snapshot.chunks_of(np.array([tag]))
    titled = chunks[is_title]
    if allowed is not None:
        titled = titled[allowed(titled)]
    positions = np.minimum(activation.chunks.searchsorted(titled), len(activation.chunks) - 1)
    positions = positions[activation.chunks[positions] == titled]
    scores = activation.scores[positions].round(DECIMALS)
    best = first_by_id(snapshot, activation.chunks[positions], scores, _CANDIDATES)
    for position in positions[best].tolist():
        titles = _titles(snapshot, int(activation.chunks[position]))
        if not any(_is_part(key, title) for title in titles):
            return int(position)
    return None


def _titles(snapshot: Snapshot, chunk: int) -> list[str]:
    """Return the keys of a chunk's titles: whole, without a parenthesis, up to a comma."""
    _, tags, is_title = snapshot.tags_of(np.array([chunk]))
    return list(snapshot.keys(tags[is_title].tolist()).values())


def _is_part(part: str, whole: str) -> bool:
    """Return whether the words of one key are some, but not all, of the words of another.

    >>> _is_part("fenn mill", "ash fenn mill"), _is_part("mill", "mill"), _is_part("mi", "a mill")
    (True, False, False)
    """
    return part != whole and f" {part} " in f" {whole} "


def _is_all(key: str, query: str) -> bool:
    """Return whether a question has no words but a title and stop words.

    >>> _is_all("moss", "What is moss?"), _is_all("moss", "Where does moss grow?")
    (True, False)
    """
    title = set(key.split(" "))
    asked = {token for word in query.split() for token in tokenize_word(word)}
    return title <= asked and asked <= title | stop_words()


def is_named(key: str, query: str, *, rare: bool) -> bool:
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
    words = query.split()
    owners = [(at, token) for at, word in enumerate(words) for token in tokenize_word(word)]
    tokens, title = [token for _, token in owners], key.split(" ")
    mixed_case = any(word[:1].islower() for word in words)  # so capitals mean something
    occurs = False
    for start in range(len(tokens) - len(title) + 1):
        if tokens[start : start + len(title)] != title:
            continue
        occurs = True
        span = slice(owners[start][0], owners[start + len(title) - 1][0] + 1)
        is_name = mixed_case and len(title) > 1 and all(map(_is_capital, words[span]))
        if (rare or is_name) and not (mixed_case and _is_in_longer(words, span)):
            return True
    return rare and not occurs  # it is spelt differently, or the text has no spaces


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
    return all(token in stop_words() for token in tokenize_word(word))


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
