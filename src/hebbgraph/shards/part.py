"""What is derived from one shard: its postings, its lexical index, its vectors.

The lexical index and the vectors are those of an ordinary index in the shard's directory. The
postings refer to the vocabulary of all shards, so they are kept by the coordinator.
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import numpy as np

from hebbgraph.derived.folder import derived_directory
from hebbgraph.derived.lexical import LexicalIndex
from hebbgraph.derived.parts import Derived
from hebbgraph.derived.steps import StagedStep
from hebbgraph.graph.phrases import PhraseTable
from hebbgraph.graph.tag_graph import GraphArrays, TaggedChunks, VocabularyChange
from hebbgraph.protocols import VectorSearchFactory, VectorSearchName
from hebbgraph.shards.graph import ShardGraph
from hebbgraph.shards.shard import Shard
from hebbgraph.store.history import Commit
from hebbgraph.store.truth import Changes, Truth
from hebbgraph.vectors.file import VectorFile
from hebbgraph.vectors.table import VectorTable

__all__ = ["ShardPart"]


class ShardPart(Derived):
    """The derived parts of one shard, brought forward by the coordinator.

    Parameters
    ----------
    shard : Shard
    truth : Truth
        Its chunks.
    graph : ShardGraph
    **options
        As for :class:`~hebbgraph.derived.parts.Derived`.
    """

    def __init__(
        self,
        shard: Shard,
        truth: Truth,
        graph: ShardGraph,
        *,
        language: str,
        wait_seconds: float,
        with_vectors: bool,
        vector_search: VectorSearchName | VectorSearchFactory,
        lock: threading.RLock,
    ) -> None:
        database = truth.database
        super().__init__(
            truth,
            derived_directory(shard.home, truth.namespace, database.id),
            language=language,
            writable=not database.read_only,
            wait_seconds=wait_seconds,
            with_vectors=with_vectors,
            vector_search=vector_search,
            lock=lock,
        )
        self.shard = shard
        self.truth = truth
        self._graph = graph

    @property
    def postings(self) -> ShardGraph:
        """Its postings, in the phrases of all shards."""
        assert isinstance(self._graph, ShardGraph)
        return self._graph

    @property
    def commit(self) -> Commit:
        return Commit(self.postings.generation, self.postings.mark)

    @property
    def own_lexical(self) -> LexicalIndex | None:
        """Its lexical index, once it was opened."""
        return self._lexical

    def locked(self) -> contextlib.AbstractContextManager[None]:
        """Lock its folder against other processes."""
        return self._locked()

    # -- one step, in two halves ------------------------------------------------------

    def changes(self) -> Changes:
        """Return what has changed since the postings; open the lexical index before."""
        self._load_lexical()
        return self._truth.changes_since(self.commit)

    def stage(self, changes: Changes) -> tuple[StagedStep, VocabularyChange]:
        """Count the candidates that come and go; the folder is locked."""
        lexical = self.lexical
        if lexical.refresh(alone=True) != self.commit:
            # It may have been lost, and older mentions are looked up in it.
            self._steps.advance_lexical(self.postings, lexical)
        return self._steps.stage(self.postings, changes)

    def settle(self, staged: StagedStep | None, vocabulary: VocabularyChange) -> None:
        """Match what came, and what mentions a phrase that any shard made known or unknown."""
        both = staged is not None and self.lexical.refresh() == self.commit
        if staged is None:
            if not (vocabulary.entered or vocabulary.left):
                return
            nothing = np.empty(0, dtype=np.int64)
            staged = StagedStep(self.commit, nothing, nothing, self.postings.n_slots)
        self._steps.settle(self.postings, staged, vocabulary, self.lexical, both=both)

    def rematch_all(self) -> None:
        """Match all texts again, as the vocabulary changed while the shard was down."""
        graph, tagged = self.postings, TaggedChunks()
        live = np.flatnonzero(graph.alive)
        self._steps.rematch(graph, live, tagged)
        incidence = graph.incidence_after(np.empty(0, dtype=np.int64), tagged)
        with self.lock:
            graph.commit(graph.generation, live[:0], incidence, mark=graph.mark)

    def catch_up(self) -> None:
        """Bring the lexical index and the vectors to the commit of the postings."""
        lexical, commit = self.lexical, self.commit
        if lexical.refresh() != commit:
            with self._locked():
                self._steps.advance_lexical(self.postings, lexical)
        self.embedding = self._truth.state().embedding
        if self._with_vectors and self.embedding is not None:
            vectors = self._vector_steps.advance(
                self._vectors, self.postings, self.embedding, commit
            )
            with self.lock:
                self._vectors = vectors

    # -- replaced as a whole ----------------------------------------------------------

    def replace(self, commit: Commit, arrays: GraphArrays, phrases: PhraseTable) -> None:
        """Take other arrays for the postings."""
        self._graph = ShardGraph(commit.generation, arrays, phrases, mark=commit.mark)

    def rewrite(self) -> None:
        """Drop from lexical index and vectors what deleted chunks left."""
        directory: Path | None = self._directory
        with self._locked():
            lexical = self._lexical_part.begun()
            self._steps.advance_lexical(self.postings, lexical, rewrite=True)
            vectors = self._vectors
            if directory is not None:
                VectorTable.discard_search(directory)
                if vectors is None:
                    VectorFile.discard(directory)
            if vectors is not None:
                vectors = vectors.kept(self.postings.rows, self.commit)
        with self.lock:
            self._lexical, self._vectors = lexical, vectors

    def save_search(self) -> None:
        """Save a search of vectors that is slow to build."""
        if self._directory is not None and self._vectors is not None:
            self._vectors.save_search(self._directory)

    def discard(self) -> None:
        """Drop lexical index and vectors, on disk too."""
        if self._directory is not None:
            with self._locked():
                LexicalIndex.discard(self._directory / "lexical")
                VectorFile.discard(self._directory)
        with self.lock:
            self._lexical, self._vectors = None, None
