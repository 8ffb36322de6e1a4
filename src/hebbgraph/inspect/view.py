"""``index.inspect``: how recalls came about, and what the index has learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from hebbgraph.arguments import check_ids
from hebbgraph.calling import in_thread
from hebbgraph.derived.colonies import ColonyState
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.dense_share import Likeness
from hebbgraph.inspect.documents import DocumentList, documents
from hebbgraph.inspect.explain import explain
from hebbgraph.inspect.export import colony_graph, incidence_graph, tag_graph
from hebbgraph.inspect.lesson_report import lesson_report
from hebbgraph.inspect.room import Room
from hebbgraph.inspect.statistics import Stats, graph_stats
from hebbgraph.inspect.trace import trace
from hebbgraph.learning.survey import learned_kinds
from hebbgraph.recall.vector_slots import VectorSlots
from hebbgraph.records import Colony, LearnedParameter, Recall
from hebbgraph.records.explanations import Explanation, Trace
from hebbgraph.records.lesson_report import LessonReport

if TYPE_CHECKING:
    import networkx as nx

    from hebbgraph.namespace import Namespace


__all__ = ["Inspection"]


class Inspection(Room):
    """How an index came to its answers, and what it holds."""

    def explain(self, recall: Recall | str, chunk_id: str) -> Explanation:
        """See :meth:`hebbgraph.HebbianIndex.explain`."""
        parts = self._parts()
        check_ids([chunk_id], "a chunk id")
        return explain(parts, self._index._recaller, self._index._resolve(recall), chunk_id)

    def trace(
        self,
        recall: Recall | str,
        *,
        where: Mapping[str, object] | None = None,
        limit: int = 2000,
    ) -> Trace:
        """Replay how activation spread for a recall's question, edge by edge.

        The default strategy runs on the current index, among chunks that pass the recall's filter.
        ``seeds`` and ``vectors`` of the recall are not recorded, so the replay lacks them.

        Parameters
        ----------
        recall : Recall, or the id of a recent one
        where : dict, optional
            Replaces the recall's own filter. If that was a callable, which is not recorded, only
            the hits and the chunks on their paths take part.
        limit : int, from 1 to 10000
            Return this many of the strongest flows.

        Returns
        -------
        Trace
            What flowed, what was cut and why, and for each hit the causes of its score and its
            rank without any feedback.

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add([
        ...         {"title": "Petrel", "text": "The Petrel was built by Ida Moss."},
        ...         {"title": "Ida Moss", "text": "Ida Moss was born in Tessel Bay."},
        ...     ])
        ...     recall = index.recall("Where was the builder of the Petrel born?")
        ...     trace = index.inspect.trace(recall)
        >>> first = trace.events[0]
        >>> first.over, trace.nodes[first.target].value
        ('question', 'petrel')
        """
        parts = self._parts()
        if not isinstance(limit, int) or isinstance(limit, bool):
            raise ParameterError(f"limit is a whole number, got {limit!r:.80}")
        return trace(parts, self._index._recaller, self._index._resolve(recall), where, limit)

    def stats(self) -> Stats:
        """Count chunks, tags and edges; see :class:`~hebbgraph.inspect.statistics.Stats`."""
        parts = self._parts()
        with parts.derived.reading():
            graph = parts.derived.graph
            return graph_stats(
                graph,
                colonies=_colony_state(parts).n_colonies if parts.colonies.exist else 0,
                lessons=parts.log.count(),
                answers=parts.answers.counts(),
                alike=_likeness(parts),
                weights=parts.settings.evidence,
                lengths=parts.derived.lexical.lengths,
            )

    def documents(self, containing: str = "", *, limit: int = 100) -> DocumentList:
        """List the documents of the index, the one indexed last first.

        Parameters
        ----------
        containing : str
            Only documents whose id contains this text, ignoring case.
        limit : int

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.put_document("owls.md", None, [{"text": "Owls.", "title": "Owls"}])
        ...     index.inspect.documents().documents
        (DocumentSummary(id='owls.md', title='Owls', passages=1, from_file=False, indexed_at=None),)
        """
        return documents(self._parts().truth, containing, limit)

    def learned(self) -> tuple[LearnedParameter, ...]:
        """Return how far memory and each kind of feedback are trusted here.

        Each lesson first serves as an exam: what would memory have answered without it? Up to 256
        exams set the weights of words, vectors and pairs of chunks relative to the score without
        learning, and how much taught chunks lose for other questions (``docs/learning.md``).
        ``forget`` also undoes what the exams of forgotten lessons have set.

        Returns
        -------
        tuple of LearnedParameter
            Empty if every value is the default and all feedback was citations.

        Examples
        --------
        >>> index = HebbianIndex.open(":memory:")
        >>> index.inspect.learned()
        ()
        """
        parts = self._parts()
        with parts.reading():
            return (*parts.memory.learned(), *learned_kinds(parts.memory))

    def lesson_report(self, *, questions: int = 200, k: int = 5) -> LessonReport:
        """Replay the log on its own later questions: did learning help *here*?

        The later half of the questions whose text is kept is held out. A separate memory learns
        the lessons before them: an eighth, a quarter, a half, then all. After each part, the held
        out questions are asked with this memory. The chunks that were cited for them count as
        right, whoever cited them. The index itself stays unchanged and nothing is written.

        This needs ``LearningSettings(store_queries=True)``, which keeps the questions. Open an
        index that has vectors with its model. Rerankers are left out, and so are filters and
        earlier turns, which the log does not record.

        Parameters
        ----------
        questions : int, from 1 to 1000
            Ask at most this many of the later questions, evenly spread. Each takes up to five
            recalls.
        k : int
            The depth of recall.

        Returns
        -------
        LessonReport
            Figures by number of lessons, changes with 95 % intervals, and a verdict. To print, it
            is a summary.

        Examples
        --------
        >>> from hebbgraph import LearningSettings, Settings
        >>> keeping = Settings(learning=LearningSettings(store_queries=True))
        >>> with HebbianIndex.open(":memory:", settings=keeping) as index:
        ...     report = index.add([
        ...         {"id": "a", "text": "Owls hunt at night."},
        ...         {"id": "b", "text": "Owls of the night hunt; by day owls hunt rarely."},
        ...     ])
        ...     for number in range(30):
        ...         recall = index.recall("When do owls hunt at night?")
        ...         feedback = index.reinforce(recall, cited=[recall.hits[-1].chunk.id])
        ...     report = index.inspect.lesson_report()
        >>> report.taught, report.asked, len(report.points)
        (15, 15, 5)
        """
        return lesson_report(self._parts(), questions, k)

    def colonies(self, *, rebuild: bool = False) -> list[Colony]:
        """Return the communities of chunks, the largest first.

        The Louvain method finds them on the first call, from shared tags and similar vectors.
        Later changes of chunks only change the colonies around them. Use
        ``recall(where={"$colony": id})`` for one colony, ``recall(per_colony=n)`` for many.

        Parameters
        ----------
        rebuild : bool
            Find them again. A colony that keeps most of its chunks keeps its id.

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add([
        ...         {"id": "a", "title": "Petrel", "text": "Ida Moss built the Petrel."},
        ...         {"id": "b", "title": "Ida Moss", "text": "Ida Moss built boats."},
        ...         {"id": "c", "title": "Hemp", "text": "Hemp makes rope."},
        ...         {"id": "d", "title": "Rope", "text": "Rope is made of hemp."},
        ...     ])
        ...     [(colony.id, colony.chunks) for colony in index.inspect.colonies()]
        [(0, 2), (1, 2)]
        """
        parts = self._parts()
        with parts.derived.reading():
            state = _colony_state(parts, rebuild=rebuild)
            return parts.colonies.describe(parts.derived.graph, state)

    def to_networkx(self, kind: Literal["tags", "incidence", "colonies"] = "tags") -> nx.Graph[str]:
        """Return a graph for networkx.

        Parameters
        ----------
        kind : {"tags", "incidence", "colonies"}
            Tags joined by the number of chunks that hold both; chunks and their tags; or chunks
            joined by shared tags and similar vectors, each with its colony.
        """
        parts = self._parts()
        if kind not in ("tags", "incidence", "colonies"):
            raise ParameterError(f"kind is 'tags', 'incidence' or 'colonies', got {kind!r}")
        with parts.derived.reading():
            graph = parts.derived.graph
            if kind == "tags":
                return tag_graph(graph)
            if kind == "incidence":
                return incidence_graph(graph, parts.truth.ids(graph.rows[graph.alive].tolist()))
            state = _colony_state(parts)
            described = parts.colonies.describe(graph, state)
            return colony_graph(
                state.generation,
                state.rows,
                state.colony,
                parts.colonies.edges(state),
                parts.truth.ids(state.rows.tolist()),
                {colony.id: colony.name for colony in described},
            )

    aexplain = in_thread(explain)
    atrace = in_thread(trace)
    astats = in_thread(stats)
    adocuments = in_thread(documents)
    alearned = in_thread(learned)
    alesson_report = in_thread(lesson_report)
    acolonies = in_thread(colonies)
    ato_networkx = in_thread(to_networkx)


def _colony_state(parts: Namespace, *, rebuild: bool = False) -> ColonyState:
    derived = parts.derived
    return parts.colonies.at(derived.graph, derived.vectors, rebuild=rebuild)


def _likeness(parts: Namespace) -> Likeness | None:
    """Return how alike the vectors are, if there are any."""
    table, graph = parts.derived.vectors, parts.derived.graph
    if table is None or not len(table.rows):
        return None
    return VectorSlots(graph, table).likeness(graph.alive, table)
