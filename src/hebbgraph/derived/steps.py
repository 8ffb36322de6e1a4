"""One step of the graph and the lexical index from one commit of the truth to a later one.

Chunks come and go, and with them phrases of the vocabulary. New chunks are matched against
it, and so are older chunks that mention a phrase that entered or left. Texts are read a page
at a time, once for both parts where both take the same step.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any

import numpy as np

from hebbgraph.arrays import IntArray, evenly_chosen, unique
from hebbgraph.derived.lexical import LexicalIndex, LexicalRow
from hebbgraph.formulas.length import try_lengths
from hebbgraph.graph.phrases import VocabularyChange
from hebbgraph.graph.proposed import TaggedChunks
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.store.history import NEVER
from hebbgraph.store.state import Changes
from hebbgraph.store.truth import Truth
from hebbgraph.text import lexical_terms
from hebbgraph.text.reader import TextReader, TokenizedTexts

__all__ = ["Steps", "id_prefix"]

logger = logging.getLogger(__name__)

#: If more phrases enter the vocabulary than one per this many chunks, matching every chunk
#: again costs less than looking each phrase up in the lexical index.
_REMATCH_ALL_SHARE = 2
_PAGE = 500  # texts that are matched together
_SAMPLE = 512  # passages that tell of their lengths


class Steps:
    """Bring a graph and a lexical index forward.

    Parameters
    ----------
    truth : Truth
    language : str
    held : callable
        Returns the lock to take while arrays change that others read.
    repaired : callable
        Receives what was found wrong and is rebuilt from the truth.
    """

    def __init__(
        self,
        truth: Truth,
        language: str,
        held: Callable[[], AbstractContextManager[object]],
        repaired: Callable[[str], object],
    ) -> None:
        self._truth = truth
        self._language = language
        self._held = held
        self._repaired = repaired
        self._reader: TextReader | None = None

    def advance_graph(
        self, graph: TagGraph, changes: Changes, lexical: LexicalIndex, *, both: bool
    ) -> None:
        """Bring the graph forward; ``both``: the lexical index too, from the same commit.

        Otherwise the lexical index only tells which older chunks mention a phrase.
        """
        commit = changes.commit
        removed = graph.slots_of(changes.removed)
        first_slot = graph.n_slots
        candidates = (
            (row, id_prefix(id_), by_kind)
            for row, id_, by_kind in self._truth.candidates(changes.added)
        )
        vocabulary = graph.stage(removed, candidates, held=self._held)
        tagged = TaggedChunks()
        to_rematch = self._slots_to_rematch(graph, lexical, vocabulary)
        older = np.setdiff1d(to_rematch, removed, assume_unique=True)
        self.rematch(graph, older, tagged)
        fresh = np.arange(first_slot, graph.n_slots)
        new = self._matched(graph, fresh, tagged, terms=both)
        if both:
            lexical.update(commit, removed=changes.removed.tolist(), added=new)
        else:
            for _ in new:
                pass
        incidence = graph.incidence_after(removed, tagged)
        with self._held():
            graph.commit(commit.generation, removed, incidence, mark=commit.mark)
        logger.debug(
            "generation %d: %d chunks added, %d removed, %d matched again",
            commit.generation,
            len(fresh),
            len(removed),
            len(older),
        )

    def advance_lexical(
        self, graph: TagGraph, lexical: LexicalIndex, *, rewrite: bool = False
    ) -> None:
        """Bring the lexical index alone forward, or rewrite it; the folder is locked."""
        commit = NEVER if rewrite else lexical.refresh(alone=True)
        changes = self._truth.changes_since(commit)
        if changes.commit == commit and changes.complete:
            return
        if not rewrite and commit == NEVER:
            self._repaired("the files of the lexical index were not those of its stamp")
        elif not rewrite and not changes.complete and not self._truth.history.knows(commit):
            self._repaired("the lexical index was of another history of the database")
        pages = self._read(graph, changes.added, terms=True)
        lexical.update(
            changes.commit,
            removed=changes.removed.tolist(),
            added=(row for _, _, rows in pages for row in rows),
            rewrite=rewrite or not changes.complete,  # then the added rows are all rows
        )

    def try_lengths(self, graph: TagGraph, lexical: LexicalIndex) -> None:
        """Let the corpus say how far long passages are held back; the folder is locked."""
        some = graph.rows[evenly_chosen(graph.alive, _SAMPLE)]
        pages = self._read(graph, some, terms=True)
        texts = [row.terms.split() for _, _, rows in pages for row in rows]
        lexical.note_lengths(try_lengths(texts, graph.n_chunks))

    def rematch(self, graph: TagGraph, slots: IntArray, into: TaggedChunks) -> None:
        """Match the texts of older chunks again."""
        for _ in self._matched(graph, slots, into):
            pass

    def _slots_to_rematch(
        self, graph: TagGraph, lexical: LexicalIndex, vocabulary: VocabularyChange
    ) -> IntArray:
        """Return live chunks that mention a phrase that entered, or hold one that left.

        A phrase that enters may also replace a shorter one inside of it, and one that leaves
        may uncover one: both happen only in these chunks.
        """
        entered, left = vocabulary
        if len(entered) * _REMATCH_ALL_SHARE > np.count_nonzero(graph.alive):
            return np.flatnonzero(graph.alive)
        _, holding, _ = graph.incidence.chunks_of(np.array(left, dtype=np.int64))
        mentioning = [holding.astype(np.int64)]
        for number in entered:
            terms = lexical_terms(graph.phrases.keys[number].split(" "), self._language)
            mentioning.append(graph.slots_of(lexical.rows_with_phrase(terms)))
        return unique(np.concatenate(mentioning))

    def _matched(
        self, graph: TagGraph, slots: IntArray, into: TaggedChunks, *, terms: bool = False
    ) -> Iterator[LexicalRow]:
        """Match the text of each slot; with ``terms``, yield its row of the lexical index."""
        rows = graph.rows[slots]
        for held, read, lexical_rows in self._read(graph, rows, terms=terms):
            graph.tag(into, slots[np.searchsorted(rows, held)], read)
            yield from lexical_rows

    def _read(
        self, graph: TagGraph, rows: IntArray, *, terms: bool
    ) -> Iterator[tuple[IntArray, TokenizedTexts, list[LexicalRow]]]:
        """Read the texts of rows a page at a time; rows that are gone are left out."""
        reader = self._reader = graph.phrases.reader(self._language, self._reader)
        texts: Iterator[tuple[Any, ...]] = (
            self._truth.texts_and_facts(rows) if terms else self._truth.texts(rows)
        )
        while page := list(islice(texts, _PAGE)):
            held = [row for row, *_ in page]
            read = reader.read([(title, text) for _, title, text, *_ in page], terms=terms)
            facts = (facts for *_, facts in page)
            lexical_rows = list(map(LexicalRow, held, read.terms, facts)) if terms else []
            yield np.array(held, dtype=np.int64), read, lexical_rows


def id_prefix(chunk_id: str) -> int:
    """Return the first eight bytes of an id as a number; numbers sort as the ids do."""
    return int.from_bytes(chunk_id.encode()[:8].ljust(8, b"\0"), "big")
