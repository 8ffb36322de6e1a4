"""HebbianIndex: the one door. It wires the parts together and holds no formula."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Literal, NoReturn, Self, overload

from hebbgraph.calling import in_thread as _in_thread
from hebbgraph.errors import ClosedIndexError, HebbgraphError, NotFoundError, ParameterError
from hebbgraph.extras import load_plugin
from hebbgraph.inspection import (
    CorrectionKind,
    ForgetPreview,
    Forgetting,
    LessonReport,
    Neighborhood,
    TagCorrection,
    TagCount,
    Trace,
)
from hebbgraph.limits import MAX_ID
from hebbgraph.records import (
    AddReport,
    AnswerRecord,
    Chunk,
    Colony,
    DoctorReport,
    Explanation,
    Feedback,
    LearnedParameter,
    LessonRecord,
    PruneReport,
    Recall,
)
from hebbgraph.settings import Settings

if TYPE_CHECKING:
    import networkx as nx

    from hebbgraph.derived.colonies import ColonyState
    from hebbgraph.graph.statistics import Stats
    from hebbgraph.graph.tag_graph import TagGraph
    from hebbgraph.intake import ChunkLike, OnError
    from hebbgraph.namespace import Namespace
    from hebbgraph.protocols import CueModel, Embedder, Search, Tagger, TextSource, VectorSource
    from hebbgraph.recall import Strategy, StrategyName, Where
    from hebbgraph.teacher import Moment
    from hebbgraph.writer import OnProgress

__all__ = ["HebbianIndex"]


class HebbianIndex:
    """A retriever over a tagged graph of chunks; see :meth:`open`.

    Safe to use from many threads of one process; after a fork, open another. Every blocking
    method has an async twin (``arecall`` for ``recall``) that runs it in a thread; an embedder's
    ``aembed_query`` and ``aembed_documents`` are awaited on the caller's event loop.

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
            A directory, ``":memory:"``, or a database URL for SQLAlchemy.
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
        return self._writer.refresh(
            chunks,
            _check_ids(document_ids, "a document id"),
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
        _check_ids([document_id], "a document id")
        if not document_id or len(document_id) > MAX_ID:
            raise ParameterError(
                f"a document id has 1 to {MAX_ID} characters, got {len(document_id)}"
            )
        if fingerprint is not None:
            _check_ids([fingerprint], "a fingerprint")
        return self._writer.put_document(document_id, fingerprint, chunks)

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
        wanted = [] if ids is None else _check_ids(ids, "a chunk id")
        documents = [] if document_id is None else _check_ids([document_id], "a document id")
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

    def reembed(
        self,
        embedder: Embedder | None = None,
        *,
        show_progress: bool = False,
        on_progress: OnProgress = None,
    ) -> int:
        """Compute the missing vectors of an embedder; return how many were computed.

        An interrupted run continues where it stopped. A new model takes over at once: until a
        chunk has its vector, only lexical search finds it.

        Parameters
        ----------
        embedder : object, optional
            By default, the one that the index was opened with.
        show_progress, on_progress
            As for :meth:`add`.
        """
        self._check_exists()
        return self._writer.reembed(embedder, show_progress=show_progress, on_progress=on_progress)

    def retag(
        self,
        tagger: Tagger | None = None,
        *,
        show_progress: bool = False,
        on_progress: OnProgress = None,
    ) -> AddReport:
        """Tag every chunk again; ids, vectors and learned weights stay.

        Use it for chunks that were added without the tagger or whose tagging failed, or to change
        the tagger. Stored answers of a language model are not asked for again, so an interrupted
        run continues where it stopped. Until its batch is done, a chunk keeps its tags.

        Parameters
        ----------
        tagger : callable, optional
            Takes over. By default, the one that the index was opened with, or none.
        show_progress, on_progress
            As for :meth:`add`.

        Returns
        -------
        AddReport
            ``replaced`` counts the chunks whose tags changed.
        """
        self._check_exists()
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
        shown : iterable of str, optional
            The chunks in the prompt; by default, all hits of the recall. If others were cited,
            those above them that were not lose a little.
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
            self._resolve(recall), cited, rejected, shown, actor, trusted
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

    def forgotten(self) -> list[Forgetting]:
        """List what :meth:`undo_forget` can put back, the latest first.

        That is what this object forgot in the last ten minutes: at most twenty times, and 64 MB.
        """
        self._check_exists()
        return self._teacher.forgotten()

    def undo_forget(self, forgetting: Forgetting | str) -> int:
        """Put back what one :meth:`forget` took; return how many records.

        They return to their places in the log, so what was learned is as if nothing had been
        forgotten. What the same actor has said since of the same recall stands, and names of what
        was deleted since are not brought back. It is kept in memory alone: there is no way back
        after ``close``, :meth:`compact` or ``erase=True``.

        Parameters
        ----------
        forgetting : Forgetting or its id

        Raises
        ------
        NotFoundError
            If it is not kept, or no longer.
        ParameterError
            If more of the same feedback was forgotten since then; undo that first.

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add(["Synapses learn.", "Owls hunt voles."])
        ...     recall = index.recall("what do synapses do", k=1)
        ...     feedback = index.reinforce(recall, cited=[recall.hits[0].chunk.id])
        ...     taken = index.forget(feedback)
        ...     back = index.undo_forget(index.forgotten()[0])
        ...     taken, back, len(index.lessons())
        (1, 1, 1)
        """
        self._check_exists()
        id_ = forgetting.id if isinstance(forgetting, Forgetting) else forgetting
        return self._teacher.undo_forget(_check_ids([id_], "the id of a forgetting")[0])

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
                _check_ids([one], what)
        return self._teacher.lessons(actor, unnamed, recall, since, until)

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
        ...     report = index.lesson_report()
        >>> report.taught, report.asked, len(report.points)
        (15, 15, 5)
        """
        self._check_exists()
        from hebbgraph.recall.lesson_report import lesson_report

        return lesson_report(self._parts, questions, k)

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
        _check_str(name, "the name of an answer")
        return self._teacher.find_answer(name)

    def earlier_recalls(self, conversation: str) -> list[Recall]:
        """Return what the latest turns of a conversation recalled, oldest first.

        As far as answers of it were kept; with the present texts, like :meth:`find_recall`.
        """
        self._check_exists()
        _check_str(conversation, "the name of a conversation")
        from hebbgraph.store.recall_content import whole

        found = self._parts.answers.earlier(conversation)
        return [whole(recall, self._parts.truth) for recall in found]

    def find_feedback(self, ids: Iterable[str]) -> list[Feedback]:
        """Return the feedback with these ids that is in the log, in its order."""
        self._check_exists()
        return self._teacher.find_feedback(_check_ids(ids, "the id of a feedback"))

    def export_feedback(self, file: str | Path | IO[str]) -> int:
        """Write the feedback log as JSON lines; return how many.

        Parameters
        ----------
        file : path, or text file open for writing
        """
        self._check_exists()
        _check_file(file, "write")
        return self._teacher.export(file)

    def import_feedback(self, file: str | Path | IO[str], *, origin: str = "import") -> int:
        """Add feedback from JSON lines; return how many records were new.

        Known records are skipped. Actors are bounded as usual. Feedback on chunks that are
        missing, or whose text differs, has no effect until they are there. All lines are checked
        before any is written.

        Parameters
        ----------
        file : path, or text file open for reading
        origin : str
            Noted on records without one.

        Raises
        ------
        FeedbackError
            With the number of the line.
        """
        self._check_open()
        _check_file(file, "__iter__")
        return self._teacher.import_(file, origin)

    def prune(self, min_weight: float | None = None, *, dry_run: bool = True) -> PruneReport:
        """Report which learned edges are too weak to count, and which feedback has no effect.

        Parameters
        ----------
        min_weight : float, in [0, 1], optional
            By default, the weight below which recalls ignore an edge.
        dry_run : bool
            If False, erase feedback whose edges are all weak or masked.
        """
        self._check_exists()
        return self._teacher.prune(min_weight, dry_run=dry_run)

    # -- tags -----------------------------------------------------------------------

    def correct_tags(
        self,
        kind: CorrectionKind,
        tags: str | Iterable[str],
        *,
        into: str | None = None,
        chunks: Iterable[str] | None = None,
        actor: str | None = None,
    ) -> TagCorrection:
        """Merge, rename, mute or split tags.

        Texts and the tags found in them stay as they are: a correction is read over them, in
        this process and all others, for chunks added later too, until it is undone.

        Parameters
        ----------
        kind : {"merge", "rename", "mute", "split"}
            ``merge``: chunks and questions that name one of ``tags`` have ``into`` instead.
            ``rename``: the same, of one tag, to a name that is no tag yet.
            ``mute``: chunks no longer hold ``tags``, and questions no longer name them.
            ``split``: the given ``chunks`` hold ``into`` instead of the tag. A question that
            names the tag is about both; activation crosses from one to the other no more.
        tags : str or iterable of str
            Tags that chunks hold now, earlier corrections included.
        into : str, optional
        chunks : iterable of str, optional
            Ids, for ``split``.
        actor : str, optional
            Who says so.

        Raises
        ------
        NotFoundError
            If no chunk holds a tag, or there is no such chunk.
        ParameterError

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add([{"id": "a", "title": "Sea Cow", "text": "It grazes on kelp."},
        ...                         {"id": "b", "text": "A Sea Cow rests. Manatees graze."}])
        ...     correction = index.correct_tags("rename", "sea cow", into="manatee")
        ...     index.recall("What does a manatee eat?").cues[0].tag
        'manatee'
        """
        self._check_exists()
        from hebbgraph.corrector import correct_tags

        return correct_tags(self._parts, kind, tags, into=into, chunks=chunks, actor=actor)

    def tag_corrections(self) -> list[TagCorrection]:
        """Return the corrections in force, the oldest first."""
        self._check_exists()
        return list(self._parts.truth.corrections.all())

    def undo_tag_correction(self, correction: TagCorrection | str) -> bool:
        """Undo a correction, by its record or id; return whether it was in force.

        Afterwards recalls are as if it had never been made.
        """
        self._check_exists()
        from hebbgraph.corrector import undo_tag_correction

        return undo_tag_correction(self._parts, correction)

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
            Maximal number of hits of one colony (:meth:`colonies`), as long as there are others.
        history : iterable of str, optional
            Earlier turns of the conversation, oldest first. A follow-up ("and in winter?") is
            understood from the last four; a question that says enough by itself, or is about
            something else, from none (:attr:`Recall.history`).
        as_of : datetime, date or str, optional
            Only what held at that moment (``docs/time.md``). Left out, everything is found, and
            what no longer holds is marked (:attr:`Hit.stale`) and stands below what replaces it.

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
            vectors=vectors,
            per_colony=per_colony,
            history=history,
            as_of=as_of,
        )
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
        wanted = _check_ids(ids, "a chunk id")
        rows = self._parts.truth.rows_of(wanted)
        held = self._parts.truth.fetch(rows.values())
        return [held[rows[id_]] for id_ in wanted if id_ in rows and rows[id_] in held]

    def holds(self, ids: Iterable[str]) -> set[str]:
        """Return which of these ids the index holds, without reading any text."""
        self._check_exists()
        wanted = _check_ids(ids, "a chunk id")
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

    def find_recall(self, recall_id: str) -> Recall | None:
        """Return a recent recall by its id, or None if it is not kept (any longer).

        Its chunks are the current ones. If a hit's chunk was deleted or its text replaced, the hit
        keeps id, rank, score and path, so feedback on it still counts; its text, title and metadata
        are empty (``hit.lacks_text``), and a note names it.
        """
        self._check_exists()
        _check_ids([recall_id], "a recall id")
        from hebbgraph.store.recall_content import whole

        found = self._parts.recalls.get(self.namespace, recall_id)
        return None if found is None else whole(found, self._parts.truth)

    def _resolve(self, recall: Recall | str) -> Recall:
        if isinstance(recall, Recall):
            return recall
        _check_ids([recall], "a recall id")
        found = self._parts.recalls.get(self.namespace, recall)
        if found is None:
            raise NotFoundError(
                f"no recall {recall!r} is kept: the last {self.settings.keep_recalls:,} of this "
                "namespace are, unless compact() or erase=True removed them; pass the Recall itself"
            )
        return found

    def explain(self, recall: Recall | str, chunk_id: str) -> Explanation:
        """Explain why a recall ranked a chunk as it did, among what its filter lets pass.

        Parameters
        ----------
        recall : Recall, or the id of a recent one
        chunk_id : str
            Need not be among the hits.

        Raises
        ------
        NotFoundError
            If there is no such recall or chunk.
        """
        self._check_exists()
        _check_ids([chunk_id], "a chunk id")
        from hebbgraph.recall.explain import explain

        return explain(self._parts, self._recaller, self._resolve(recall), chunk_id)

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
        ...     trace = index.trace(index.recall("Where was the builder of the Petrel born?"))
        >>> first = trace.events[0]
        >>> first.over, trace.nodes[first.target].value
        ('question', 'petrel')
        """
        self._check_exists()
        if not isinstance(limit, int) or isinstance(limit, bool):
            raise ParameterError(f"limit is a whole number, got {limit!r:.80}")
        from hebbgraph.recall.trace import trace

        return trace(self._parts, self._recaller, self._resolve(recall), where, limit)

    def tags(
        self, containing: str = "", *, chunk: str | None = None, limit: int = 100
    ) -> list[TagCount]:
        """Return tags by name, or those of a chunk, the most frequent first.

        Parameters
        ----------
        containing : str
            Part of the name; a tag of just that name comes first.
        chunk : str, optional
            Only the tags of the chunk with this id.
        limit : int, from 1 to 10000
        """
        self._check_exists()
        from hebbgraph.recall.surroundings import find_tags

        if chunk is not None:
            _check_ids([chunk], "a chunk id")
        return find_tags(self._parts, containing, chunk, limit)

    def neighborhood(self, tag: str, *, limit: int = 500) -> Neighborhood:
        """Return the tags that share most chunks with a tag, and the chunks that hold it.

        Hubs, which recalls cut, are apart. However large the index is, the answer and the work
        are bounded; of a tag of more than 20,000 chunks, a part is read.

        Parameters
        ----------
        tag : str
        limit : int, from 1 to 2000
            Of tags, the one asked for included.

        Raises
        ------
        NotFoundError
            If no chunk holds the tag; the error names some that are alike.

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add([
        ...         {"title": "Petrel", "text": "The Petrel was built by Ida Moss."},
        ...         {"title": "Ida Moss", "text": "Ida Moss was born in Tessel Bay."},
        ...     ])
        ...     [(node.tag, node.weight) for node in index.neighborhood("ida moss").nodes]
        [('ida moss', 2), ('petrel', 1)]
        """
        self._check_exists()
        from hebbgraph.recall.surroundings import tags_around

        return tags_around(self._parts, tag, limit)

    def stats(self) -> Stats:
        """Count chunks, tags and edges; see :class:`~hebbgraph.graph.statistics.Stats`."""
        self._check_exists()
        from hebbgraph.graph.statistics import graph_stats

        parts = self._parts
        with parts.derived.held():
            graph = parts.derived.graph
            return graph_stats(
                graph,
                colonies=self._colony_state(graph).n_colonies if parts.colonies.exist else 0,
                lessons=parts.log.count(),
                answers=parts.answers.counts(),
            )

    def learned(self) -> tuple[LearnedParameter, ...]:
        """Say how far memory is trusted here, where exams have moved it.

        Every lesson is an exam first: what would memory have said without it? From up to 256
        exams follow the weights of words, of vectors and of pairs of chunks beside the score
        without learning, and how much chunks lose that were taught, so that others do not
        sink (``docs/learning.md``). :meth:`forget` takes back what they follow from.

        Returns
        -------
        tuple of LearnedParameter
            Empty if nothing has moved.

        Examples
        --------
        >>> index = HebbianIndex.open(":memory:")
        >>> index.learned()
        ()
        """
        self._check_exists()
        with self._parts.held():
            return self._parts.learned.learned()

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
        ...     [(colony.id, colony.chunks) for colony in index.colonies()]
        [(0, 2), (1, 2)]
        """
        self._check_exists()
        with self._parts.derived.held():
            graph = self._parts.derived.graph
            return self._parts.colonies.describe(graph, self._colony_state(graph, rebuild=rebuild))

    def _colony_state(self, graph: TagGraph, *, rebuild: bool = False) -> ColonyState:
        return self._parts.colonies.at(graph, self._parts.derived.vectors, rebuild=rebuild)

    def to_networkx(self, kind: Literal["tags", "incidence", "colonies"] = "tags") -> nx.Graph[str]:
        """Return a graph for networkx.

        Parameters
        ----------
        kind : {"tags", "incidence", "colonies"}
            Tags joined by the number of chunks that hold both; chunks and their tags; or chunks
            joined by shared tags and similar vectors, each with its colony.
        """
        self._check_exists()
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
            self.colonies(rebuild=True)
        self._parts.truth.drop_tombstones()
        self._teacher.expire_queries()
        self._teacher.erase_gone_phrases()
        self._teacher.drop_forgotten()
        self._parts.scrub()

    def doctor(self, *, repair: bool = False) -> DoctorReport:
        """Check everything that must always hold against a rebuild in memory.

        The database's own check and the digest of each chunk; the feedback log; checksums;
        vocabulary, postings, document frequencies, the lexical index, vectors and learned weights;
        and the file of colonies. Takes as much time and memory as building the index.

        Parameters
        ----------
        repair : bool
            Rebuild derived parts that are wrong, and set a damaged file of colonies aside. A
            damaged database needs a backup.

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add(["Owls hunt at night."])
        ...     index.doctor().ok
        True
        """
        self._check_exists()
        from hebbgraph.doctor import examine

        return examine(self._parts, repair=repair)

    def backup(self, path: str | Path) -> Path:
        """Copy the database into a new directory, while others may go on writing.

        All namespaces, with their feedback. Derived parts are built when the copy is opened; it
        works like any index. See :meth:`restore`. For SQLite; PostgreSQL has ``pg_dump``.
        """
        self._check_open()
        from hebbgraph.store.backup import back_up
        from hebbgraph.store.places import as_directory

        return back_up(self._parts.database, as_directory(path, "the backup"))

    @staticmethod
    def restore(backup: str | Path, location: str | Path, *, force: bool = False) -> None:
        """Make an index of a backup, all namespaces at once.

        With ``force``, it replaces an index that exists. Other processes may have that open; their
        next recall sees the restored state.

        Raises
        ------
        ParameterError
            If there is an index at ``location``, without ``force``.
        """
        from hebbgraph.store.backup import restore
        from hebbgraph.store.places import as_directory

        restore(as_directory(backup, "the backup"), as_directory(location), force=force)

    @staticmethod
    async def arestore(backup: str | Path, location: str | Path) -> None:
        """Async twin of :meth:`restore`."""
        await _in_thread(HebbianIndex.restore)(backup, location)

    # -- without blocking the event loop ---------------------------------------------

    aadd = _in_thread(add)
    arefresh = _in_thread(refresh)
    aput_document = _in_thread(put_document)
    adocument_fingerprints = _in_thread(document_fingerprints)
    adelete = _in_thread(delete)
    areembed = _in_thread(reembed)
    aretag = _in_thread(retag)
    areinforce = _in_thread(reinforce)
    aforget = _in_thread(forget)
    aforgotten = _in_thread(forgotten)
    aundo_forget = _in_thread(undo_forget)
    alessons = _in_thread(lessons)
    alesson_report = _in_thread(lesson_report)
    akeep_answer = _in_thread(keep_answer)
    afind_answer = _in_thread(find_answer)
    aearlier_recalls = _in_thread(earlier_recalls)
    afind_feedback = _in_thread(find_feedback)
    aexport_feedback = _in_thread(export_feedback)
    aimport_feedback = _in_thread(import_feedback)
    aprune = _in_thread(prune)
    acorrect_tags = _in_thread(correct_tags)
    atag_corrections = _in_thread(tag_corrections)
    aundo_tag_correction = _in_thread(undo_tag_correction)
    anamespaces = _in_thread(namespaces)
    amake_namespace = _in_thread(make_namespace)
    aget = _in_thread(get)
    aholds = _in_thread(holds)
    aids = _in_thread(ids)
    arecall = _in_thread(recall)
    ain_full = _in_thread(in_full)
    afind_recall = _in_thread(find_recall)
    aexplain = _in_thread(explain)
    atrace = _in_thread(trace)
    atags = _in_thread(tags)
    aneighborhood = _in_thread(neighborhood)
    astats = _in_thread(stats)
    alearned = _in_thread(learned)
    acolonies = _in_thread(colonies)
    ato_networkx = _in_thread(to_networkx)
    acompact = _in_thread(compact)
    adoctor = _in_thread(doctor)
    abackup = _in_thread(backup)

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


def _check_str(value: object, what: str) -> None:
    if not isinstance(value, str):
        raise ParameterError(f"{what} is a str, got {value!r:.80}")


def _check_file(file: object, method: str) -> None:
    """Raise ParameterError unless it is a path or, by one of its methods, an open text file."""
    if isinstance(file, str | os.PathLike):
        from hebbgraph.store.places import as_directory

        as_directory(file, "file")
    elif not hasattr(file, method) or isinstance(file, bytes | dict):
        raise ParameterError(f"file is a path or an open text file, got {file!r:.80}")


def _check_ids(ids: Iterable[str], what: str) -> list[str]:
    """Return ids as a list; raise ParameterError for one that no chunk can have."""
    if not isinstance(ids, Iterable):
        raise ParameterError(f"{what} is a str, got {ids!r}")
    wanted = [ids] if isinstance(ids, str) else list(ids)
    for id_ in wanted:
        if not (isinstance(id_, str) and id_.isprintable()):
            raise ParameterError(f"{what} is a printable str, got {id_!r}")
        if len(id_) > MAX_ID:
            raise ParameterError(f"{what} has at most {MAX_ID} characters, got {len(id_)}")
    return wanted
