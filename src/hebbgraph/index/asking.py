"""The verbs that read: ``recall``, ``get``, ``ids``, ``find_recall`` and others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from hebbgraph.arguments import check_ids, known_names
from hebbgraph.calling import in_thread
from hebbgraph.index.session import Session
from hebbgraph.records import Chunk, Recall

if TYPE_CHECKING:
    from hebbgraph.protocols import VectorSource
    from hebbgraph.recall import RankStep, Strategy, StrategyName, Where

__all__ = ["AskingVerbs"]


class AskingVerbs(Session):
    """Verbs that answer questions and look chunks up."""

    @known_names
    def recall(
        self,
        query: str,
        *,
        k: int = 10,
        where: Where = None,
        strategy: StrategyName | Strategy = "spreading",
        id: str | None = None,
        seeds: Iterable[tuple[str, float]] | None = None,
        vector: Sequence[float] | None = None,
        vectors: VectorSource | None = None,
        per_colony: int | None = None,
        history: Iterable[str] = (),
        as_of: datetime | date | str | None = None,
        steps: Sequence[RankStep] = (),
        min_score: float | None = None,
    ) -> Recall:
        """Return the k most active chunks for a question.

        Parameters
        ----------
        query : str
        k : int, at least 1
        where : dict or callable, optional
            A metadata filter (:mod:`hebbgraph.filters`). Excluded chunks neither receive nor pass
            activation. A callable from a chunk to bool is called in rank order until k chunks
            pass.
        strategy : str or Strategy
            ``"spreading"`` returns k chunks if as many pass the filter. ``"neighbourhood"``,
            ``"breadth_first"`` and ``"neural"`` implement three papers (``docs/papers.md``) and
            need ``pip install "hebbgraph[papers]"``. For an object of your own, see
            ``docs/extending.md``.
        id : str, optional
            The recall's id; by default, a new one.
        seeds : iterable of (chunk id, score), optional
            Results of your own search, higher is better. They replace dense search and the index's
            ``search``; lexical evidence and the graph are added. Unknown ids are ignored.
        vector : sequence of float, optional
            The question's embedding, if you have it already.
        vectors : callable, optional
            With ``seeds`` and ``vector``: maps ids to the vectors of the store that was searched
            (:class:`~hebbgraph.protocols.VectorSource`). Seeds and chunks found by words or the
            graph are then weighed by cosines, as with vectors in the index.
        per_colony : int, optional
            At most this many hits of one colony (:attr:`HebbianIndex.inspect`), as long as there
            are others.
        history : iterable of str, optional
            Earlier turns of the conversation, oldest first. The last four complete a follow-up
            ("and in winter?"); they are ignored if the question says enough by itself or is about
            something else (:attr:`Recall.history`).
        as_of : datetime, date or str, optional
            Find only chunks that were valid then (``docs/time.md``). By default all are found;
            stale ones are marked (:attr:`Hit.stale`) and rank below their replacements.
        steps : sequence of RankStep, optional
            Your own steps after the ranking, such as another order or fewer hits of a kind
            (``docs/extending.md``).
        min_score : float, in [0, 1], optional
            Leave out hits with a lower score or score 0, even if fewer than k remain; see
            ``docs/scores.md`` for useful values. By default, k hits come back.

        Returns
        -------
        Recall
            Hits with scores and paths. ``notes`` says, for example, that the query names no known
            tag, or that the text of a hit is missing or has changed.

        Raises
        ------
        ParameterError, FilterError, TextSourceError
        DamagedIndexError
            If the database lists chunks that it cannot read.
        """
        self._check_exists()
        from hebbgraph.recall import RecallOptions

        options = RecallOptions(
            k=k,
            where=where,
            strategy=strategy,
            id=id,
            seeds=seeds,
            vector=vector,
            vectors=vectors,
            per_colony=per_colony,
            history=history,
            as_of=as_of,
            steps=steps,
            min_score=min_score,
        )
        recall = self._parts.hand_out(self._recaller.recall(query, options))
        if recall.judged and self._parts.settings.rerank.teaches:
            needed = [chunk_id for chunk_id in recall.judged if recall.hit(chunk_id) is not None]
            self._teacher.reinforce(recall, needed, actor="judge")
        return recall

    def in_full(self, query: str, history: Iterable[str]) -> str:
        """Return the earlier turns that a question relies on and the question, as one text.

        Use it for your own search whose results become ``seeds`` of :meth:`recall`. A question
        that says enough by itself is returned unchanged.

        Parameters
        ----------
        query : str
        history : iterable of str
            As for :meth:`recall`.

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add(["Mooring costs four crowns in winter.", "Owls hunt voles."])
        ...     print(index.in_full("And in winter?", ["What does mooring cost?"]))
        What does mooring cost?
        And in winter?
        """
        self._check_exists()
        return self._recaller.in_full(query, history)

    def get(self, ids: Iterable[str]) -> list[Chunk]:
        """Return chunks by id, in the order of the ids; unknown ids are left out."""
        self._check_exists()
        checked = check_ids(ids, "a chunk id")
        rows = self._parts.truth.rows_of(checked)
        chunks = self._parts.truth.fetch(rows.values())
        return [chunks[rows[id_]] for id_ in checked if id_ in rows and rows[id_] in chunks]

    def holds(self, ids: Iterable[str]) -> set[str]:
        """Return which of these ids the index holds, without reading any text."""
        self._check_exists()
        return set(self._parts.truth.rows_of(check_ids(ids, "a chunk id")))

    def ids(self, where: Where = None) -> list[str]:
        """Return the ids of all chunks that pass a filter, sorted.

        Parameters
        ----------
        where : dict or callable, optional
            As for :meth:`recall`.

        Raises
        ------
        FilterError

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add([
        ...         {"id": "a", "text": "Owls hunt at night.", "metadata": {"lang": "en"}},
        ...         {"id": "b", "text": "Eulen jagen nachts.", "metadata": {"lang": "de"}},
        ...     ])
        ...     index.ids(where={"lang": "de"})
        ['b']
        """
        self._check_exists()
        return self._recaller.ids(where)

    def keep_recalls(self) -> None:
        """Keep recalls from now on, so feedback in any process can name them by id.

        By default none is kept, so a question writes nothing; see :attr:`Settings.keep_recalls`.
        Kept recalls are written in the background, a moment after the answer. Servers, ``hebbgraph
        query`` and learners call this.
        """
        self._check_open()
        self._parts.recalls.start()

    def find_recall(self, recall_id: str) -> Recall | None:
        """Return a recent recall by its id, or None if it is not kept (any longer).

        Its chunks are the current ones. If a hit's chunk was deleted or its text replaced, the hit
        keeps id, rank, score and path, so feedback on it still counts. Its text, title and metadata
        are empty (``hit.lacks_text``), and a note names it.
        """
        self._check_exists()
        check_ids([recall_id], "a recall id")
        from hebbgraph.store.recalls import whole

        recall = self._parts.recalls.get(recall_id)
        return None if recall is None else whole(recall, self._parts.truth)

    arecall = in_thread(recall)
    ain_full = in_thread(in_full)
    aget = in_thread(get)
    aholds = in_thread(holds)
    aids = in_thread(ids)
    akeep_recalls = in_thread(keep_recalls)
    afind_recall = in_thread(find_recall)
