"""A graph with corrections to its tags applied.

Corrections are an overlay, like learned weights: the postings and phrases of the underlying
graph do not change. Each correction applies to the result of those before it. Only
the rows of chunks that hold a corrected tag are computed anew; all others are shared.

==========  =====================================================================
merge       chunks and questions with one of several tags get another tag instead
rename      like merge, for one tag and a name that was no tag
mute        chunks do not hold the tag, and questions do not name it
split       some chunks of a tag get another tag; questions for the tag name both
==========  =====================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import BoolArray, IntArray, is_in, unique
from hebbgraph.formulas.adjacency import LinkKind
from hebbgraph.graph.incidence import Postings
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.records import TagCorrection

__all__ = ["CorrectedGraph", "corrected_phrases"]

_NO_INTS = np.empty(0, np.int64)
_NO_WORD = "\0"  # a token that no phrase has


class _Rule(NamedTuple):
    """A correction in the numbers of one graph; ``slots`` are the chunks of a split."""

    sources: IntArray
    target: int | None
    slots: IntArray | None


class CorrectedGraph(TagGraph):
    """A graph with corrections applied, valid for the current generation of the base.

    The caller has locked the graph.

    Parameters
    ----------
    base : TagGraph
    corrections : sequence of TagCorrection
        In the order of application.
    rows : mapping of chunk id to row
        The existing chunks that splits name.
    """

    def __init__(
        self, base: TagGraph, corrections: Sequence[TagCorrection], rows: Mapping[str, int]
    ) -> None:
        vars(self).update(vars(base))
        self._rules = [_rule(base, correction, rows) for correction in corrections]
        targets = [rule.target for rule in self._rules if rule.target is not None]
        self._targets = np.unique(np.array(targets, np.int64))
        #: Target names that no chunk proposes, the longest first: the trie lacks them.
        known = base.phrases.in_vocabulary[self._targets]
        names = [(base.phrases.keys[tag].split(" "), tag) for tag in self._targets[~known].tolist()]
        self._names = sorted(names, key=lambda name: (-len(name[0]), name[0]))
        #: Tags whose chunks differ from those of the base.
        self._changed = unique(np.concatenate((self._targets, *(r.sources for r in self._rules))))
        slots, corrected = self._corrected_rows(base)
        if len(slots):
            self.incidence = base.incidence.updated(
                base.n_slots, len(base.phrases), _NO_INTS, slots, corrected
            )
        self._judge_phrases()

    def _judge_phrases(self) -> None:
        super()._judge_phrases()
        self._is_incidental[self._targets] = False  # a user named these, so they are tags

    def _corrected_rows(self, base: TagGraph) -> tuple[IntArray, Postings]:
        """Return the slots of chunks that hold a corrected tag, and their corrected rows."""
        sources = np.concatenate((_NO_INTS, *(rule.sources for rule in self._rules)))
        _, holding, _ = base.incidence.chunks_of(unique(sources))
        slots = unique(holding.astype(np.int64))
        owner, tags, is_title = base.incidence.tags_of(slots)
        tags = tags.astype(np.int64)
        for rule in self._rules:
            at = is_in(tags, rule.sources)
            if rule.slots is not None:
                at &= np.isin(slots[owner], rule.slots)
            if rule.target is None:
                owner, tags, is_title = owner[~at], tags[~at], is_title[~at]
            else:
                tags[at] = rule.target
        n_phrases = max(len(base.phrases), 1)
        pairs, position = np.unique(owner * n_phrases + tags, return_inverse=True)
        is_title_of_pair = np.zeros(len(pairs), np.bool_)
        is_title_of_pair[position[is_title]] = True
        indptr = np.searchsorted(pairs // n_phrases, np.arange(len(slots) + 1)).astype(np.int64)
        return slots, Postings(indptr, (pairs % n_phrases).astype(np.int32), is_title_of_pair)

    # -- questions ------------------------------------------------------------------

    def _phrases_in(self, tokens: list[str]) -> list[int]:
        names, rest = self._take_new_names(tokens) if self._names else ([], tokens)
        cues = dict.fromkeys([*names, *super()._phrases_in(rest)])
        for rule in self._rules:
            if not (corrected := cues.keys() & set(rule.sources.tolist())):
                continue
            if rule.target is not None:
                cues[rule.target] = None
            if rule.slots is None:
                cues = {tag: None for tag in cues if tag not in corrected or tag == rule.target}
        return list(cues)

    def _take_new_names(self, tokens: list[str]) -> tuple[list[int], list[str]]:
        """Return the new names in a question, and its tokens without them.

        A name inside a longer phrase of the vocabulary belongs to that phrase.
        """
        spans, _ = self.phrases.match_question(tokens)
        rest, tags = list(tokens), []
        for name, tag in self._names:
            size = len(name)
            for at in range(len(tokens) - size + 1):
                is_inside = any(
                    start <= at and at + size <= stop and stop - start > size
                    for start, stop, _ in spans
                )
                if rest[at : at + size] == name and not is_inside:
                    tags.append(tag)
                    rest[at : at + size] = [_NO_WORD] * size
        return tags, rest

    def are_known(self, tags: IntArray) -> BoolArray:
        """Return which tags belong to every chunk that mentions them, or are new names."""
        return super().are_known(tags) | is_in(tags, self._targets)

    def title_counts(self, tags: IntArray) -> IntArray:
        """Return how many chunks have each tag as their title."""
        counts = super().title_counts(tags).astype(np.int64)
        at = np.flatnonzero(is_in(tags, self._changed))
        owner, _, is_title = self.chunks_of(tags[at])
        counts[at] = np.bincount(owner[is_title], minlength=len(at))
        return counts

    def spellings(self, tag: int) -> list[str]:
        """Return the phrases by which a question can name a tag."""
        synonyms = {tag}
        for rule in reversed(self._rules):
            if rule.target in synonyms:
                synonyms.update(rule.sources.tolist())
        return [self.phrases.keys[synonym] for synonym in sorted(synonyms)]


def _rule(base: TagGraph, correction: TagCorrection, rows: Mapping[str, int]) -> _Rule:
    numbers = map(base.phrases.number, correction.tags)
    sources = np.array([number for number in numbers if number is not None], np.int64)
    sources = sources[base.link_kinds(sources) == LinkKind.PHRASE]
    target = None if correction.into is None else base.phrases.intern([correction.into])[0]
    slots = None
    if correction.kind == "split":
        split_rows = sorted(rows[id_] for id_ in correction.chunks if id_ in rows)
        slots = base.slots_of(np.array(split_rows, np.int64))
    return _Rule(sources, target, slots)


def corrected_phrases(
    phrases: Iterable[str], corrections: Sequence[TagCorrection]
) -> dict[str, str | None]:
    """Map phrases to their corrected phrases, or None if muted; splits are ignored.

    Examples
    --------
    >>> merge = TagCorrection(id="1", kind="merge", tags=("nyc", "big apple"), into="new york")
    >>> mute = TagCorrection(id="2", kind="mute", tags=("harbour",))
    >>> corrected_phrases(["nyc", "harbour", "ferry"], [merge, mute])
    {'nyc': 'new york', 'harbour': None, 'ferry': 'ferry'}
    """
    corrected: dict[str, str | None] = {phrase: phrase for phrase in phrases}
    for correction in corrections:
        if correction.kind != "split":
            for phrase, current in corrected.items():
                if current in correction.tags:
                    corrected[phrase] = correction.into
    return corrected
