"""HebbianIndex: the one door. It wires the parts together and holds no formula."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, overload

from hebbgraph.arguments import check_ids, check_str
from hebbgraph.calling import in_thread as _in_thread
from hebbgraph.errors import ClosedIndexError, HebbgraphError, NotFoundError, ParameterError
from hebbgraph.extras import load_plugin
from hebbgraph.limits import MAX_ID
from hebbgraph.records import (
    AddReport,
    AnswerRecord,
    Chunk,
    Feedback,
    ForgetPreview,
    LessonRecord,
    Recall,
)
from hebbgraph.settings import Settings

if TYPE_CHECKING:
    from hebbgraph.ingest import ChunkLike, OnError, OnProgress
    from hebbgraph.namespace import Namespace
    from hebbgraph.protocols import CueModel, Embedder, Search, Tagger, TextSource, VectorSource
    from hebbgraph.recall import RankStep, Strategy, StrategyName, Where
    from hebbgraph.recall.steps import StepSource
    from hebbgraph.teacher import Moment

__all__ = ["CoreIndex"]


class CoreIndex:
    """The verbs of :class:`hebbgraph.HebbianIndex` that writing, asking and learning take.

    Whatever looks at an index or maintains it is in rooms above (:mod:`hebbgraph.inspect`), which
    this module does not import.
    """

    def __init__(self, parts: Namespace, steps: StepSource | None = None) -> None:
        # Imported here, as is Tantivy below them, so that importing the package stays quick.
        from hebbgraph.ingest.writer import Writer
        from hebbgraph.recall import Recaller
        from hebbgraph.teacher import Teacher

        self._parts = parts
        self._writer = Writer(parts)
        self._recaller = Recaller(parts, steps)
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
        reranker: Any = None,
        edges: Sequence[str] | None = None,
        settings: Settings | Literal["saved"] | None = None,
        namespace: str = "default",
        cache_dir: str | Path | None = None,
    ) -> Self:
        """Open an index; create it if there is none.

        Parameters
        ----------
        location : str or Path
            A directory, ``":memory:"``, or the URL of a PostgreSQL database.
        embedder : object, optional
            Has ``embed_documents`` and ``embed_query``. Embeds chunks when they are added, and
            questions. An index with vectors can be opened without it; dense search is then off,
            and recalls say so.
        tagger : callable, optional
            Maps a chunk to tags, in addition to those found without a model; see
            :mod:`hebbgraph.taggers`. Its name is saved; opening without it is allowed.
        cue_model : callable, optional
            Maps a question to the concepts it is about; those that are tags become cues. Called
            once per recall.
        texts : callable, optional
            With ``Settings(keep_text=False)``: maps ids to the texts that another store keeps
            (:class:`~hebbgraph.protocols.TextSource`). Without it, hits have no text, and calls
            that need one fail.
        search : callable, optional
            Maps a question to (chunk id, score) pairs, some 100 of them. Stands in the place of
            dense search in recalls without ``seeds``. Its exceptions reach the caller.
        reranker : callable, or object with ``predict``, optional
            Maps a question and the texts of the first hits to scores on any scale
            (:class:`~hebbgraph.protocols.Reranker`), or pairs of both like a ``CrossEncoder`` of
            sentence-transformers. Only their order counts (:class:`RerankSettings`). If it fails
            or stalls, the recall goes on without it, and notes that.
        edges : sequence of str, optional
            The build setting :attr:`Settings.edges`, in place of that of ``settings``: metadata
            fields whose values join chunks, such as ``("author", "product")``.
        settings : Settings or "saved", optional
            ``"saved"`` takes the index's build settings, and defaults for the rest.
        namespace : str
            Namespaces share nothing: no chunk, tag or statistic. The first write makes one; to
            read from one that does not exist, in a database that has others, is an error.
        cache_dir : str or Path, optional
            Where derived parts are kept if ``location`` is a URL; by default, in memory.

        Raises
        ------
        NotAnIndexError, NewerVersionError, DamagedIndexError
            If the location holds something else, a newer format, or a damaged index.
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
                reranker=reranker,
                edges=edges,
                settings=settings,
                name=namespace,
                cache_dir=cache_dir,
            )
        )

    @property
    def settings(self) -> Settings:
        """The settings it was opened with."""
        return self._parts.settings

    @property
    def parts(self) -> Namespace:
        """The parts of the index, for extensions and tests.

        Unlike the methods here, they may change between versions.
        """
        self._check_open()
        return self._parts

    @property
    def namespace(self) -> str:
        """The namespace that this object reads and writes."""
        return self._parts.name

    @property
    def embeds(self) -> bool:
        """Whether it was opened with an embedder, or has got one since."""
        return self._parts.embedder is not None

    def namespaces(self) -> list[str]:
        """Return the names of all namespaces of the database, sorted."""
        self._check_open()
        return self._parts.truth.namespaces()

    def make_namespace(self) -> None:
        """Make the namespace of this index, unless it exists.

        The first write does so by itself. Until then, a database that holds other namespaces
        refuses to read from this one, since its name may be misspelt
        (:class:`NamespaceNotFoundError`). Use this for a tenant who has no documents yet.

        Examples
        --------
        >>> with HebbianIndex.open(":memory:", namespace="anna") as index:
        ...     index.make_namespace()
        ...     index.namespaces()
        ['anna']
        """
        self._check_open()
        self._parts.make()

    @property
    def repairs(self) -> tuple[str, ...]:
        """What was found damaged since it was opened, and rebuilt."""
        return (*self._parts.derived.repairs, *self._parts.recalls.repairs)

    def __reduce__(self) -> NoReturn:
        raise ParameterError(
            "an open index can be neither pickled nor copied; hand its location on, and open it "
            "again in the other process"
        )

    def __repr__(self) -> str:
        return f"HebbianIndex({self._parts.database.place!r}, namespace={self.namespace!r})"

    # -- writing --------------------------------------------------------------------

    def add(
        self,
        chunks: Iterable[ChunkLike],
        *,
        on_error: OnError = "raise",
        strict: bool = False,
        workers: int | None = None,
        show_progress: bool = False,
        on_progress: OnProgress = None,
    ) -> AddReport:
        """Add chunks; a chunk whose id exists replaces the old one, and nothing else goes.

        To replace whole documents, see :meth:`refresh`.

        Parameters
        ----------
        chunks : iterable of Chunk, dict or str
            Committed in batches of ``settings.batch_size``. A list or tuple is checked as a whole
            before anything is written. In texts and dicts, control characters and lone surrogates
            are replaced, which ``AddReport.cleaned`` counts and the log tells once.
        on_error : {"raise", "skip"}
            ``"skip"`` leaves out chunks that cannot be taken, and lists them in
            ``AddReport.failed``.
        strict : bool
            Refuse chunks with characters that cannot be kept, instead of replacing those.
        workers : int, optional
            Prepare chunks in so many processes of this machine (``hebbgraph[scale]``), which pays
            from some ten thousand chunks on. Batches are larger then, and a list is not checked
            as a whole first. The result is the same. See ``docs/building.md``.
        show_progress : bool
            Show a progress bar on standard error.
        on_progress : callable, optional
            Called with the number of chunks done, and the total if known.

        Returns
        -------
        AddReport
            What was committed. Chunks equal to existing ones count as ``unchanged``.

        Raises
        ------
        InvalidChunkError
            For an invalid chunk, or an id that occurs twice in one batch with different content.
            That batch is not written; a note on the error says how many chunks were.
        """
        self._check_open()
        if workers is None:
            return self._writer.add(
                chunks,
                on_error=on_error,
                strict=strict,
                show_progress=show_progress,
                on_progress=on_progress,
            )
        add_with_workers = load_plugin(
            "hebbgraph.builds", "add", extra="scale", purpose="add(workers=...)"
        )
        report: AddReport = add_with_workers(
            self._parts,
            chunks,
            workers,
            on_error=on_error,
            strict=strict,
            show_progress=show_progress,
            on_progress=on_progress,
        )
        return report

    def refresh(
        self,
        chunks: Iterable[ChunkLike],
        *,
        document_ids: Iterable[str] = (),
        delete_missing: bool = False,
        on_error: OnError = "raise",
        strict: bool = False,
        show_progress: bool = False,
        on_progress: OnProgress = None,
    ) -> AddReport:
        """Replace whole documents, where :meth:`add` only ever adds.

        Whatever else the index holds of the documents that these chunks name is deleted. Chunks
        that are as they were stay untouched, with all that was learned about them. A document
        that loses chunks is replaced in one transaction.

        Parameters
        ----------
        chunks : iterable of Chunk, dict or str
            Of each document all that it has now. A chunk without ``document_id`` is only added.
        document_ids : iterable of str
            More documents to replace: those of which nothing is left.
        delete_missing : bool
            Also delete all that is not among the chunks.
        on_error, strict, show_progress, on_progress
            As for :meth:`add`. A chunk that is skipped stays as the index holds it.

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     page = {"document_id": "owls.md"}
        ...     report = index.add([{"id": "1", "text": "Owls hunt.", **page},
        ...                         {"id": "2", "text": "Owls sing.", **page}])
        ...     report = index.refresh([{"id": "1", "text": "Owls hunt.", **page}])
        ...     report.unchanged, report.deleted, index.ids()
        (1, 1, ['1'])
        """
        self._check_open()
        from hebbgraph.ingest.documents import refresh

        return refresh(
            self._parts,
            self._writer,
            chunks,
            check_ids(document_ids, "a document id"),
            delete_missing=delete_missing,
            on_error=on_error,
            strict=strict,
            show_progress=show_progress,
            on_progress=on_progress,
        )

    def put_document(
        self, document_id: str, fingerprint: str | None, chunks: Iterable[ChunkLike]
    ) -> AddReport:
        """Replace all chunks of one document in one transaction, and note its fingerprint.

        For programs that skip unchanged files; for all others there is :meth:`refresh`.
        Unchanged chunks stay as they are; chunks that the document no longer has are deleted.

        Parameters
        ----------
        document_id : str
            Set on every chunk.
        fingerprint : str or None
            Kept for :meth:`document_fingerprints`, to skip an unchanged document later.
        chunks : iterable of Chunk, dict or str

        Notes
        -----
        Unlike :meth:`add`, this leaves the graph to the next recall (or ``close``), so many small
        documents in a row cost one step.
        """
        self._check_open()
        check_ids([document_id], "a document id")
        if not document_id or len(document_id) > MAX_ID:
            raise ParameterError(
                f"a document id has 1 to {MAX_ID} characters, got {len(document_id)}"
            )
        if fingerprint is not None:
            check_ids([fingerprint], "a fingerprint")
        from hebbgraph.ingest.writer import Document

        return self._writer.put_document(Document(document_id, fingerprint), chunks)

    def document_fingerprints(self) -> dict[str, str]:
        """Return the fingerprints kept by :meth:`put_document`, by document id."""
        self._check_open()
        return self._parts.truth.fingerprints()

    def delete(
        self,
        ids: Iterable[str] | None = None,
        *,
        document_id: str | None = None,
        erase: bool = False,
    ) -> int:
        """Delete chunks by id, or all chunks of a document; return how many were deleted.

        Unknown ids are ignored. Afterwards the graph equals one built from the remaining chunks.

        Parameters
        ----------
        ids : iterable of str, optional
        document_id : str, optional
        erase : bool
            Also :meth:`compact`, so that no file holds a byte of them, nor of chunks deleted
            before. Takes as long as that.

        Raises
        ------
        IndexLockedError
            With ``erase``, if another process is in the way. The chunks are deleted all the same;
            the next :meth:`compact` erases them.
        """
        self._check_exists()
        if ids is None and document_id is None:
            raise ParameterError("delete takes ids or a document_id, got neither")
        wanted = [] if ids is None else check_ids(ids, "a chunk id")
        documents = [] if document_id is None else check_ids([document_id], "a document id")
        deleted = self._writer.delete(wanted, documents)
        if erase:
            self._erase(self.compact)
        return deleted

    def _erase(self, work: Callable[[], None]) -> None:
        """Erase from disk what has been deleted already."""
        try:
            work()
        except HebbgraphError as error:
            error.add_note("it is deleted; what is left of it on disk goes with compact()")
            raise

    # -- learning -------------------------------------------------------------------

    def reinforce(
        self,
        recall: Recall | str,
        cited: Iterable[str] = (),
        *,
        rejected: Iterable[str] | None = None,
        rating: Mapping[str, float] | float | None = None,
        reason: Mapping[str, str] | str | None = None,
        shown: Iterable[str] | None = None,
        actor: str | None = None,
        trusted: bool = False,
    ) -> Feedback:
        """Learn from an answer: which of the chunks shown to the model it cites.

        Parameters
        ----------
        recall : Recall, or the id of a recent one
            A Recall can be used hours later, in another process, or read back from JSON.
        cited : iterable of str
            Chunk ids. Citing all of many shown chunks teaches nothing.
        rejected : iterable of str, optional
            Chunks that were wrong.
        rating : mapping of str to float in [-1, 1], or one float, optional
            How good chunks were, by id: above 0 they count as cited, by so much, below 0 as
            rejected. One float is for all that are named.
        reason : mapping of str to str, or one str, optional
            Why, by chunk id or for all that are named: ``"outdated"``, ``"wrong"``, ``"never for
            this"``, or other short words. Reasons are kept and listed.
        shown : iterable of str, optional
            The chunks in the prompt; by default, all hits of the recall.
        actor : str, optional
            Who gave the feedback. How far an actor is believed depends on what the actor cited
            so far; all feedback without a name counts as one actor's.
        trusted : bool
            Whether the application vouches for this feedback, such as that of an editor. It
            then counts in full at once, with a name or without.

        Returns
        -------
        Feedback
            The existing record if the same recall, citation and actor were given before.

        Raises
        ------
        NotFoundError
            If only the recall's id is given, and the recall is no longer kept.
        FeedbackError
            If a chunk was not shown, nothing was cited or rejected, or the recall belongs to
            another namespace.
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
        self._check_exists()
        return self._teacher.reinforce(
            self._resolve(recall), cited, rejected, shown, actor, trusted, rating, reason
        )

    @overload
    def forget(
        self,
        feedback: Feedback | str | Iterable[Feedback | str] | None = None,
        *,
        actor: str | None = None,
        unnamed: bool = False,
        chunk: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        everything: bool = False,
        erase: bool = False,
        dry_run: Literal[False] = False,
    ) -> int: ...
    @overload
    def forget(
        self,
        feedback: Feedback | str | Iterable[Feedback | str] | None = None,
        *,
        actor: str | None = None,
        unnamed: bool = False,
        chunk: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        everything: bool = False,
        erase: bool = False,
        dry_run: Literal[True],
    ) -> ForgetPreview: ...
    def forget(
        self,
        feedback: Feedback | str | Iterable[Feedback | str] | None = None,
        *,
        actor: str | None = None,
        unnamed: bool = False,
        chunk: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        everything: bool = False,
        erase: bool = False,
        dry_run: bool = False,
    ) -> int | ForgetPreview:
        """Take back feedback and what it taught; return how many records were removed or changed.

        Afterwards recalls are as if it had never been given. Criteria combine:
        ``forget(actor="eve", since=yesterday)``. For some minutes, :meth:`undo_forget` is the way
        back.

        Parameters
        ----------
        feedback : Feedback or its id, or several, optional
        actor : str, optional
        unnamed : bool
            Only what no actor is named for.
        chunk : str, optional
            Only what was said about this chunk; the rest of each record still counts.
        since, until : float or datetime, optional
            A period, in seconds since the epoch; ``until`` is exclusive.
        everything : bool
            All feedback of this namespace.
        erase : bool
            Also erase every byte of it from all files: actors, questions and cues. This rewrites
            the database, and recent recalls of this namespace are no longer found by id. Without
            it, the next :meth:`compact` does that.
        dry_run : bool
            Do nothing, and return a :class:`ForgetPreview`: which feedback it is, and which
            learned edges would go or change. Takes as long as reading the whole log.

        Raises
        ------
        IndexLockedError
            With ``erase``, as :meth:`compact`. The feedback is forgotten all the same.
        """
        self._check_exists()
        if dry_run:
            return self._teacher.preview(feedback, actor, unnamed, chunk, since, until, everything)
        touched = self._teacher.forget(feedback, actor, unnamed, chunk, since, until, everything)
        self._parts.recalls.discard(self.namespace, [one.recall_id for one in touched])
        if erase:
            self._teacher.drop_forgotten()
            self._erase(self._parts.scrub)
        return len(touched)

    def lessons(
        self,
        *,
        actor: str | None = None,
        unnamed: bool = False,
        recall: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
    ) -> list[LessonRecord]:
        """List what the index was taught, oldest first: chunks, actor, and whether it still counts.

        Parameters
        ----------
        actor : str, optional
            Only lessons of this actor.
        unnamed : bool
            Only lessons that no actor is named for.
        recall : str, optional
            Only lessons of the recall with this id.
        since, until : float or datetime, optional
            A period, in seconds since the epoch; ``until`` is exclusive.

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add([{"id": "a", "text": "Owls hunt at night."},
        ...                         {"id": "b", "text": "Owls hunt voles."}])
        ...     feedback = index.reinforce(
        ...         index.recall("What do owls hunt?"), cited=["b"], actor="ida"
        ...     )
        ...     [(one.cited, one.actor, one.active > 0) for one in index.lessons(actor="ida")]
        [(('b',), 'ida', True)]
        """
        self._check_exists()
        for one, what in ((actor, "an actor"), (recall, "a recall id")):
            if one is not None:
                check_ids([one], what)
        return self._teacher.lessons(actor, unnamed, recall, since, until)

    def keep_answer(self, record: AnswerRecord) -> AnswerRecord:
        """Keep what links an answer to its lessons, for later verdicts and turns.

        For learners (:class:`hebbgraph.citations.Learner`). Rows of the database, found by other
        processes, bounded by ``Settings(keep_recalls)`` and
        ``LearningSettings(query_retention_days)``.

        Parameters
        ----------
        record : AnswerRecord
            With ``number``, it takes the place of the one kept before.

        Returns
        -------
        AnswerRecord
            As it is kept.
        """
        self._check_exists()
        if not isinstance(record, AnswerRecord):
            raise ParameterError(f"a record is an AnswerRecord, got {type(record).__name__}")
        return self._teacher.keep_answer(record)

    def find_answer(self, name: str) -> AnswerRecord | None:
        """Return the answer that was kept of a run, a recall or a feedback, by its id, or None.

        Its recalls have no texts; :meth:`get` has them.
        """
        self._check_exists()
        check_str(name, "the name of an answer")
        return self._teacher.find_answer(name)

    def earlier_recalls(self, conversation: str) -> list[Recall]:
        """Return what the latest turns of a conversation recalled, oldest first.

        As far as answers of it were kept; with the present texts, like :meth:`find_recall`.
        """
        self._check_exists()
        check_str(conversation, "the name of a conversation")
        from hebbgraph.store.recall_content import whole

        found = self._parts.answers.earlier(conversation)
        return [whole(recall, self._parts.truth) for recall in found]

    def find_feedback(self, ids: Iterable[str]) -> list[Feedback]:
        """Return the feedback with these ids that is in the log, in its order."""
        self._check_exists()
        return self._teacher.find_feedback(check_ids(ids, "the id of a feedback"))

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
        vectors: VectorSource | None = None,
        per_colony: int | None = None,
        history: Iterable[str] = (),
        as_of: datetime | date | str | None = None,
        steps: Sequence[RankStep] = (),
    ) -> Recall:
        """Return the k most active chunks for a question.

        Parameters
        ----------
        query : str
        k : int, at least 1
        where : dict or callable, optional
            A metadata filter (:mod:`hebbgraph.filters`). It applies while activation spreads:
            excluded chunks neither receive nor pass any. A callable is asked about chunks in rank
            order until k pass.
        strategy : str or Strategy
            ``"spreading"`` returns k chunks if as many pass the filter. ``"neighbourhood"``,
            ``"breadth_first"`` and ``"neural"`` are the recalls of three papers
            (``docs/papers.md``); they come with ``pip install "hebbgraph[papers]"``. Or an
            object of your own; see ``docs/extending.md``.
        id : str, optional
            The recall's id; by default, a new one.
        seeds : iterable of (chunk id, score), optional
            Results of a search of your own, higher is better, in the place of dense search and of
            the index's ``search``; lexical evidence and the graph join it. Unknown ids are ignored.
        vector : sequence of float, optional
            The question's embedding, if you have it already.
        vectors : callable, optional
            With ``seeds`` and ``vector``: maps ids to the vectors of the store that was searched
            (:class:`~hebbgraph.protocols.VectorSource`). Seeds, and the chunks that words and the
            graph lead to, are then weighed by their cosines, as with vectors in the index.
        per_colony : int, optional
            Maximal number of hits of one colony (:attr:`HebbianIndex.inspect`), as long as there
            are others.
        history : iterable of str, optional
            Earlier turns of the conversation, oldest first. A follow-up ("and in winter?") is
            understood from the last four; a question that says enough by itself, or is about
            something else, from none (:attr:`Recall.history`).
        as_of : datetime, date or str, optional
            Only what held at that moment (``docs/time.md``). Left out, everything is found, and
            what no longer holds is marked (:attr:`Hit.stale`) and stands below what replaces it.
        steps : sequence of RankStep, optional
            Your own steps after the ranking, such as another order, or fewer of a kind
            (``docs/extending.md``).

        Returns
        -------
        Recall
            Hits with scores and paths. ``notes`` says, among others, if the query named no known
            tag, or if a hit's text is missing or has changed.

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
        )
        recall = self._recaller.recall(query, options)
        return self._parts.hand_out(recall)

    def in_full(self, query: str, history: Iterable[str]) -> str:
        """Return a question with the earlier turns that it relies on before it, as one text.

        For a search of your own whose results become ``seeds`` of :meth:`recall`. A question that
        says enough by itself comes back as it is.

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
        wanted = check_ids(ids, "a chunk id")
        rows = self._parts.truth.rows_of(wanted)
        held = self._parts.truth.fetch(rows.values())
        return [held[rows[id_]] for id_ in wanted if id_ in rows and rows[id_] in held]

    def holds(self, ids: Iterable[str]) -> set[str]:
        """Return which of these ids the index holds, without reading any text."""
        self._check_exists()
        wanted = check_ids(ids, "a chunk id")
        return set(self._parts.truth.rows_of(wanted))

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
        """Keep recalls from now on, so that feedback can name them by id, in any process.

        Until then none is kept unless :attr:`Settings.keep_recalls` says so: answering a question
        writes nothing. They are written behind the answers, a moment later. A server, ``hebbgraph
        query`` and a learner that has met the index ask for it.
        """
        self._check_open()
        self._parts.recalls.start()

    def find_recall(self, recall_id: str) -> Recall | None:
        """Return a recent recall by its id, or None if it is not kept (any longer).

        Its chunks are the current ones. If a hit's chunk was deleted or its text replaced, the hit
        keeps id, rank, score and path, so feedback on it still counts; its text, title and metadata
        are empty (``hit.lacks_text``), and a note names it.
        """
        self._check_exists()
        check_ids([recall_id], "a recall id")
        from hebbgraph.store.recall_content import whole

        found = self._parts.recalls.get(self.namespace, recall_id)
        return None if found is None else whole(found, self._parts.truth)

    def _resolve(self, recall: Recall | str) -> Recall:
        if isinstance(recall, Recall):
            return recall
        check_ids([recall], "a recall id")
        found = self._parts.recalls.get(self.namespace, recall)
        if found is None:
            raise NotFoundError(
                f"no recall {recall!r} is kept: recalls are kept after keep_recalls(), or with "
                "Settings(keep_recalls=...), so many of a namespace, until compact() or erase=True "
                "removes them; pass the Recall itself"
            )
        return found

    def compact(self) -> None:
        """Rewrite and shrink all files, without what was deleted and forgotten.

        Afterwards no file of an index in SQLite, write-ahead logs included, holds a byte of a
        deleted text, title or metadata, or of a forgotten actor, question or cue; see
        ``docs/security.md``. Recent recalls of this namespace are no longer found by id. In
        PostgreSQL it runs ``VACUUM``; the server does the rest.

        Raises
        ------
        IndexLockedError
            If another process uses the index, or reads an older state of it, for longer than
            ``write_wait_seconds``. The error names it if the system tells. Call again later.
        """
        self._check_exists()
        self._parts.derived.compact()
        if self._parts.colonies.exist:
            with self._parts.derived.held():
                derived = self._parts.derived
                self._parts.colonies.at(derived.graph, derived.vectors, rebuild=True)
        self._parts.truth.drop_tombstones()
        self._teacher.expire_queries()
        self._teacher.erase_gone_phrases()
        self._teacher.drop_forgotten()
        self._parts.scrub()

    # -- without blocking the event loop ---------------------------------------------

    aadd = _in_thread(add)
    arefresh = _in_thread(refresh)
    aput_document = _in_thread(put_document)
    adocument_fingerprints = _in_thread(document_fingerprints)
    adelete = _in_thread(delete)
    areinforce = _in_thread(reinforce)
    aforget = _in_thread(forget)
    alessons = _in_thread(lessons)
    akeep_answer = _in_thread(keep_answer)
    afind_answer = _in_thread(find_answer)
    aearlier_recalls = _in_thread(earlier_recalls)
    afind_feedback = _in_thread(find_feedback)
    anamespaces = _in_thread(namespaces)
    amake_namespace = _in_thread(make_namespace)
    aget = _in_thread(get)
    aholds = _in_thread(holds)
    aids = _in_thread(ids)
    arecall = _in_thread(recall)
    ain_full = _in_thread(in_full)
    afind_recall = _in_thread(find_recall)
    akeep_recalls = _in_thread(keep_recalls)
    acompact = _in_thread(compact)

    # -- life -----------------------------------------------------------------------

    def close(self) -> None:
        """Save derived parts and close all files; closing twice is fine."""
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

    def _check_exists(self) -> None:
        """Check that it is open, and that there is something to read or to change."""
        self._check_open()
        self._parts.check_exists()

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
        return await _in_thread(cls.open)(location, **options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()
