"""The graph of one namespace: chunks by number, phrases, and the incidence between them.

Numbers given to chunks (*slots*) and phrases are private to one process; what they stand
for (rows of the truth, phrase keys) is not. Built from the same chunks, two graphs hold
the same vocabulary and postings, whatever happened on the way.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hebbgraph.graph.arrays import GrowableArray, concatenated_ranges
from hebbgraph.graph.incidence import Incidence, Postings
from hebbgraph.graph.phrases import PhraseTable
from hebbgraph.typing import BoolArray, IntArray

__all__ = ["GraphArrays", "TagGraph", "TaggedChunks", "VocabularyChange"]

_ANCHOR_KINDS = ("title", "given")
_TITLE, _GIVEN, _OTHER = 0, 1, 2
#: More changed rows than this share of the graph are folded in at once.
_FOLD_SHARE = 8
_FOLD_MIN = 256


class VocabularyChange(NamedTuple):
    """Phrases that joined and left the vocabulary."""

    entered: list[int]
    left: list[int]


class TaggedChunks:
    """Chunks with the tags found in them, in flat buffers: no object a posting."""

    def __init__(self) -> None:
        self._slots = array("q")
        self._ends = array("q", [0])
        self._tags = array("i")
        self._is_title = array("b")

    def __len__(self) -> int:
        return len(self._slots)

    def append(self, slot: int, tags: Iterable[int], titles: Collection[int]) -> None:
        """Add one chunk; ``titles`` are those of its tags that are its own title."""
        self._slots.append(slot)
        for tag in sorted(set(tags)):
            self._tags.append(tag)
            self._is_title.append(tag in titles)
        self._ends.append(len(self._tags))

    @property
    def slots(self) -> NDArray[np.int64]:
        """The chunks, in the order they were added."""
        return np.array(self._slots, dtype=np.int64)

    @property
    def postings(self) -> Postings:
        """Their tags, in the same order."""
        return Postings(
            np.array(self._ends, dtype=np.int64),
            np.array(self._tags, dtype=np.int32),
            np.array(self._is_title, dtype=np.bool_),
        )


class GraphArrays(NamedTuple):
    """The whole graph as arrays: what a snapshot keeps."""

    rows: NDArray[np.int64]
    id_prefixes: NDArray[np.uint64]
    candidate_indptr: NDArray[np.int64]
    candidates: NDArray[np.int32]
    candidate_kinds: NDArray[np.int8]
    posting_indptr: NDArray[np.int64]
    posting_tags: NDArray[np.int32]
    posting_is_title: NDArray[np.bool_]
    candidate_counts: NDArray[np.int32]
    anchor_counts: NDArray[np.int32]


class TagGraph:
    """Chunks, phrases and postings, brought from generation to generation.

    A step has two halves, so that what is slow (matching text) lies between them:
    :meth:`stage` counts candidates and says what the vocabulary gained and lost;
    :meth:`commit` sets postings and makes the step visible.

    Attributes
    ----------
    generation : int
        The state of the truth that the postings stand for.
    phrases : PhraseTable
    incidence : Incidence
    """

    def __init__(self, generation: int, arrays: GraphArrays, keys: Sequence[str]) -> None:
        self.generation = generation
        self.phrases = PhraseTable(keys, arrays.candidate_counts, arrays.anchor_counts)
        self.incidence = Incidence(
            Postings(arrays.posting_indptr, arrays.posting_tags, arrays.posting_is_title),
            len(keys),
        )
        self._rows = GrowableArray(np.int64, arrays.rows)
        self._alive = GrowableArray(np.bool_, np.ones(len(arrays.rows), dtype=np.bool_))
        self._id_prefixes = GrowableArray(np.uint64, arrays.id_prefixes)
        self._candidate_indptr = GrowableArray(np.int64, arrays.candidate_indptr)
        self._candidates = GrowableArray(np.int32, arrays.candidates)
        self._candidate_kinds = GrowableArray(np.int8, arrays.candidate_kinds)
        self._n_live = self._n_committed = len(arrays.rows)

    @classmethod
    def empty(cls) -> Self:
        """No chunk, before the first generation."""
        ints = np.empty(0, dtype=np.int32)
        zero = np.zeros(1, dtype=np.int64)
        return cls(
            0,
            GraphArrays(
                rows=np.empty(0, dtype=np.int64),
                id_prefixes=np.empty(0, dtype=np.uint64),
                candidate_indptr=zero,
                candidates=ints,
                candidate_kinds=np.empty(0, dtype=np.int8),
                posting_indptr=zero,
                posting_tags=ints,
                posting_is_title=np.empty(0, dtype=np.bool_),
                candidate_counts=ints,
                anchor_counts=ints,
            ),
            (),
        )

    # -- the numbers of chunks ------------------------------------------------------

    @property
    def n_slots(self) -> int:
        """How many slots there are, those of deleted chunks included."""
        return len(self._rows)

    @property
    def n_chunks(self) -> int:
        """How many chunks are live."""
        return self._n_live

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which slots hold a live chunk."""
        return self._alive.view

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of the truth behind each slot, ascending."""
        return self._rows.view

    @property
    def id_prefixes(self) -> NDArray[np.uint64]:
        """The first eight bytes of each chunk's id, as a number: they order as ids do."""
        return self._id_prefixes.view

    def slots_of(self, rows: IntArray) -> NDArray[np.int64]:
        """Return the slots of the rows that are known and live; others are left out."""
        known = self._rows.view
        if not len(known):
            return np.empty(0, dtype=np.int64)
        slots = np.searchsorted(known, rows)
        slots[slots == len(known)] = 0
        live: NDArray[np.int64] = slots[(known[slots] == rows) & self._alive.view[slots]]
        return live

    # -- one step -------------------------------------------------------------------

    def stage(
        self,
        removed: IntArray,
        added: Iterable[tuple[int, int, Mapping[str, Iterable[str]]]],
    ) -> VocabularyChange:
        """Count the candidates of chunks that come and go.

        Parameters
        ----------
        removed : ndarray of int64
            Slots of live chunks.
        added : iterable of (row, id prefix, candidate keys by kind)
            Rows ascending, above all that are known. They get slots, but are not live
            before :meth:`commit`.
        """
        lost, lost_anchors = self._staged_candidates(removed)
        first = len(self._candidates)
        rows, prefixes = array("q"), array("Q")
        ends, numbers, kinds = array("q"), array("i"), array("b")
        for row, id_prefix, by_kind in added:
            rows.append(row)
            prefixes.append(id_prefix)
            seen: set[tuple[int, int]] = set()
            for kind in sorted(by_kind, key=_kind_code):
                code = _kind_code(kind)
                for number in self.phrases.intern(by_kind[kind]):
                    if (number, code) not in seen:
                        seen.add((number, code))
                        numbers.append(number)
                        kinds.append(code)
            ends.append(first + len(numbers))
        self._rows.extend(rows)
        self._alive.extend(np.zeros(len(rows), dtype=np.bool_))
        self._id_prefixes.extend(prefixes)
        self._candidate_indptr.extend(ends)
        self._candidates.extend(numbers)
        self._candidate_kinds.extend(kinds)
        gained, gained_anchors = self._staged_candidates(
            np.arange(len(self._rows) - len(rows), len(self._rows))
        )
        return VocabularyChange(*self.phrases.count(gained, gained_anchors, lost, lost_anchors))

    def _staged_candidates(self, slots: IntArray) -> tuple[IntArray, IntArray]:
        """Phrases once for each slot that proposes them, and those that are anchors."""
        indptr = self._candidate_indptr.view
        starts = indptr[slots]
        counts = indptr[slots + 1] - starts
        at = concatenated_ranges(starts, counts)
        kinds = self._candidate_kinds.view[at]
        n_phrases = max(len(self.phrases), 1)
        pairs = np.repeat(slots, counts) * n_phrases + self._candidates.view[at]
        anchors = pairs[kinds != _OTHER]
        return np.unique(pairs) % n_phrases, np.unique(anchors) % n_phrases

    def tag(self, into: TaggedChunks, slot: int, passages: Iterable[list[str]]) -> None:
        """Match the tokens of one chunk with the vocabulary (pass 2).

        Its titles and the tags given by the caller are its tags in any case.
        """
        here = slice(*self._candidate_indptr.view[slot : slot + 2].tolist())
        numbers = self._candidates.view[here]
        kinds = self._candidate_kinds.view[here]
        titles = set(numbers[kinds == _TITLE].tolist())
        found = titles.union(numbers[kinds == _GIVEN].tolist())
        for tokens in passages:
            found.update(self.phrases.matcher.match(tokens))
        into.append(slot, found, titles)

    def commit(self, generation: int, removed: IntArray, tagged: TaggedChunks) -> None:
        """Set the postings of added and matched-again chunks; drop those of removed ones."""
        alive = self._alive.writable()
        # A staged chunk that was deleted before its text could be read lives on without
        # tags; the next step removes it, candidates and all.
        alive[self._n_committed :] = True
        alive[removed] = False
        self._n_committed = len(alive)
        slots = tagged.slots
        if len(slots) > max(_FOLD_MIN, self.n_slots // _FOLD_SHARE):
            changed = np.concatenate((removed, slots))
            kept = np.setdiff1d(np.flatnonzero(alive), changed)
            self.incidence = self.incidence.merged(
                self.n_slots, len(self.phrases), kept, slots, tagged.postings
            )
        else:
            for slot in removed.tolist():
                self.incidence.clear_row(slot)
            indptr, tags, is_title = tagged.postings
            for position, slot in enumerate(slots.tolist()):
                here = slice(indptr[position], indptr[position + 1])
                self.incidence.set_row(slot, tags[here], is_title[here])
        self._n_live = int(np.count_nonzero(alive))
        self.generation = generation

    @property
    def is_due_for_folding(self) -> bool:
        """Whether so much has changed that new base arrays pay."""
        dead = self.n_slots - self._n_live
        return dead + self.incidence.delta_size > max(_FOLD_MIN, self.n_slots // _FOLD_SHARE)

    # -- as arrays ------------------------------------------------------------------

    def arrays(self) -> tuple[GraphArrays, list[str]]:
        """Return the graph without dead chunks and phrases, and the phrases' keys."""
        live = np.flatnonzero(self.alive)
        indptr = self._candidate_indptr.view
        counts = indptr[live + 1] - indptr[live]
        at = concatenated_ranges(indptr[live], counts)
        used = self.phrases.candidate_counts > 0
        renumbered = (np.cumsum(used) - 1).astype(np.int32)
        postings = self.incidence.postings(live)
        arrays = GraphArrays(
            rows=self.rows[live],
            id_prefixes=self.id_prefixes[live],
            candidate_indptr=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            candidates=renumbered[self._candidates.view[at]],
            candidate_kinds=self._candidate_kinds.view[at],
            posting_indptr=postings.indptr,
            posting_tags=renumbered[postings.tags],
            posting_is_title=postings.is_title,
            candidate_counts=self.phrases.candidate_counts[used],
            anchor_counts=self.phrases.anchor_counts[used],
        )
        return arrays, [self.phrases.keys[number] for number in np.flatnonzero(used).tolist()]

    def folded(self) -> TagGraph:
        """Return the same graph with everything in its base arrays."""
        return TagGraph(self.generation, *self.arrays())

    # -- reading by phrase ----------------------------------------------------------

    def cues(self, tokens: list[str]) -> list[int]:
        """Return the tags that a query's tokens name and some live chunk holds, in order."""
        found = dict.fromkeys(self.phrases.matcher.match(tokens))
        tags = np.fromiter(found, dtype=np.int64)
        return tags[self.incidence.df(tags) > 0].tolist() if len(tags) else []

    def tags_of(self, chunks: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
        """Gather the tags of several chunks; see :meth:`Incidence.tags_of`."""
        return self.incidence.tags_of(chunks)

    def chunks_of(self, tags: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
        """Gather the chunks of several tags; see :meth:`Incidence.chunks_of`."""
        return self.incidence.chunks_of(tags)

    def df(self, tags: IntArray) -> IntArray:
        """Return how many chunks hold each tag."""
        return self.incidence.df(tags)


def _kind_code(kind: str) -> int:
    return {"title": _TITLE, "given": _GIVEN}.get(kind, _OTHER)
