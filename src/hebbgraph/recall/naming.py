"""What a question names by its whole title stands among the first hits.

Evidence and activation see words: "A League of Their Own" is common ones, and passages about a
Thelma and a Louise hold rarer ones. A title that stands in the question as it is says more. So of
each title that a question names, one passage is among the first three (or as many as there are
titles named), and before passages that are titled by a part of it. A passage that is there already
stays where it is.

A title counts as named if it is the whole title of a passage, if it stands alone, not inside a
longer name (*Ash Fenn* in "Ash Fenn Mill"), and if it is several words written as a name, or as
rare as the rarest word of the question: "information systems" is a commonplace.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hebbgraph.arrays import BoolArray, IntArray, flatnonzero
from hebbgraph.formulas.activation import Activation
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.recall.question import Question
from hebbgraph.text.tokens import phrase_key, stop_words, tokenize_word

__all__ = ["is_named", "show_named", "titled_by"]

_AMONG = 3
#: Of the passages that share a title, so many of the best are looked at.
_LOOKED_AT = 8
#: By so much a passage that is moved ahead exceeds the one that it passes.
_AHEAD = 1e-6
_ENDS = ',.;:!?"”“)]»'
_OPENS = "\"“(['«"


def show_named(
    found: Activation, graph: TagGraph, question: Question, allowed: BoolArray
) -> Activation:
    """Raise the scores of what a question names, where it would not be among the first.

    Parameters
    ----------
    found : Activation
        Without what memory adds: what was learned may still move it.
    graph : TagGraph
    question : Question
    allowed : ndarray of bool, indexed by slot
        Slots that take part.
    """
    named = _named(graph, question)
    if not named:
        return found
    wholly = {}
    for tag in named:
        if (at := _best_titled(found, graph, tag, allowed)) is not None:
            wholly[at] = graph.phrases.keys[tag]
    if not wholly:
        return found
    scores, most = found.scores, max(_AMONG, len(wholly))
    order = np.lexsort((found.chunks, -scores))[: most + len(wholly)]
    others = [at for at in order.tolist() if at not in wholly]
    first = others[most - len(wholly)] if len(others) > most - len(wholly) else None
    limit = 0.0 if first is None else float(scores[first])
    raised: dict[int, float] = {}
    titles = [(at, _titles(graph, int(found.chunks[at]))) for at in others[:most]]
    for at, key in sorted(wholly.items(), key=lambda item: (scores[item[0]], -item[0])):
        parts = [scores[other] for other, held in titles if any(_is_in(one, key) for one in held)]
        least = max(limit, *parts) if parts else limit
        if scores[at] <= least:
            limit = raised[at] = min(least + _AHEAD, 1.0)
    return _with_scores(found, raised) if raised else found


def _named(graph: TagGraph, question: Question) -> list[int]:
    """Return the tags of which some passage may have the name as its whole title."""
    own = [
        tag for tag in question.cues if tag not in question.carried and tag not in question.foreign
    ]
    titled = graph.title_counts(np.array(own, np.int64)) > 0
    keys = graph.phrases.keys
    return [
        tag
        for tag, is_title in zip(own, titled.tolist(), strict=True)
        if is_title
        and is_named(keys[tag], question.query, rare=question.trust.get(tag, 1.0) >= 1.0)
    ]


def titled_by(graph: TagGraph, query: str) -> IntArray:
    """Return the chunks whose whole title a question is."""
    tag = graph.phrases.number(phrase_key(query))
    if tag is None:
        return np.empty(0, np.int64)
    _, chunks, is_title = graph.chunks_of(np.array([tag], np.int64))
    return chunks[is_title]


def _best_titled(found: Activation, graph: TagGraph, tag: int, allowed: BoolArray) -> int | None:
    """Return the place of the best chunk whose whole title a tag is."""
    _, chunks, is_title = graph.chunks_of(np.array([tag], np.int64))
    holders = chunks[is_title]
    holders = holders[allowed[holders]]
    at = np.minimum(found.chunks.searchsorted(holders), max(len(found.chunks) - 1, 0))
    at = at[found.chunks[at] == holders] if len(found.chunks) else at[:0]
    best = at[np.lexsort((found.chunks[at], -found.scores[at]))][:_LOOKED_AT]
    key = graph.phrases.keys[tag]
    for place in best.tolist():
        titles = _titles(graph, int(found.chunks[place]))
        if not any(_is_in(key, other) for other in titles):
            return int(place)
    return None


def _titles(graph: TagGraph, slot: int) -> list[str]:
    """Return the keys of a chunk's titles: whole, without a parenthesis, up to a comma."""
    _, tags, is_title = graph.tags_of(np.array([slot], np.int64))
    keys = graph.phrases.keys
    return [keys[tag] for tag in tags[is_title].tolist()]


def _is_in(part: str, whole: str) -> bool:
    """Return whether a key is some of the words of another one, and not all.

    >>> _is_in("fenn mill", "ash fenn mill"), _is_in("mill", "mill"), _is_in("mi", "a mill")
    (True, False, False)
    """
    return part != whole and f" {part} " in f" {whole} "


def is_named(key: str, query: str, *, rare: bool) -> bool:
    """Return whether a question names a title, at least once outside of a longer name.

    Two names that touch are one: a word in capitals right before or after belongs to it, unless
    all words of the question are, a mark stands between, or it is an article or the like.

    Parameters
    ----------
    key : str
    query : str
    rare : bool
        Whether its words are rare. Others have to be several, and written as a name.

    Examples
    --------
    >>> is_named("ash fenn", "Who built Ash Fenn?", rare=False)
    True
    >>> is_named("ash fenn", "Who built Ash Fenn Mill?", rare=True)
    False
    """
    words = query.split()
    owner = [(at, token) for at, word in enumerate(words) for token in tokenize_word(word)]
    tokens, wanted = [token for _, token in owner], key.split(" ")
    told = any(word[:1].islower() for word in words)  # capitals tell something
    occurs = False
    for start in range(len(tokens) - len(wanted) + 1):
        if tokens[start : start + len(wanted)] != wanted:
            continue
        occurs = True
        span = slice(owner[start][0], owner[start + len(wanted) - 1][0] + 1)
        as_name = told and len(wanted) > 1 and all(map(_is_capital, words[span]))
        if (rare or as_name) and not (told and _is_in_longer(words, span)):
            return True
    return rare and not occurs  # by another spelling, or in words without spaces


def _is_in_longer(words: list[str], span: slice) -> bool:
    """Return whether a neighbour of some words belongs to the same name."""
    first, last = words[span.start], words[span.stop - 1]
    before = words[span.start - 1] if span.start > 1 and first[0] not in _OPENS else ""
    after = words[span.stop] if span.stop < len(words) and last[-1] not in _ENDS else ""
    if before and (before[-1] in _ENDS or before.endswith(("'s", "’s"))):
        before = ""
    return any(word[:1].isupper() and not _is_small(word) for word in (before, after))


def _is_capital(word: str) -> bool:
    return word.lstrip(_OPENS)[:1].isupper() or _is_small(word)


def _is_small(word: str) -> bool:
    """Return whether a word is an article or the like, as names hold in lower case."""
    return all(token in stop_words() for token in tokenize_word(word))


def _with_scores(found: Activation, raised: dict[int, float]) -> Activation:
    """Set scores; what they rise by counts as arrived over the graph."""
    at: IntArray = np.array(list(raised), np.int64)
    scores, arrived = found.scores.copy(), found.arrived.copy()
    free = flatnonzero(arrived[at] < 1.0)
    at = at[free]
    direct = (scores[at] - arrived[at]) / (1.0 - arrived[at])
    scores[at] = np.array(list(raised.values()))[free]
    open_ = flatnonzero(direct < 1.0)
    arrived[at[open_]] = (scores[at[open_]] - direct[open_]) / (1.0 - direct[open_])
    return replace(found, scores=scores, arrived=arrived)
