"""The language of each chunk, and vectors without their language; derived on demand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, IntArray
from hebbgraph.formulas.languages import LanguageMeans, language_means
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.store.truth import Truth
from hebbgraph.text.languages import language_of
from hebbgraph.vectors.table import VectorTable

__all__ = ["Languages", "NeutralVectors"]


class NeutralVectors(NamedTuple):
    """Vectors of chunks and of a question, without their languages.

    Attributes
    ----------
    table : VectorTable
    vector : ndarray of float32, shape (dimension,), unit length
        The question's vector.
    foreign : ndarray of bool, shape (n_slots,)
        Which chunks are in another language than the question.
    """

    table: VectorTable
    vector: NDArray[np.float32]
    foreign: BoolArray


class Languages:
    """Keeps the languages of a namespace in step with its graph.

    Texts are read once in each process.
    """

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._names: dict[str, int] = {"": 0}
        #: The rows that were read, ascending, and the number of each row's language.
        self._rows = self._codes = np.empty(0, np.int64)
        self._breaks = truth.history.breaks
        #: The graph that was read, and its state then.
        self._read_graph: tuple[TagGraph, tuple[int, int]] | None = None
        self._are_several = False
        #: The result of :meth:`_neutral_table`, with what it was computed from.
        self._cached: tuple[VectorTable, int, TagGraph, int, VectorTable, LanguageMeans] | None
        self._cached = None

    @property
    def n_numbers(self) -> int:
        """One more than the highest number of a language."""
        return len(self._names)

    def read_as(self, question: str) -> str | None:
        """Describe the language of a question; None if the chunks are in one language."""
        if not self._are_several:
            return None
        language = language_of(question)
        if not language:
            return (
                "the language of the question is not known: its vector was compared as one of no "
                "language"
            )
        return f"the question was read as {language.capitalize()}"

    def number(self, language: str) -> int:
        """Return the number of a language; 0 if no chunk is known to be in it."""
        return self._names.get(language, 0)

    def neutral(
        self, graph: TagGraph, table: VectorTable, question: str, vector: NDArray[np.float32]
    ) -> NeutralVectors | None:
        """Return vectors to compare; None if the chunks are in one language.

        The caller has locked the graph.
        """
        codes = self.by_slot(graph)
        if not self._are_several:
            return None
        language = self.number(language_of(question))
        neutral, means = self._neutral_table(graph, table, codes)
        without = means.without(vector[None], np.array([language]))[0]
        foreign = (codes != language) & (codes > 0) if language else np.zeros(len(codes), np.bool_)
        return NeutralVectors(neutral, without, foreign)

    def by_slot(self, graph: TagGraph) -> IntArray:
        """Return the number of each slot's language; 0 if it is not known."""
        known = self._read_graph
        if known is None or known[0] is not graph or known[1] != graph.state:
            self._read(graph)
            codes = self._codes[graph.alive]
            self._are_several = len(np.unique(codes[codes > 0])) > 1
            self._read_graph = (graph, graph.state)
        return self._codes

    def _read(self, graph: TagGraph) -> None:
        """Read the texts of new rows. A row keeps its text, unless the database is another."""
        if self._breaks != self._truth.history.breaks:
            self._rows = self._codes = np.empty(0, np.int64)
            self._breaks = self._truth.history.breaks
        rows = graph.rows
        known = np.isin(rows, self._rows, assume_unique=True)
        codes = np.zeros(len(rows), np.int64)
        codes[known] = self._codes[np.searchsorted(self._rows, rows[known])]
        for row, title, text in self._truth.texts(rows[~known]):
            language = language_of(f"{title} {text}")
            codes[np.searchsorted(rows, row)] = self._names.setdefault(language, len(self._names))
        self._rows, self._codes = rows.copy(), codes

    def _neutral_table(
        self, graph: TagGraph, table: VectorTable, codes: IntArray
    ) -> tuple[VectorTable, LanguageMeans]:
        """Return the vectors without their languages, and the means of the languages."""
        source = (table, len(table.rows), graph, graph.generation)
        cached = self._cached
        if (
            cached is None
            or cached[0] is not table
            or cached[2] is not graph
            or (cached[1], cached[3]) != source[1::2]
        ):
            slots = np.minimum(np.searchsorted(graph.rows, table.rows), graph.n_slots - 1)
            live = (graph.rows[slots] == table.rows) & graph.alive[slots]
            languages = codes[slots]
            # Means of the present chunks, so former ones do not matter.
            means = language_means(table.matrix[live], languages[live], len(self._names))
            neutral = table.replaced(table.rows, means.without(table.matrix, languages))
            cached = self._cached = (*source, neutral, means)
        return cached[4], cached[5]
