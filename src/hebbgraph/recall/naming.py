"""Titles that a question names: one passage of each is among the first hits.

Evidence and activation see single words, and those of "A League of Their Own" are common. A whole
title in the question says more. So for each title that a question names, one passage is among the
first three (or among as many as there are titles named), and above passages whose title is a part
of that title, or a longer form of it, as "Moss, Ida" is of "Moss". One that already ranks there
stays where it is. If the question is about nothing else ("Tell me about Moss"), it is the first.

A question names a title if it is the whole title of a passage, and its words together are about as
rare as the rarest word of the question (the cue is fully trusted). "Information systems" in a
longer question is not.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np

from hebbgraph.arrays import DECIMALS, IntArray, places_in
from hebbgraph.formulas.activation import Activation
from hebbgraph.recall.question import Question
from hebbgraph.recall.snapshot import Snapshot
from hebbgraph.recall.words import first_by_id
from hebbgraph.terms import TermKind

#: One passage of each named title is among this many hits.
_FIRST = 3
#: Of passages with the same title, check this many of the best.
_CANDIDATES = 8
#: Of the titles that a question names, look at the first so many: it may be a list of hundreds.
_MOST = 32
#: By how much a raised score exceeds the one that it passes.
_MARGIN = 1e-6


def show_named(activation: Activation, snapshot: Snapshot, question: Question) -> Activation:
    """Raise the scores of named passages that would not be among the first hits.

    Lessons are added later: what was learned may still move a named passage.
    """
    titles = [cue for cue in question.cues if cue.titles and question.trust.get(cue.id, 1.0) >= 1.0]
    named = _best_titled(activation, snapshot, {cue.id: cue.key for cue in titles[:_MOST]})
    if not named:
        return activation
    scores = activation.scores.astype(np.float64).round(DECIMALS)
    n_first = len(named) if question.subject in named.values() else max(_FIRST, len(named))
    order = first_by_id(snapshot, activation.chunks, scores, n_first + len(named))
    others = [position for position in order.tolist() if position not in named]
    n_kept = n_first - len(named)  # of the others, this many stay above the named passages
    limit = float(scores[others[n_kept]]) if len(others) > n_kept else 0.0
    titles_of_others = _titles(snapshot, activation.chunks[others[:n_first]])
    raised: dict[int, float] = {}
    for position, key in sorted(named.items(), key=lambda item: (scores[item[0]], item[1])):
        behind = [
            float(scores[other])
            for other, its_titles in zip(others[:n_first], titles_of_others, strict=True)
            if any(_is_part(title, key) for title in its_titles)
            or (key in its_titles and any(_is_part(key, title) for title in its_titles))
        ]
        floor = max([limit, *behind])
        if scores[position] <= floor:
            limit = raised[position] = floor + _MARGIN
    return _with_scores(activation, raised) if raised else activation


def _best_titled(
    activation: Activation, snapshot: Snapshot, tags: dict[int, str]
) -> dict[int, str]:
    """Return the positions of the best chunks whose whole title is a tag, with the tag's key."""
    if not len(activation.chunks) or not tags:
        return {}
    owner, chunks, is_title = snapshot.chunks_of(np.array(list(tags)))
    positions, is_active = places_in(activation.chunks, chunks)
    is_title &= is_active
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
    is_title &= snapshot.link_kinds(tags) == TermKind.TAG  # a chunk's addresses are no titles
    keys = snapshot.keys(tags[is_title].tolist())
    titles: list[list[str]] = [[] for _ in chunks]
    for at, tag in zip(owner[is_title].tolist(), tags[is_title].tolist(), strict=True):
        titles[at].append(keys[tag])
    return titles


def _is_part(part: str, whole: str) -> bool:
    """Return whether the words of one key are some, but not all, of the words of another."""
    return part != whole and f" {part} " in f" {whole} "


def _with_scores(activation: Activation, raised: dict[int, float]) -> Activation:
    """Set scores; the increase counts as arrived over the graph. All shrink if any exceeds 1."""
    most = max(1.0, *raised.values())
    scores, arrived = activation.scores / most, activation.arrived / most
    for at, score in raised.items():
        if arrived[at] < 1.0:
            direct = (scores[at] - arrived[at]) / (1.0 - arrived[at])
            scores[at] = score / most
            if direct < 1.0:
                arrived[at] = (scores[at] - direct) / (1.0 - direct)
    return replace(activation, scores=scores, arrived=arrived)
