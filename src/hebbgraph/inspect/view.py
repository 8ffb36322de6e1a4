"""``index.inspect``: how recalls came about, and what the index has learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from hebbgraph.arguments import check_ids
from hebbgraph.calling import in_thread
from hebbgraph.derived.colonies import ColonyState
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.dense_share import Likeness
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.inspect.documents import DocumentList, documents
from hebbgraph.inspect.explain import explain
from hebbgraph.inspect.export import colony_graph, incidence_graph, tag_graph
from hebbgraph.inspect.lesson_report import lesson_report
from hebbgraph.inspect.statistics import Stats, graph_stats
from hebbgraph.inspect.trace import trace
from hebbgraph.learning.survey import deeds_of
from hebbgraph.recall.search import VectorSlots
from hebbgraph.records import Colony, LearnedParameter, Recall
from hebbgraph.records.explanations import Explanation, Trace
from hebbgraph.records.lesson_report import LessonReport

if TYPE_CHECKING:
    import networkx as nx

    from hebbgraph.index import CoreIndex

__all__ = ["Inspection"]


class Inspection:
    """What can be seen of an index.

    Parameters
    ----------
    index : CoreIndex
    """

    def __init__(self, index: CoreIndex) -> None:
        self._index = index

    def explain(self, recall: Recall | str, chunk_id: str) -> Explanation:
        """See :meth:`hebbgraph.HebbianIndex.explain`."""
        self._index._check_exists()
        check_ids([chunk_id], "a chunk id")
        return explain(
            self._index._parts, self._index._recaller, self._index._resolve(recall), chunk_id
        )

    def trace(
        self,
        recall: Recall | str,
        *,
        where: Mapping[str, object] | None = None,
        limit: int = 2000,
    ) -> Trace:
        """Replay how activation spread for a recall's question, edge by edge.

        By the default strategy, on the index as it is now, among what the recall's filter lets
        pass. Seeds and vectors of your own are not known any more.

        Parameters
        ----------
        recall : Recall, or the id of a recent one
        where : dict, optional
            In place of the recall's own filter. A callable is not kept: without this, only the hits
            and the chunks on their paths take part then.
        limit : int, from 1 to 10000
            The strongest flows that are returned.

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
        self._index._check_exists()
        if not isinstance(limit, int) or isinstance(limit, bool):
            raise ParameterError(f"limit is a whole number, got {limit!r:.80}")
        return trace(
            self._index._parts, self._index._recaller, self._index._resolve(recall), where, limit
        )

    def stats(self) -> Stats:
        """Count chunks, tags and edges; see :class:`~hebbgraph.inspect.statistics.Stats`."""
        self._index._check_exists()
        parts = self._index._parts
        with parts.derived.held():
            graph = parts.derived.graph
            return graph_stats(
                graph,
                colonies=self._colony_state(graph).n_colonies if parts.colonies.exist else 0,
                lessons=parts.log.count(),
                answers=parts.answers.counts(),
                alike=self._likeness(graph),
                weights=parts.settings.evidence,
                lengths=parts.derived.lexical.lengths,
            )

    def _likeness(self, graph: TagGraph) -> Likeness | None:
        """Return what the vectors tell of their embedder, if there are any."""
        table = self._index._parts.derived.vectors
        if table is None or not len(table.rows):
            return None
        return VectorSlots(graph, table).likeness(graph.alive, table)

    def documents(self, containing: str = "", *, limit: int = 100) -> DocumentList:
        """List the documents that the index was made of, the one indexed last first.

        Parameters
        ----------
        containing : str
            Only those whose id holds this text, without regard to case.
        limit : int

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.put_document("owls.md", None, [{"text": "Owls.", "title": "Owls"}])
        ...     index.inspect.documents().documents
        (DocumentSummary(id='owls.md', title='Owls', passages=1, from_file=False, indexed_at=None),)
        """
        self._index._check_exists()
        return documents(self._index._parts.truth, containing, limit)

    def learned(self) -> tuple[LearnedParameter, ...]:
        """Say how far memory is trusted here, where exams have moved it, and each kind of deed.

        Every lesson is an exam first: what would memory have said without it? From up to 256
        exams follow the weights of words, of vectors and of pairs of chunks beside the score
        without learning, and how much chunks lose that were taught, so that others do not
        sink (``docs/learning.md``). ``forget`` takes back what they follow from.

        Returns
        -------
        tuple of LearnedParameter
            Empty if nothing has moved, and people only cited.

        Examples
        --------
        >>> index = HebbianIndex.open(":memory:")
        >>> index.inspect.learned()
        ()
        """
        self._index._check_exists()
        with self._index._parts.held():
            learned = self._index._parts.learned
            return (*learned.learned(), *deeds_of(learned))

    def lesson_report(self, *, questions: int = 200, k: int = 5) -> LessonReport:
        """Replay the log on its own later questions: did learning help *here*?

        The later half of the questions whose text is kept is held out. A memory apart learns the
        lessons before them, an eighth, a quarter, a half, all, and each time a copy of this
        index that knows only those is asked the later questions. What was cited then counts
        as right, whoever cited it. This index stays as it is, and nothing is written.

        It takes ``LearningSettings(store_queries=True)``, else there is nothing to ask. Open an
        index that has vectors with its model. A reranker is left out, and so are filters and
        the earlier turns of conversations, which the log does not keep.

        Parameters
        ----------
        questions : int, from 1 to 1000
            So many of the later questions are asked at most, evenly spread. Each takes up to five
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
        self._index._check_exists()
        return lesson_report(self._index._parts, questions, k)

    def colonies(self, *, rebuild: bool = False) -> list[Colony]:
        """Return the communities of chunks, the largest first.

        The Louvain method finds them on the first call, from shared tags and similar vectors. After
        that, chunks that come and go change only their surroundings. Use
        ``recall(where={"$colony": id})`` for one colony, ``recall(per_colony=n)`` for many.

        Parameters
        ----------
        rebuild : bool
            Find them again. A colony keeps its id as far as it keeps its chunks.

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
        self._index._check_exists()
        with self._index._parts.derived.held():
            graph = self._index._parts.derived.graph
            return self._index._parts.colonies.describe(
                graph, self._colony_state(graph, rebuild=rebuild)
            )

    def _colony_state(self, graph: TagGraph, *, rebuild: bool = False) -> ColonyState:
        return self._index._parts.colonies.at(
            graph, self._index._parts.derived.vectors, rebuild=rebuild
        )

    def to_networkx(self, kind: Literal["tags", "incidence", "colonies"] = "tags") -> nx.Graph[str]:
        """Return a graph for networkx.

        Parameters
        ----------
        kind : {"tags", "incidence", "colonies"}
            Tags joined by the number of chunks that hold both; chunks and their tags; or chunks
            joined by shared tags and similar vectors, each with its colony.
        """
        self._index._check_exists()
        if kind not in ("tags", "incidence", "colonies"):
            raise ParameterError(f"kind is 'tags', 'incidence' or 'colonies', got {kind!r}")
        with self._index._parts.derived.held():
            graph = self._index._parts.derived.graph
            if kind == "tags":
                return tag_graph(graph)
            if kind == "colonies":
                state = self._colony_state(graph)
                return colony_graph(
                    state.generation,
                    state.rows,
                    state.colony,
                    self._index._parts.colonies.edges(state),
                    self._index._parts.truth.ids(state.rows.tolist()),
                    {
                        one.id: one.name
                        for one in self._index._parts.colonies.describe(graph, state)
                    },
                )
            return incidence_graph(
                graph, self._index._parts.truth.ids(graph.rows[graph.alive].tolist())
            )

    aexplain = in_thread(explain)
    atrace = in_thread(trace)
    astats = in_thread(stats)
    adocuments = in_thread(documents)
    alearned = in_thread(learned)
    alesson_report = in_thread(lesson_report)
    acolonies = in_thread(colonies)
    ato_networkx = in_thread(to_networkx)
