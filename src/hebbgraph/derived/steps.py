"""One step of the derived parts from one commit of the truth to a later one.

Chunks come and go, and with them phrases of the vocabulary. New chunks are matched against the
vocabulary, and so are older chunks that mention a phrase that entered or left it. Texts are read
a page at a time, and only once if graph and lexical index take the same step.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from hebbgraph.arrays import IntArray, evenly_chosen, unique
from hebbgraph.derived.corrected import CorrectedView
from hebbgraph.derived.folder import Folder
from hebbgraph.derived.lexical import LexicalIndex, LexicalRow
from hebbgraph.derived.vector_steps import VectorSteps
from hebbgraph.formulas.length import try_lengths
from hebbgraph.graph.phrases import VocabularyChange
from hebbgraph.graph.proposed import TaggedChunks
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.locks import LendableLock
from hebbgraph.store.history import NEVER, Commit
from hebbgraph.store.state import Changes, State
from hebbgraph.store.truth import Truth
from hebbgraph.text import lexical_terms
from hebbgraph.text.reader import TextReader, TokenizedTexts
from hebbgraph.vectors.table import VectorTable

__all__ = ["Parts", "Steps", "commit_of", "id_prefix"]

logger = logging.getLogger(__name__)

#: If more phrases enter the vocabulary than one per this many chunks, matching every chunk
#: again costs less than looking each phrase up in the lexical index.
_REMATCH_ALL_SHARE = 2
_PAGE = 500  # texts that are matched together
_SAMPLE = 512  # texts whose lengths are measured


@dataclass(slots=True)
class Parts:
    """The derived parts in memory.

    Attributes
    ----------
    graph : TagGraph
        As the texts have it, without corrections to tags.
    lexical : LexicalIndex
    vectors : VectorTable or None
    saved : Commit
        The commit of the graph that was loaded or saved last.
    """

    graph: TagGraph
    lexical: LexicalIndex
    vectors: VectorTable | None = None
    saved: Commit = NEVER


def commit_of(graph: TagGraph) -> Commit:
    """Return the commit that a graph was derived from."""
    return Commit(graph.generation, graph.mark)


class Steps:
    """Bring derived parts forward.

    Parameters
    ----------
    truth : Truth
    folder : Folder
    lock : LendableLock
        Held while arrays change that others read.
    corrected : CorrectedView
        Refreshed with the graph.
    vector_steps : VectorSteps
    language : str
        The stemmer's.
    """

    def __init__(
        self,
        truth: Truth,
        folder: Folder,
        lock: LendableLock,
        corrected: CorrectedView,
        vector_steps: VectorSteps,
        *,
        language: str,
    ) -> None:
        self._truth = truth
        self._folder = folder
        self._lock = lock
        self._corrected = corrected
        self._vector_steps = vector_steps
        self._language = language
        self._reader: TextReader | None = None

    def catch_up(self, parts: Parts, *, with_vectors: bool) -> State:
        """Bring all parts to the truth's present commit; return the state of the truth."""
        changes = self._changes_since(parts)
        if changes.commit != commit_of(parts.graph):
            self._advance(parts, changes)
        graph, lexical = parts.graph, parts.lexical
        self._corrected.refresh(changes.commit)
        # The lexical index may also be ahead, if an older database was put back beside it.
        if lexical.refresh() != changes.commit:
            with self._folder.locked():
                self.advance_lexical(graph, lexical)
        if self._truth.text_store.here and graph.n_chunks >= lexical.lengths.due_at:
            with self._folder.locked():
                self._try_lengths(graph, lexical)
        if with_vectors and (embedding := changes.state.embedding) is not None:
            vectors = self._vector_steps.advance(parts.vectors, graph, embedding, changes.commit)
            with self._lock.held():
                parts.vectors = vectors
        return changes.state

    def _changes_since(self, parts: Parts) -> Changes:
        """Return the changes since the commit of the graph.

        If the log of changes does not reach back to it, continue from a newer saved graph, or
        from an empty one.
        """
        changes = self._truth.changes_since(commit_of(parts.graph))
        if not changes.complete and self._use_saved(parts):
            changes = self._truth.changes_since(commit_of(parts.graph))
        if not changes.complete:
            self._restart(parts)
            changes = self._truth.changes_since(NEVER)
        return changes

    def _use_saved(self, parts: Parts) -> bool:
        """Use the graph that another process has saved meanwhile, for example by compacting."""
        saved = self._folder.load_graph()
        if saved is None or saved.generation <= parts.graph.generation:
            return False
        if not self._truth.history.knows(commit_of(parts.graph)):
            return False  # the database was replaced, and the saved graph may be of another one
        with self._lock.held():
            parts.graph, parts.vectors, parts.saved = saved, None, commit_of(saved)
        return True

    def _restart(self, parts: Parts) -> None:
        """Start from an empty graph: no steps lead from the present one to the truth."""
        if self._truth.history.knows(commit_of(parts.graph)):
            logger.info("the log of changes does not reach back: rebuilding the graph")
        else:
            self._folder.note_repair("the graph was of another history of the database")
            self._truth.history.breaks += 1
        with self._lock.held():
            parts.graph, parts.vectors = TagGraph.empty(), None

    def _advance(self, parts: Parts, changes: Changes) -> None:
        """Bring graph and lexical index forward."""
        graph, lexical = parts.graph, parts.lexical
        if graph.generation == 0 and changes.commit.generation > 1:
            logger.info("no snapshot: building the graph from %d chunks", len(changes.added))
        with self._folder.locked():
            if lexical.refresh(alone=True) != commit_of(graph):
                # It may have been lost, and the step looks up older mentions in it.
                self.advance_lexical(graph, lexical)
            # From one commit both go forward together, and text is read once.
            both = lexical.refresh() == commit_of(graph)
            self._advance_graph(graph, changes, lexical, both=both)
        if graph.is_due_for_folding:
            folded = graph.folded()  # readers use the old arrays until these are ready
            with self._lock.held():
                parts.graph = folded

    def _advance_graph(
        self, graph: TagGraph, changes: Changes, lexical: LexicalIndex, *, both: bool
    ) -> None:
        """Bring the graph forward, and with ``both`` the lexical index from the same commit.

        Otherwise the lexical index only says which older chunks mention a phrase.
        """
        commit = changes.commit
        removed = graph.slots_of(changes.removed)
        first_slot = graph.n_slots
        candidates = (
            (row, id_prefix(id_), by_kind)
            for row, id_, by_kind in self._truth.candidates(changes.added)
        )
        vocabulary = graph.stage(removed, candidates, lock=self._lock.held)
        tagged = TaggedChunks()
        to_rematch = self._slots_to_rematch(graph, lexical, vocabulary)
        older = np.setdiff1d(to_rematch, removed, assume_unique=True)
        self.rematch(graph, older, tagged)
        new = np.arange(first_slot, graph.n_slots)
        if both:
            added = self._match(graph, new, tagged, terms=True)
            lexical.update(commit, removed=changes.removed.tolist(), added=added)
        else:
            self.rematch(graph, new, tagged)
        incidence = graph.incidence_after(removed, tagged)
        with self._lock.held():
            graph.commit(commit.generation, removed, incidence, mark=commit.mark)
        logger.debug(
            "generation %d: %d chunks added, %d removed, %d matched again",
            commit.generation,
            len(new),
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
            self._folder.note_repair("the files of the lexical index were not those of its stamp")
        elif not rewrite and not changes.complete and not self._truth.history.knows(commit):
            self._folder.note_repair("the lexical index was of another history of the database")
        pages = self._read(graph, changes.added, terms=True)
        lexical.update(
            changes.commit,
            removed=changes.removed.tolist(),
            added=(row for _, _, rows in pages for row in rows),
            rewrite=rewrite or not changes.complete,  # then the added rows are all rows
        )

    def _try_lengths(self, graph: TagGraph, lexical: LexicalIndex) -> None:
        """Measure on a sample how much long texts should be penalised; the folder is locked."""
        rows = graph.rows[evenly_chosen(graph.alive, _SAMPLE)]
        pages = self._read(graph, rows, terms=True)
        texts = [row.terms.split() for _, _, rows in pages for row in rows]
        lexical.note_lengths(try_lengths(texts, graph.n_chunks))

    def rematch(self, graph: TagGraph, slots: IntArray, into: TaggedChunks) -> None:
        """Match the texts of some chunks with the vocabulary."""
        for _ in self._match(graph, slots, into):
            pass

    def _slots_to_rematch(
        self, graph: TagGraph, lexical: LexicalIndex, vocabulary: VocabularyChange
    ) -> IntArray:
        """Return live chunks that mention a phrase that entered, or hold one that left.

        A phrase that enters may also replace a shorter one inside of it, and one that leaves
        may uncover a shorter one: both happen only in these chunks.
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

    def _match(
        self, graph: TagGraph, slots: IntArray, into: TaggedChunks, *, terms: bool = False
    ) -> Iterator[LexicalRow]:
        """Match the text of each slot; with ``terms``, yield its row of the lexical index."""
        rows = graph.rows[slots]
        for read_rows, texts, lexical_rows in self._read(graph, rows, terms=terms):
            graph.tag(into, slots[np.searchsorted(rows, read_rows)], texts)
            yield from lexical_rows

    def _read(
        self, graph: TagGraph, rows: IntArray, *, terms: bool
    ) -> Iterator[tuple[IntArray, TokenizedTexts, list[LexicalRow]]]:
        """Read the texts of rows a page at a time, omitting rows that are gone."""
        reader = self._reader = graph.phrases.reader(self._language, self._reader)
        texts: Iterator[tuple[Any, ...]] = (
            self._truth.texts_and_facts(rows) if terms else self._truth.texts(rows)
        )
        while page := list(islice(texts, _PAGE)):
            page_rows = [row for row, *_ in page]
            tokenized = reader.read([(title, text) for _, title, text, *_ in page], terms=terms)
            facts = (facts for *_, facts in page)
            lexical_rows = list(map(LexicalRow, page_rows, tokenized.terms, facts)) if terms else []
            yield np.array(page_rows, dtype=np.int64), tokenized, lexical_rows


def id_prefix(chunk_id: str) -> int:
    """Return the first eight bytes of an id as a number; numbers sort as the ids do."""
    return int.from_bytes(chunk_id.encode()[:8].ljust(8, b"\0"), "big")
