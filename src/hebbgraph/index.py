"""HebbianIndex: the one door. It wires the parts together and holds no formula."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Literal, ParamSpec, Self, TypeVar

from hebbgraph.errors import ClosedIndexError, HebbgraphError, NotFoundError, ParameterError
from hebbgraph.limits import MAX_ID
from hebbgraph.records import (
    AddReport,
    Chunk,
    Colony,
    DoctorReport,
    Explanation,
    Feedback,
    PruneReport,
    Recall,
)
from hebbgraph.settings import Settings

if TYPE_CHECKING:
    import networkx as nx

    from hebbgraph.derived.colonies import ColonyState
    from hebbgraph.graph.statistics import Stats
    from hebbgraph.graph.tag_graph import TagGraph
    from hebbgraph.namespace import Namespace
    from hebbgraph.protocols import CueModel, Embedder, Search, Tagger, TextSource
    from hebbgraph.recall import Strategy, StrategyName, Where
    from hebbgraph.teacher import Moment
    from hebbgraph.writer import ChunkLike, OnProgress

_P = ParamSpec("_P")
_R = TypeVar("_R")

__all__ = ["HebbianIndex"]


def _in_thread(method: Callable[_P, _R]) -> Callable[_P, Coroutine[Any, Any, _R]]:
    """Make the async twin of a method."""

    @functools.wraps(method)
    async def twin(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await asyncio.to_thread(method, *args, **kwargs)

    twin.__name__ = twin.__qualname__ = f"a{method.__name__}"
    twin.__doc__ = f"Async twin of :meth:`{method.__name__}`."
    return twin


class HebbianIndex:
    """A retriever over a tagged graph of chunks; see :meth:`open`.

    One object serves many threads of one process; after a fork, open another. Every
    blocking method has an async twin (``arecall`` for ``recall``) that runs it in a thread.

    Examples
    --------
    >>> with HebbianIndex.open(":memory:") as index:
    ...     report = index.add([
    ...         {"title": "Petrel", "text": "The Petrel was built by Ida Moss."},
    ...         {"title": "Ida Moss", "text": "Ida Moss was born in Tessel Bay."},
    ...     ])
    ...     recall = index.recall("Where was the builder of the Petrel born?", k=2)
    >>> report.added, [hit.chunk.title for hit in recall.hits]
    (2, ['Petrel', 'Ida Moss'])
    """

    def __init__(self, parts: Namespace) -> None:
        # Imported here, as are SQLAlchemy and Tantivy below them, so that importing the
        # package stays quick.
        from hebbgraph.recall import Recaller
        from hebbgraph.teacher import Teacher
        from hebbgraph.writer import Writer

        self._parts = parts
        self._writer = Writer(parts)
        self._recaller = Recaller(parts)
        self._teacher = Teacher(parts)
        self._closed = False
        self._process = os.getpid()

    @classmethod
    def open(
        cls,
        location: str | Path,
        *,
        embedder: Embedder | None = None,
        tagger: Tagger | None = None,
        cue_model: CueModel | None = None,
        texts: TextSource | None = None,
        search: Search | None = None,
        settings: Settings | Literal["saved"] | None = None,
        namespace: str = "default",
        cache_dir: str | Path | None = None,
    ) -> Self:
        """Open an index, making it if there is none.

        Parameters
        ----------
        location : str or Path
            A directory, ``":memory:"``, or a database URL for SQLAlchemy.
        embedder : object, optional
            With ``embed_documents`` and ``embed_query``. Chunks are then embedded when
            added, and questions when asked. An index that has vectors can be opened
            without it: dense search is then off, and recalls say so.
        tagger : callable, optional
            Given a chunk, returns tags for it, beside those found without any model; see
            :mod:`hebbgraph.taggers`. Which one is saved; opening without it is allowed.
        cue_model : callable, optional
            Asked at each recall which concepts the question is about; those that are
            tags of the index become cues. Without it no recall asks a model.
        texts : callable, optional
            With ``Settings(keep_text=False)``: gives texts back by id, from the store that
            keeps them (:class:`~hebbgraph.protocols.TextSource`). Opening without it is
            allowed: hits then come without text, and what cannot do without is an error.
        search : callable, optional
            From a question to pairs of chunk id and score: a search of your own, which
            takes the place of ours in each recall that is not given ``seeds``. What it
            raises is the caller's.
        settings : Settings or "saved", optional
            ``"saved"`` takes the build settings that the index was made with, and
            defaults for the rest.
        namespace : str
            Nothing is shared between namespaces: no chunk, tag or statistic.
        cache_dir : str or Path, optional
            Where derived parts lie when ``location`` is a URL (else in memory).

        Raises
        ------
        NotAnIndexError, NewerVersionError, DamagedIndexError
            If something else, something newer or something broken lies there.
        SettingsMismatchError
            If it was built with other build settings, or holds another model's vectors.
        """
        from hebbgraph.namespace import Namespace

        return cls(
            Namespace.open(
                location,
                embedder=embedder,
                tagger=tagger,
                cue_model=cue_model,
                texts=texts,
                search=search,
                settings=settings,
                name=namespace,
                cache_dir=cache_dir,
            )
        )

    @property
    def settings(self) -> Settings:
        """What it was opened with."""
        return self._parts.settings

    @property
    def parts(self) -> Namespace:
        """The parts that this object wires, for extensions and tests.

        They may change from one version to the next, unlike the methods here.
        """
        self._check_open()
        return self._parts

    @property
    def namespace(self) -> str:
        """The tenant that this object sees."""
        return self._parts.name

    @property
    def repairs(self) -> tuple[str, ...]:
        """What was found broken since it was opened, and was made anew."""
        return (*self._parts.derived.repairs, *self._parts.recalls.repairs)

    def __repr__(self) -> str:
        return f"HebbianIndex({self._parts.database.place!r}, namespace={self.namespace!r})"

    # -- writing --------------------------------------------------------------------

    def add(
        self,
        chunks: Iterable[ChunkLike],
        *,
        show_progress: bool = False,
        on_progress: OnProgress = None,
    ) -> AddReport:
        """Add chunks; a chunk whose id is held replaces the one that is there.

        Parameters
        ----------
        chunks : iterable of Chunk, dict or str
            Taken in batches of ``settings.batch_size``, each committed as a whole. A list
            or tuple is checked wholly before anything is written.
        show_progress : bool
            Show a progress bar on standard error.
        on_progress : callable, optional
            Called with the number of chunks taken so far, and of how many if known.

        Returns
        -------
        AddReport
            What was committed. Chunks equal to those held count as ``unchanged``.

        Raises
        ------
        InvalidChunkError
            For a chunk that cannot be kept, or an id that occurs twice in one batch with
            different content. The batch is not written; a note on the error says how
            many chunks of earlier batches were.
        """
        self._check_open()
        return self._writer.add(chunks, show_progress=show_progress, on_progress=on_progress)

    def put_document(
        self, document_id: str, fingerprint: str | None, chunks: Iterable[ChunkLike]
    ) -> AddReport:
        """Replace all chunks of a document in one transaction.

        Chunks equal to those held stay as they are, others are written, and those that
        the document no longer has go.

        Parameters
        ----------
        document_id : str
            Set on every chunk.
        fingerprint : str or None
            Kept for :meth:`document_fingerprints`, to skip an unchanged document later.
        chunks : iterable of Chunk, dict or str

        Notes
        -----
        Unlike :meth:`add`, this leaves the graph to the next recall (or ``close``), so
        that many small documents in a row cost one step.
        """
        self._check_open()
        _check_ids([document_id], "a document id")
        if not document_id or len(document_id) > MAX_ID:
            raise ParameterError(
                f"a document id has 1 to {MAX_ID} characters, got {len(document_id)}"
            )
        if fingerprint is not None:
            _check_ids([fingerprint], "a fingerprint")
        return self._writer.put_document(document_id, fingerprint, chunks)

    def document_fingerprints(self) -> dict[str, str]:
        """Return the fingerprint of each document that :meth:`put_document` kept one of."""
        self._check_open()
        return self._parts.truth.fingerprints()

    def delete(
        self,
        ids: Iterable[str] | None = None,
        *,
        document_id: str | None = None,
        erase: bool = False,
    ) -> int:
        """Delete chunks by id, or all chunks of a document; return how many there were.

        Ids that are not held are passed over. What depended on the deleted chunks is
        gone with them: afterwards the graph equals one built from the rest.

        Parameters
        ----------
        ids : iterable of str, optional
        document_id : str, optional
        erase : bool
            Also :meth:`compact` at once, so that no byte of them is left in any file; it
            takes as long as that. Also if nothing was held: what was deleted before goes.

        Raises
        ------
        IndexLockedError
            With ``erase``, if another process is in the way; the chunks are deleted then,
            and the next :meth:`compact` erases them.
        """
        self._check_open()
        if ids is None and document_id is None:
            raise ParameterError("delete takes ids or a document_id, got neither")
        wanted = [] if ids is None else _check_ids(ids, "a chunk id")
        documents = [] if document_id is None else _check_ids([document_id], "a document id")
        deleted = self._writer.delete(wanted, documents)
        if erase:
            self._erase(self.compact)
        return deleted

    def _erase(self, work: Callable[[], None]) -> None:
        """Erase what was taken away, which has been committed already."""
        try:
            work()
        except HebbgraphError as error:
            error.add_note("it is deleted; what is left of it on disk goes with compact()")
            raise

    def reembed(
        self,
        embedder: Embedder | None = None,
        *,
        show_progress: bool = False,
        on_progress: OnProgress = None,
    ) -> int:
        """Give every chunk a vector of an embedder; return how many were computed.

        Chunks that have one are left alone, so a run that was interrupted goes on where
        it stopped, and chunks added without an embedder are made up for. Another model
        than before takes over at once: until a chunk is reached, only lexical search
        finds it.

        Parameters
        ----------
        embedder : object, optional
            Left out, the one that the index was opened with.
        show_progress, on_progress
            As for :meth:`add`.
        """
        self._check_open()
        return self._writer.reembed(embedder, show_progress=show_progress, on_progress=on_progress)

    def retag(
        self,
        tagger: Tagger | None = None,
        *,
        show_progress: bool = False,
        on_progress: OnProgress = None,
    ) -> AddReport:
        """Tag every chunk again, batch by batch; ids, vectors and what was learned stay.

        For chunks that were added without the tagger, whose tagging had failed, or when
        another tagger takes over. Answers of a language model that are kept cost nothing,
        so a run that was interrupted goes on where it stopped. Until a batch is reached,
        its chunks keep the tags they have.

        Parameters
        ----------
        tagger : callable, optional
            Takes over; left out, the one that the index was opened with, or the model-free
            tags alone if there is none.
        show_progress, on_progress
            As for :meth:`add`.

        Returns
        -------
        AddReport
            ``replaced`` counts the chunks whose tags changed.
        """
        self._check_open()
        return self._writer.retag(tagger, show_progress=show_progress, on_progress=on_progress)

    # -- learning -------------------------------------------------------------------

    def reinforce(
        self,
        recall: Recall | str,
        cited: Iterable[str],
        *,
        rejected: Iterable[str] | None = None,
        shown: Iterable[str] | None = None,
        actor: str | None = None,
    ) -> Feedback:
        """Learn from an answer: which of the chunks that it was shown it cites.

        Parameters
        ----------
        recall : Recall, or the id of a recent one
            The record will do hours later, in another process, or read back from JSON.
        cited : iterable of str
            Chunk ids. Citing all of many shown chunks teaches nothing.
        rejected : iterable of str, optional
            Chunks that were found to be wrong.
        shown : iterable of str, optional
            The chunks that stood in the prompt; left out, all hits of the recall. Those
            not cited lose a little, if others were.
        actor : str, optional
            Who says so. None is the application itself and is trusted; the influence of
            a named actor is bounded.

        Returns
        -------
        Feedback
            For the same recall, citation and actor the one that is already there.

        Raises
        ------
        NotFoundError
            If the recall is known by its id alone, and no longer kept.
        FeedbackError
            If a chunk was not shown, nothing was cited or rejected, or the recall
            belongs to another namespace.
        ParameterError

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add([{"id": "a", "text": "Owls hunt at night."},
        ...                         {"id": "b", "text": "Owls hunt voles."}])
        ...     feedback = index.reinforce(index.recall("What do owls hunt?"), cited=["b"])
        >>> feedback.cited
        ('b',)
        """
        self._check_open()
        return self._teacher.reinforce(self._resolve(recall), cited, rejected, shown, actor)

    def forget(
        self,
        feedback: Feedback | str | Iterable[Feedback | str] | None = None,
        *,
        actor: str | None = None,
        chunk: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        everything: bool = False,
        erase: bool = False,
    ) -> int:
        """Take back feedback, and with it what it taught; return how many were touched.

        Afterwards recalls are those that would have been without it. What is given is
        combined: ``forget(actor="eve", since=yesterday)``.

        Parameters
        ----------
        feedback : Feedback or its id, or several, optional
        actor : str, optional
        chunk : str, optional
            Feedback goes on to count for the other chunks in it.
        since, until : float or datetime, optional
            A period of time, in seconds since the epoch; ``until`` is not part of it.
        everything : bool
            All feedback of this namespace.
        erase : bool
            Also leave no byte of it in any file, at once: of actors, questions and their
            cues. The database is rewritten, and recent recalls of this namespace are no
            longer found by id. Without, :meth:`compact` does so.

        Raises
        ------
        IndexLockedError
            With ``erase``, as :meth:`compact`; the feedback is forgotten then.
        """
        self._check_open()
        touched = self._teacher.forget(feedback, actor, chunk, since, until, everything)
        self._parts.recalls.discard(self.namespace, [one.recall_id for one in touched])
        if erase:
            self._erase(self._parts.scrub)
        return len(touched)

    def export_feedback(self, file: str | Path | IO[str]) -> int:
        """Write the feedback log as JSON lines; return how many.

        Parameters
        ----------
        file : path, or text file open for writing
        """
        self._check_open()
        return self._teacher.export(file)

    def import_feedback(self, file: str | Path | IO[str], *, origin: str = "import") -> int:
        """Add feedback from JSON lines; return how many were new.

        Feedback that is here already is passed over, actors are capped as if they had
        spoken here, and what names chunks that are not here, or have another text, rests
        until they are. All lines are checked before any is kept.

        Parameters
        ----------
        file : path, or text file open for reading
        origin : str
            Noted on records that do not name one yet.

        Raises
        ------
        FeedbackError
            With the number of the line.
        """
        self._check_open()
        return self._teacher.import_(file, origin)

    def prune(self, min_weight: float | None = None, *, dry_run: bool = True) -> PruneReport:
        """Tell which learned edges are too weak to count, and which feedback is idle.

        Parameters
        ----------
        min_weight : float, in [0, 1], optional
            Left out, that of the settings, below which recalls pass edges over.
        dry_run : bool
            If false, feedback of which every edge is weak or masked is erased.
        """
        self._check_open()
        return self._teacher.prune(min_weight, dry_run=dry_run)

    # -- reading --------------------------------------------------------------------

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
        per_colony: int | None = None,
    ) -> Recall:
        """Return the k most active chunks for a question.

        Parameters
        ----------
        query : str
        k : int, at least 1
        where : dict or callable, optional
            A metadata filter (:mod:`hebbgraph.filters`), in force while activation
            spreads: a chunk that it excludes neither receives nor passes any. A callable
            gets chunks in rank order until k pass.
        strategy : str
            ``"spreading"``: k chunks come back whenever as many pass the filter.
            ``"neighbourhood"``: BambooKG's recall as published; it answers only for tags
            that it has learned, and with no more chunks than support them.
            ``"breadth_first"``: Bio-RAG's search as published; chunks that it does not
            reach do not come back. ``"neural"``: NAKG's relevance over what
            :func:`hebbgraph.neural.train` learned.
        id : str, optional
            The recall's id; left out, a new one.
        seeds : iterable of (chunk id, score), optional
            Direct evidence from a search of your own, better ones with higher scores; it
            takes the place of ours, and of the ``search`` that the index was opened with.
            Unknown ids are passed over.
        vector : sequence of float, optional
            The question's embedding, if you have it already.
        per_colony : int, optional
            At most so many hits of one colony (:meth:`colonies`), while others are left:
            hits from different parts of the corpus.

        Returns
        -------
        Recall
            Hits with scores and the path that found each. ``notes`` tells if the query
            named no known tag, and, where texts are kept elsewhere, which hits come
            without text, or with one that has changed since it was added.

        Raises
        ------
        ParameterError, FilterError, TextSourceError
        DamagedIndexError
            If the database lists chunks that it cannot read.
        """
        self._check_open()
        if id is not None:
            _check_ids([id], "a recall id")
        recall = self._recaller.recall(
            query,
            k=k,
            where=where,
            strategy=strategy,
            recall_id=id,
            seeds=seeds,
            vector=vector,
            per_colony=per_colony,
        )
        self._parts.recalls.put(recall)
        return recall

    def get(self, ids: Iterable[str]) -> list[Chunk]:
        """Return chunks by id, in the order of the ids; those not held are left out."""
        self._check_open()
        wanted = _check_ids(ids, "a chunk id")
        rows = self._parts.truth.rows_of(wanted)
        held = self._parts.truth.fetch(rows.values())
        return [held[rows[id_]] for id_ in wanted if id_ in rows and rows[id_] in held]

    def holds(self, ids: Iterable[str]) -> set[str]:
        """Return those of the ids that the index holds a chunk of; reads no text."""
        self._check_open()
        return set(self._parts.truth.rows_of(_check_ids(ids, "a chunk id")))

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
        self._check_open()
        return self._recaller.ids(where)

    def find_recall(self, recall_id: str) -> Recall | None:
        """Return a recent recall by its id, or None if it is not, or no longer, kept.

        Its chunks are those that the index has now. A hit whose chunk was deleted, or
        replaced by another text, keeps its id, rank, score and path, so that feedback on
        the recall goes on to count; its text, title and metadata are empty
        (``hit.lacks_text``), and a note names it.
        """
        self._check_open()
        _check_ids([recall_id], "a recall id")
        from hebbgraph.store.keeping import whole

        found = self._parts.recalls.get(self.namespace, recall_id)
        return None if found is None else whole(found, self._parts.truth)

    def _resolve(self, recall: Recall | str) -> Recall:
        if isinstance(recall, Recall):
            return recall
        _check_ids([recall], "a recall id")
        found = self._parts.recalls.get(self.namespace, recall)
        if found is None:
            raise NotFoundError(
                f"recall {recall!r} is not, or no longer, kept "
                f"(the last {self.settings.keep_recalls} are); hand the Recall itself over"
            )
        return found

    def explain(self, recall: Recall | str, chunk_id: str) -> Explanation:
        """Tell why a recall ranked a chunk as it did: its evidence, and every way to it.

        Parameters
        ----------
        recall : Recall, or the id of a recent one
        chunk_id : str
            Need not be among the hits.

        Raises
        ------
        NotFoundError
            For a recall or a chunk that is not there.
        """
        self._check_open()
        _check_ids([chunk_id], "a chunk id")
        from hebbgraph.recall.explain import explain

        return explain(self._parts, self._recaller, self._resolve(recall), chunk_id)

    def stats(self) -> Stats:
        """Count chunks, tags and edges; see :class:`~hebbgraph.graph.statistics.Stats`."""
        self._check_open()
        from hebbgraph.graph.statistics import graph_stats
        from hebbgraph.recall.neural_edges import layer_of

        parts = self._parts
        with parts.derived.held():
            graph = parts.derived.graph
            layer = layer_of(parts.derived, graph)
            return graph_stats(
                graph,
                None if layer is None else layer.counts(),
                colonies=self._colony_state(graph).n_colonies if parts.colonies.exist else 0,
            )

    def colonies(self, *, rebuild: bool = False) -> list[Colony]:
        """Return the communities of chunks, the largest first.

        They are found when first asked for, by the Louvain method over shared tags and
        similar vectors; afterwards chunks that come and go move only their surroundings.
        ``recall(where={"$colony": id})`` looks at one, ``recall(per_colony=n)`` at many.

        Parameters
        ----------
        rebuild : bool
            Find them anew; a colony keeps its id as far as it keeps its chunks.

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add([
        ...         {"id": "a", "title": "Petrel", "text": "Ida Moss built the Petrel."},
        ...         {"id": "b", "title": "Ida Moss", "text": "Ida Moss built boats."},
        ...         {"id": "c", "title": "Hemp", "text": "Hemp makes rope."},
        ...         {"id": "d", "title": "Rope", "text": "Rope is made of hemp."},
        ...     ])
        ...     [(colony.id, colony.chunks) for colony in index.colonies()]
        [(0, 2), (1, 2)]
        """
        self._check_open()
        with self._parts.derived.held():
            graph = self._parts.derived.graph
            return self._parts.colonies.describe(graph, self._colony_state(graph, rebuild=rebuild))

    def _colony_state(self, graph: TagGraph, *, rebuild: bool = False) -> ColonyState:
        return self._parts.colonies.at(graph, self._parts.derived.vectors, rebuild=rebuild)

    def to_networkx(self, kind: Literal["tags", "incidence", "colonies"] = "tags") -> nx.Graph[str]:
        """Return the graph for networkx.

        Parameters
        ----------
        kind : {"tags", "incidence", "colonies"}
            Tags joined by how many chunks hold both; or chunks and tags, joined where a
            chunk holds a tag; or chunks joined by shared tags and similar vectors, each
            with the colony that it belongs to.
        """
        self._check_open()
        from hebbgraph.graph.export import colony_graph, incidence_graph, tag_graph

        if kind not in ("tags", "incidence", "colonies"):
            raise ParameterError(f"kind is 'tags', 'incidence' or 'colonies', got {kind!r}")
        with self._parts.derived.held():
            graph = self._parts.derived.graph
            if kind == "tags":
                return tag_graph(graph)
            if kind == "colonies":
                state = self._colony_state(graph)
                return colony_graph(
                    state.generation,
                    state.rows,
                    state.colony,
                    self._parts.colonies.edges(state),
                    self._parts.truth.ids(state.rows.tolist()),
                    {one.id: one.name for one in self._parts.colonies.describe(graph, state)},
                )
            return incidence_graph(graph, self._parts.truth.ids(graph.rows[graph.alive].tolist()))

    def compact(self) -> None:
        """Rewrite all files without what was deleted and forgotten, and shrink them.

        Afterwards no byte of a deleted text, title or metadata, or of a forgotten actor,
        question or cue is in any file of an index in SQLite, its write-ahead logs included;
        ``docs/security.md`` has the list. Recent recalls of this namespace are no longer
        found by id. In PostgreSQL it asks for a ``VACUUM``; the server does the rest.

        Raises
        ------
        IndexLockedError
            If another process works on the index, or reads an older state of it, for
            longer than ``write_wait_seconds``. What keeps it is named as far as the system
            tells; call it again when that has ended.
        """
        self._check_open()
        self._parts.derived.compact()
        if self._parts.colonies.exist:
            self.colonies(rebuild=True)
        self._parts.truth.drop_tombstones()
        self._teacher.expire_queries()
        self._teacher.erase_gone_phrases()
        self._parts.scrub()

    def doctor(self, *, repair: bool = False) -> DoctorReport:
        """Check all that must always hold, against everything built anew in memory.

        The database's own check and the digest of each chunk; the feedback log; the
        checksums of snapshot and lexical index; vocabulary, postings and document
        frequencies, the rows of the lexical index, vectors, and learned weights against
        those that follow from the truth alone; and the files of colonies and of the neural
        layer. It takes as long, and as much memory, as building the index.

        Parameters
        ----------
        repair : bool
            Build derived parts anew where something does not hold; a damaged file of
            colonies or of the neural layer is put away. What is wrong with the database
            itself needs a backup.

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add(["Owls hunt at night."])
        ...     index.doctor().ok
        True
        """
        self._check_open()
        from hebbgraph.doctor import examine

        return examine(self._parts, repair=repair)

    def backup(self, path: str | Path) -> Path:
        """Copy the truth, as it is now, into a new directory; others may go on writing.

        All namespaces, with their feedback; what is derived is built when the copy is
        opened, which works like any index. To put it back: :meth:`restore`. For SQLite;
        PostgreSQL has ``pg_dump``.
        """
        self._check_open()
        from hebbgraph.store.backup import back_up

        return back_up(self._parts.database, Path(path))

    @staticmethod
    def restore(backup: str | Path, location: str | Path) -> None:
        """Put a backup in the place of an index directory, all namespaces at once.

        Other processes may have it open: their next recall sees the restored state.
        """
        from hebbgraph.store.backup import restore

        restore(Path(backup), Path(location))

    @staticmethod
    async def arestore(backup: str | Path, location: str | Path) -> None:
        """Async twin of :meth:`restore`."""
        await asyncio.to_thread(HebbianIndex.restore, backup, location)

    # -- without blocking the event loop ---------------------------------------------

    aadd = _in_thread(add)
    aput_document = _in_thread(put_document)
    adocument_fingerprints = _in_thread(document_fingerprints)
    adelete = _in_thread(delete)
    areembed = _in_thread(reembed)
    aretag = _in_thread(retag)
    areinforce = _in_thread(reinforce)
    aforget = _in_thread(forget)
    aexport_feedback = _in_thread(export_feedback)
    aimport_feedback = _in_thread(import_feedback)
    aprune = _in_thread(prune)
    aget = _in_thread(get)
    aholds = _in_thread(holds)
    aids = _in_thread(ids)
    arecall = _in_thread(recall)
    afind_recall = _in_thread(find_recall)
    aexplain = _in_thread(explain)
    astats = _in_thread(stats)
    acolonies = _in_thread(colonies)
    ato_networkx = _in_thread(to_networkx)
    acompact = _in_thread(compact)
    adoctor = _in_thread(doctor)
    abackup = _in_thread(backup)

    # -- life -----------------------------------------------------------------------

    def close(self) -> None:
        """Save derived parts and let go of all files; closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        if self._process != os.getpid():
            return  # what is open belongs to the process before the fork
        self._parts.close()

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedIndexError(f"{self!r} is closed; open it again")
        if self._process != os.getpid():
            raise ClosedIndexError(
                f"{self!r} was opened before this process was forked; open another one here"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    aclose = _in_thread(close)

    @classmethod
    async def aopen(cls, location: str | Path, **options: Any) -> Self:
        """Async twin of :meth:`open`."""
        return await asyncio.to_thread(cls.open, location, **options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def _check_ids(ids: Iterable[str], what: str) -> list[str]:
    """Return ids as a list; an id that nothing can have is an error."""
    if not isinstance(ids, Iterable):
        raise ParameterError(f"{what} is a str, got {ids!r}")
    wanted = [ids] if isinstance(ids, str) else list(ids)
    for id_ in wanted:
        if not (isinstance(id_, str) and id_.isprintable()):
            raise ParameterError(f"{what} is a printable str, got {id_!r}")
        if len(id_) > MAX_ID:
            raise ParameterError(f"{what} has at most {MAX_ID} characters, got {len(id_)}")
    return wanted
