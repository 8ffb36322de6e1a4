"""A graph read through corrections to its tags.

Corrections are an overlay, as learned weights are: the postings and phrases of the graph
stay as they follow from the texts. Each correction acts on what those before it left. Only
the rows of chunks that hold a corrected tag are computed anew; all others are shared.

==========  =====================================================================
merge       chunks and questions that name one of several tags have another one
rename      the same, of one tag, to a name that was no tag
mute        chunks do not hold the tag, and questions do not name it
split       some chunks of a tag hold another one; a question for it names both
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
    """The graph of the texts, read through corrections.

    It holds for the generation that the graph has now. The caller holds its lock.

    Parameters
    ----------
    base : TagGraph
    corrections : sequence of TagCorrection
        In their order.
    rows : mapping of chunk id to row
        Of the chunks that splits name, as far as they exist.
    """

    def __init__(
        self, base: TagGraph, corrections: Sequence[TagCorrection], rows: Mapping[str, int]
    ) -> None:
        vars(self).update(vars(base))
        self._rules = [_rule(base, one, rows) for one in corrections]
        targets = [rule.target for rule in self._rules if rule.target is not None]
        self._targets = np.unique(np.array(targets, np.int64))
        #: Names that no chunk proposes, the longest first: the trie does not hold them.
        known = base.phrases.in_vocabulary[self._targets]
        names = [(base.phrases.keys[tag].split(" "), tag) for tag in self._targets[~known].tolist()]
        self._names = sorted(names, key=lambda name: (-len(name[0]), name[0]))
        #: Tags whose chunks are others than the texts say.
        self._changed = unique(np.concatenate((self._targets, *(r.sources for r in self._rules))))
        changed, rows_of_changed = self._corrected_rows(base)
        if len(changed):
            self.incidence = base.incidence.updated(
                base.n_slots, len(base.phrases), _NO_INTS, changed, rows_of_changed
            )
        self._judge_phrases()

    def _judge_phrases(self) -> None:
        super()._judge_phrases()
        self._is_incidental[self._targets] = False  # whoever names a tag says that it is one

    def _corrected_rows(self, base: TagGraph) -> tuple[IntArray, Postings]:
        """Return the chunks that hold a corrected tag, and their tags."""
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
        entitles = np.zeros(len(pairs), np.bool_)
        entitles[position[is_title]] = True
        indptr = np.searchsorted(pairs // n_phrases, np.arange(len(slots) + 1))
        rows = Postings(indptr.astype(np.int64), (pairs % n_phrases).astype(np.int32), entitles)
        return slots, rows

    # -- questions ------------------------------------------------------------------

    def _named(self, tokens: list[str]) -> list[int]:
        names, rest = self._named_anew(tokens) if self._names else ([], tokens)
        found = dict.fromkeys([*names, *super()._named(rest)])
        for rule in self._rules:
            if not (named := found.keys() & set(rule.sources.tolist())):
                continue
            if rule.target is not None:
                found[rule.target] = None
            if rule.slots is None:
                found = {tag: None for tag in found if tag not in named or tag == rule.target}
        return list(found)

    def _named_anew(self, tokens: list[str]) -> tuple[list[int], list[str]]:
        """Return the new names in a question, and its tokens without them.

        A name within a longer phrase of the vocabulary is that phrase's.
        """
        _, starts, stops, _ = self.phrases.match([tokens])
        rest, found = list(tokens), []
        for name, tag in self._names:
            size = len(name)
            for at in range(len(tokens) - size + 1):
                inside = (starts <= at) & (at + size <= stops) & (stops - starts > size)
                if rest[at : at + size] == name and not inside.any():
                    found.append(tag)
                    rest[at : at + size] = [_NO_WORD] * size
        return found, rest

    def are_known(self, tags: IntArray) -> BoolArray:
        """Return which tags belong to every chunk that mentions them, or are a new name."""
        return super().are_known(tags) | is_in(tags, self._targets)

    def title_counts(self, tags: IntArray) -> IntArray:
        """Return how many chunks have each tag as their title."""
        counts = super().title_counts(tags).astype(np.int64)
        anew = np.flatnonzero(is_in(tags, self._changed))
        owner, _, is_title = self.chunks_of(tags[anew])
        counts[anew] = np.bincount(owner[is_title], minlength=len(anew))
        return counts

    def spellings(self, tag: int) -> list[str]:
        """Return the phrases by which a question can name a tag."""
        stand_for = {tag}
        for rule in reversed(self._rules):
            if rule.target in stand_for:
                stand_for.update(rule.sources.tolist())
        return [self.phrases.keys[one] for one in sorted(stand_for)]


def _rule(base: TagGraph, correction: TagCorrection, rows: Mapping[str, int]) -> _Rule:
    known = [base.phrases.number(tag) for tag in correction.tags]
    sources = np.array([number for number in known if number is not None], np.int64)
    sources = sources[base.link_kinds(sources) == LinkKind.PHRASE]
    target = None if correction.into is None else base.phrases.intern([correction.into])[0]
    slots = None
    if correction.kind == "split":
        wanted = sorted(rows[id_] for id_ in correction.chunks if id_ in rows)
        slots = base.slots_of(np.array(wanted, np.int64))
    return _Rule(sources, target, slots)


def corrected_phrases(
    phrases: Iterable[str], corrections: Sequence[TagCorrection]
) -> dict[str, str | None]:
    """Return what stands for phrases that are not split: another one, or (None) nothing.

    Examples
    --------
    >>> one = TagCorrection(id="1", kind="merge", tags=("nyc", "big apple"), into="new york")
    >>> two = TagCorrection(id="2", kind="mute", tags=("harbour",))
    >>> corrected_phrases(["nyc", "harbour", "ferry"], [one, two])
    {'nyc': 'new york', 'harbour': None, 'ferry': 'ferry'}
    """
    stand_for: dict[str, str | None] = {phrase: phrase for phrase in phrases}
    for correction in corrections:
        if correction.kind != "split":
            for phrase, now in stand_for.items():
                if now in correction.tags:
                    stand_for[phrase] = correction.into
    return stand_for
