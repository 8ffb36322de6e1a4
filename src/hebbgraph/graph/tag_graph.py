"""The graph of one namespace: chunks, phrases, and the incidence between them.

Chunks have numbers (*slots*) and so have phrases. They are private to a process; the rows of
the truth and the phrase keys that they stand for are not. Two graphs of the same chunks hold
the same vocabulary and postings, whatever their history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import (
    BoolArray,
    GrowableArray,
    IntArray,
    flatnonzero,
    prefix_sums,
    row_positions,
)
from hebbgraph.graph.incidence import Incidence, Postings, TagColumns
from hebbgraph.graph.phrases import PhraseArrays, PhraseTable, VocabularyChange
from hebbgraph.graph.proposed import (
    Proposed,
    TaggedChunks,
    add_coded,
    count_proposed,
    tags_of_texts,
)
from hebbgraph.text.reader import TokenizedTexts

__all__ = ["GraphArrays", "TagGraph"]

#: The graph is folded once more than one in this many chunks is dead, or phrases is new.
_FOLD_SHARE = 8
_FOLD_MIN = 256
_PAGE = 512  # chunks staged under one lock


class GraphArrays(NamedTuple):
    """Chunks, candidates and postings, as saved in a snapshot. Field names are file names."""

    rows: NDArray[np.int64]
    id_prefixes: NDArray[np.uint64]
    candidate_indptr: NDArray[np.int64]
    candidates: NDArray[np.int32]
    candidate_kinds: NDArray[np.int8]
    posting_indptr: NDArray[np.int64]
    posting_tags: NDArray[np.int32]
    posting_is_title: NDArray[np.bool_]
    column_indptr: NDArray[np.int64]
    column_chunks: NDArray[np.int32]
    column_is_title: NDArray[np.bool_]

    @classmethod
    def empty(cls) -> Self:
        """Return arrays without chunks."""
        ints, flags = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.bool_)
        zero = np.zeros(1, dtype=np.int64)
        return cls(
            rows=np.empty(0, dtype=np.int64),
            id_prefixes=np.empty(0, dtype=np.uint64),
            candidate_indptr=zero,
            candidates=ints,
            candidate_kinds=np.empty(0, dtype=np.int8),
            posting_indptr=zero,
            posting_tags=ints,
            posting_is_title=flags,
            column_indptr=zero,
            column_chunks=ints,
            column_is_title=flags,
        )


class TagGraph:
    """Chunks, phrases and postings, advanced from one generation to the next.

    A step has two halves, so that the slow part, matching text, can run between them:
    :meth:`stage` counts candidates and reports how the vocabulary changes, :meth:`commit`
    installs the postings and makes the step visible.

    Attributes
    ----------
    generation : int
        State of the truth that the postings reflect.
    mark : int
        Distinguishes states with the same number in different histories of the truth.
    phrases : PhraseTable
    incidence : Incidence
    """

    def __init__(
        self,
        generation: int,
        arrays: GraphArrays,
        phrases: PhraseArrays | PhraseTable,
        *,
        mark: int = 0,
    ) -> None:
        self.generation = generation
        self.mark = mark
        self.phrases = phrases if isinstance(phrases, PhraseTable) else PhraseTable(phrases)
        self.incidence = Incidence(
            Postings(arrays.posting_indptr, arrays.posting_tags, arrays.posting_is_title),
            len(self.phrases),
            TagColumns(arrays.column_indptr, arrays.column_chunks, arrays.column_is_title),
        )
        self._rows = GrowableArray(np.int64, arrays.rows)
        self._alive = GrowableArray(np.bool_, np.ones(len(arrays.rows), dtype=np.bool_))
        self._id_prefixes = GrowableArray(np.uint64, arrays.id_prefixes)
        self._candidate_indptr = GrowableArray(np.int64, arrays.candidate_indptr)
        self._candidates = GrowableArray(np.int32, arrays.candidates)
        self._candidate_kinds = GrowableArray(np.int8, arrays.candidate_kinds)
        self._n_live = self._n_committed = len(arrays.rows)
        self._judge_phrases()

    @classmethod
    def empty(cls) -> Self:
        """Return the graph without chunks, at generation 0."""
        return cls(0, GraphArrays.empty(), PhraseArrays.empty())

    # -- the numbers of chunks ------------------------------------------------------

    @property
    def n_slots(self) -> int:
        """Number of slots, including those of deleted chunks."""
        return len(self._rows)

    @property
    def state(self) -> tuple[int, int]:
        """Identifies an array over slots; a step assigns slots long before it commits them."""
        return self.generation, self.n_slots

    @property
    def n_chunks(self) -> int:
        """Number of live chunks."""
        return self._n_live

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Mask of the slots that hold a live chunk, read-only; a new array after each step."""
        alive = self._alive.view
        alive.flags.writeable = False
        return alive

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of the truth behind each slot, ascending."""
        return self._rows.view

    @property
    def id_prefixes(self) -> NDArray[np.uint64]:
        """The first eight bytes of each chunk's id, as a number that sorts like the id."""
        return self._id_prefixes.view

    def slots_of(self, rows: IntArray) -> NDArray[np.int64]:
        """Return the slots of the live rows among these; others are omitted."""
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
        *,
        lock: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> VocabularyChange:
        """Count the candidates of added and removed chunks.

        Parameters
        ----------
        removed : ndarray of int64
            Slots of live chunks.
        added : iterable of (row, id prefix, candidate keys by kind)
            Rows ascend, above all existing ones. They get slots, but are not live until
            :meth:`commit`.
        lock : callable, optional
            Returns a context manager that locks shared state; the lock is released while
            ``added`` is read.
        """
        removed_proposals = self._proposed(removed)
        first = len(self._rows)
        remaining = iter(added)
        while page := list(islice(remaining, _PAGE)):
            with lock():
                self._stage_page(page)
        n_phrases = len(self.phrases)
        gained = count_proposed(self._proposed(np.arange(first, len(self._rows))), n_phrases)
        lost = count_proposed(removed_proposals, n_phrases)
        with lock():
            self.phrases.count_given(gained.given, lost.given)
            return self.phrases.count(gained, lost)

    def _stage_page(self, page: Sequence[tuple[int, int, Mapping[str, Iterable[str]]]]) -> None:
        keys: list[str] = []
        kinds: list[int] = []
        ends = []
        for _, _, by_kind in page:
            add_coded(by_kind, keys, kinds)
            ends.append(len(keys))
        before = len(self._candidates)
        self._rows.extend([row for row, _, _ in page])
        self._alive.extend(np.zeros(len(page), dtype=np.bool_))
        self._id_prefixes.extend(np.array([prefix for _, prefix, _ in page], dtype=np.uint64))
        self._candidates.extend(self.phrases.intern(keys))
        self._candidate_kinds.extend(kinds)
        self._candidate_indptr.extend(before + np.array(ends, dtype=np.int64))

    def _proposed(self, slots: IntArray) -> Proposed:
        """Return the proposals of these slots."""
        indptr, phrases, kinds = self._candidate_indptr, self._candidates, self._candidate_kinds
        return Proposed(indptr.view, phrases.view, kinds.view).of_chunks(slots)

    def tag(self, into: TaggedChunks, slots: IntArray, texts: TokenizedTexts) -> None:
        """Match the vocabulary against the texts of chunks (pass 2).

        Titles, subjects, given tags, addresses and references become tags whether the text
        mentions them or not.

        Parameters
        ----------
        into : TaggedChunks
            Receives the tags.
        slots : ndarray of int64, shape (n,)
        texts : TokenizedTexts
            Texts of these chunks, tokenised by a reader of :attr:`phrases`.
        """
        tags = tags_of_texts(self.phrases, self._proposed(slots), texts)
        into.extend(np.asarray(slots, dtype=np.int64), *tags)

    def incidence_after(self, removed: IntArray, tagged: TaggedChunks) -> Incidence:
        """Return the incidence for :meth:`commit`. Slow; changes nothing."""
        return self.incidence.updated(
            self.n_slots, len(self.phrases), removed, tagged.slots, tagged.postings
        )

    def commit(
        self, generation: int, removed: IntArray, incidence: Incidence, *, mark: int = 0
    ) -> None:
        """Install new postings, and make the step visible."""
        alive = self._alive.writable()
        # A staged chunk whose text was deleted before it could be read has no tags; the next
        # step removes the chunk and its candidates.
        alive[self._n_committed :] = True
        alive[removed] = False
        self._n_committed = len(alive)
        self.incidence = incidence
        self._n_live = int(np.count_nonzero(alive))
        self._judge_phrases()
        self.generation, self.mark = generation, mark

    @property
    def is_due_for_folding(self) -> bool:
        """Whether enough has changed for new base arrays to pay off."""
        dead = self.n_slots - self._n_live
        return dead > max(_FOLD_MIN, self.n_slots // _FOLD_SHARE) or self.phrases.n_fresh > max(
            _FOLD_MIN, len(self.phrases) // _FOLD_SHARE
        )

    # -- as arrays ------------------------------------------------------------------

    def arrays(self) -> tuple[GraphArrays, PhraseArrays]:
        """Return the graph as arrays, without dead chunks and phrases."""
        used = self.phrases.in_use
        arrays = self._base_arrays() if used.all() and self.alive.all() else None
        arrays = arrays or self._arrays_of(np.flatnonzero(self.alive), used)
        return arrays, self.phrases.arrays(used)

    def _base_arrays(self) -> GraphArrays | None:
        """Return the base arrays without copying, or None if later rows lie above them."""
        base = self.incidence.base
        if base is None or len(base[1].indptr) != len(self.phrases) + 1:
            return None
        return GraphArrays(
            self.rows,
            self.id_prefixes,
            self._candidate_indptr.view,
            self._candidates.view,
            self._candidate_kinds.view,
            *base[0],
            *base[1],
        )

    def _arrays_of(self, slots: IntArray, used: BoolArray) -> GraphArrays:
        """Copy some chunks into arrays; their phrases are renumbered as the used ones."""
        counts, at = row_positions(self._candidate_indptr.view, slots)
        renumbered = (np.cumsum(used) - 1).astype(np.int32)
        postings = self.incidence.postings(slots)
        postings = postings._replace(tags=renumbered[postings.tags])
        return GraphArrays(
            self.rows[slots],
            self.id_prefixes[slots],
            prefix_sums(counts),
            renumbered[self._candidates.view[at]],
            self._candidate_kinds.view[at],
            *postings,
            *postings.columns(int(np.count_nonzero(used))),
        )

    def folded(self) -> TagGraph:
        """Return the same graph with all changes folded into new base arrays."""
        return TagGraph(self.generation, *self.arrays(), mark=self.mark)

    # -- reading --------------------------------------------------------------------

    def _judge_phrases(self) -> None:
        df = self.incidence.frequencies[: len(self.phrases)]
        if len(df) < len(self.phrases):
            df = np.concatenate((df, np.zeros(len(self.phrases) - len(df), df.dtype)))
        self._is_incidental = self.phrases.are_incidental(df, self._n_live)

    def are_incidental(self, tags: IntArray) -> BoolArray:
        """Return which of these tags count only for the chunks whose title they are.

        See :meth:`PhraseTable.are_incidental`. Their postings are kept, since the next chunk
        may tip the scales, but every method below hides them.
        """
        if len(self._is_incidental) == len(self.phrases):
            return self._is_incidental[tags]
        known = tags < len(self._is_incidental)  # phrases of a staged step are not judged yet
        incidental = np.zeros(len(tags), dtype=np.bool_)
        incidental[known] = self._is_incidental[tags[known]]
        return incidental

    def cues(self, tokens: list[str]) -> list[int]:
        """Return the tags that a query names, if a live chunk holds them.

        Known phrases come first, in query order, then given phrases outside of these.
        """
        tags = np.array(self._phrases_in(tokens), dtype=np.int64)
        return tags[self.df(tags) > 0].tolist() if len(tags) else []

    def _phrases_in(self, tokens: list[str]) -> list[int]:
        """Return the phrases that a query names, whether a chunk holds them or not."""
        known, given = self.phrases.match_question(tokens)
        outside = (
            tag
            for start, stop, tag in given
            if not any(first <= start and stop <= last for first, last, _ in known)
        )
        return list(dict.fromkeys((*(tag for _, _, tag in known), *outside)))

    def are_known(self, tags: IntArray) -> BoolArray:
        """Return which tags belong to every chunk that mentions them, and not only where given."""
        return self.phrases.are_known(tags)

    def spellings(self, tag: int) -> list[str]:
        """Return the phrases by which a question can name a tag."""
        return [self.phrases.keys[tag]]

    def tags_of(self, chunks: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
        """Return the tags of several chunks; see :meth:`Incidence.tags_of`."""
        owner, tags, is_title = self.incidence.tags_of(chunks)
        at = flatnonzero(is_title | ~self.are_incidental(tags))
        return owner[at], tags[at], is_title[at]

    def mentions_of(
        self, chunks: IntArray
    ) -> tuple[IntArray, IntArray, BoolArray, IntArray, BoolArray]:
        """Return the tags of chunks and the incidental phrases that they mention.

        See :meth:`~hebbgraph.formulas.adjacency.IncidenceView.mentions_of`.
        """
        owner, tags, is_title = self.incidence.tags_of(chunks)
        is_tag = is_title | ~self.are_incidental(tags)
        return owner, tags, is_title, self.incidence.df(tags), is_tag

    def chunks_of(self, tags: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
        """Return the chunks of several tags; see :meth:`Incidence.chunks_of`."""
        owner, chunks, is_title = self.incidence.chunks_of(tags)
        incidental = self.are_incidental(tags)
        if np.count_nonzero(incidental):
            keep = is_title | ~incidental[owner]
            owner, chunks, is_title = owner[keep], chunks[keep], is_title[keep]
        return owner, chunks, is_title

    def postings(self, chunks: IntArray) -> Postings:
        """Return the tags of these chunks as rows, in the given order."""
        owner, tags, is_title = self.tags_of(chunks)
        return Postings(
            np.searchsorted(owner, np.arange(len(chunks) + 1)), tags.astype(np.int32), is_title
        )

    def df(self, tags: IntArray) -> IntArray:
        """Return the document frequency of each tag."""
        df = self.incidence.df(tags)
        incidental = self.are_incidental(tags)
        if np.count_nonzero(incidental):
            df[incidental] = self.phrases.anchor_counts[tags[incidental]]
        return df

    def title_counts(self, tags: IntArray) -> IntArray:
        """Return how many chunks have each tag as their title."""
        counts: IntArray = self.phrases.anchor_counts[tags]
        return counts

    @property
    def has_links(self) -> bool:
        """Whether any tag is an address or an edge by metadata."""
        return self.phrases.has_links

    def link_kinds(self, tags: IntArray) -> IntArray:
        """Return the :class:`~hebbgraph.formulas.adjacency.LinkKind` of each tag."""
        kinds: IntArray = self.phrases.link_kinds[tags]
        return kinds
