"""HebbianIndex: the verbs of an index."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hebbgraph.errors import NotAnIndexError, ParameterError, StorageError
from hebbgraph.filters import rows_passing
from hebbgraph.ingest.loading import Loader
from hebbgraph.protocols import Embedder, Progress, Tagger
from hebbgraph.recall.pipeline import Recaller, Where
from hebbgraph.recall.steps import RankStep
from hebbgraph.recall.strategies import Strategy
from hebbgraph.records import AddReport, Chunk, DeleteReport, Hit, Neighbor, Recall, Tag
from hebbgraph.settings import Settings
from hebbgraph.store.chunks import chunks_by_id, rows_of
from hebbgraph.store.database import Database, Session
from hebbgraph.store.meta import write_meta
from hebbgraph.store.places import MEMORY, namespaces_at, open_database
from hebbgraph.store.schema import SCHEMA_VERSION, TEXT_VERSION
from hebbgraph.store.vectors import VectorCache
from hebbgraph.upkeep import doctor, rebuilding
from hebbgraph.upkeep.graph import cooccurrence, find_tags, neighbors

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["HebbianIndex"]


class HebbianIndex:
    """A retriever's index: chunks, their words and tags, and what was learned about them.

    Open one with :meth:`open`. An index serves any number of threads and processes at once; each
    method that takes long has an async twin (``aadd``, ``arecall``, …), which runs in a thread.

    Examples
    --------
    >>> with HebbianIndex.open(":memory:") as index:
    ...     report = index.add(["Ida Moss built the Petrel.", "Ida Moss lived in Tessel Bay."])
    ...     recall = index.recall("Where did the builder of the Petrel live?", k=2)
    >>> recall[0].text
    'Ida Moss built the Petrel.'
    """

    def __init__(
        self,
        database: Database,
        path: str,
        namespace: str,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        tagger: Tagger | None = None,
        cache_dir: Path | None = None,
        read_only: bool = False,
    ) -> None:
        """Use :meth:`open`."""
        self._database = database
        self._path = path
        self.namespace = namespace
        self.settings = settings
        self.embedder = embedder
        self.tagger = tagger
        self.read_only = read_only
        self._cache_dir = cache_dir
        self._stale_text = ""
        folder = cache_dir or (None if read_only else database.folder)
        self._vectors = VectorCache(database, folder)
        self._loader = Loader(database, settings, embedder, tagger)
        self._recaller = Recaller(
            database,
            settings,
            self._vectors,
            embedder=embedder,
            tag_question=getattr(tagger, "tag_question", None),
            namespace=namespace,
        )

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        namespace: str = "default",
        embedder: Embedder | None = None,
        tagger: Tagger | None = None,
        settings: Settings | None = None,
        cache_dir: str | Path | None = None,
        read_only: bool = False,
    ) -> Self:
        """Open an index, making it if there is none.

        Parameters
        ----------
        path : str or Path
            A directory, ``":memory:"``, or the URL of a PostgreSQL database.
        namespace : str
            One of the index's tenants. Namespaces are files, or schemas, of their own.
        embedder : Embedder, optional
            Any object with ``embed_documents`` and ``embed_query``, such as LangChain's
            ``Embeddings``.
        tagger : Tagger, optional
            Maps chunks to tags, which are added to those found without a model.
        settings : Settings, optional
            By default those that the index was built with.
        cache_dir : str or Path, optional
            Where a file that maps the vectors may be written; by default beside the database.
        read_only : bool
            Open an index that exists, and never write.

        Raises
        ------
        ParameterError
            If the index was built with other settings.
        NotFoundError
            If there is no index, and ``read_only``.
        StorageError
            If the database cannot be used; see :mod:`hebbgraph.errors`.
        """
        wait = (settings or Settings()).wait
        database = open_database(path, namespace, wait=wait, read_only=read_only)
        try:
            with database.read() as session:
                meta = session.meta
            if "settings" not in meta and not read_only:
                with database.write() as session:
                    if "settings" not in session.meta:
                        write_meta(session, _first_meta(namespace, settings or Settings()))
                    meta = session.meta
            used = _agreed(meta, settings, str(path))
        except BaseException:
            database.close()
            raise
        index = cls(
            database,
            str(path),
            namespace,
            used,
            embedder=embedder,
            tagger=tagger,
            cache_dir=None if cache_dir is None else Path(cache_dir),
            read_only=read_only,
        )
        if int(meta.get("text_version", TEXT_VERSION)) != TEXT_VERSION:
            index._stale_text = (
                f"{path} was built by text rules {meta['text_version']}, this hebbgraph has "
                f"{TEXT_VERSION}; call index.rebuild(), or `hebbgraph doctor --rebuild`"
            )
        return index

    def in_namespace(self, namespace: str) -> Self:
        """Open another namespace of the same index, with the same models and settings."""
        return type(self).open(
            self._path,
            namespace=namespace,
            embedder=self.embedder,
            tagger=self.tagger,
            settings=self.settings,
            cache_dir=self._cache_dir,
            read_only=self.read_only,
        )

    # -- writing ----------------------------------------------------------------------

    def add(
        self,
        chunks: Iterable[Chunk | dict[str, Any] | str],
        *,
        workers: int | None = None,
        show_progress: Progress | bool | None = None,
    ) -> AddReport:
        """Add chunks; an id that exists is replaced, a chunk that is there already is skipped.

        Chunks are read as they are needed, so any number of them takes bounded memory. Each batch
        of some megabytes is one transaction: whatever stops the call, batches before are stored
        and the one under way is not. Run it again to go on.

        Parameters
        ----------
        chunks : iterable of Chunk, dict or str
        workers : int, optional
            Read texts in so many processes.
        show_progress : bool or callable, optional
            Show a progress bar, or call a function with the number of chunks that are done.

        Raises
        ------
        InvalidChunkError
            For the first chunk that cannot be stored; batches before it are.
        EmbeddingError, TaggingError
            If a model fails.
        """
        if isinstance(chunks, str | dict | Chunk):
            raise ParameterError(f"chunks is a list of chunks, got one {type(chunks).__name__}")
        self._check_text_version()
        with _progress(show_progress) as progress:
            return self._loader.add(map(Chunk.of, chunks), workers=workers, progress=progress)

    def refresh(self, chunks: Iterable[Chunk | dict[str, Any]]) -> AddReport:
        """Replace whole documents: add chunks, and delete others of their documents.

        All chunks are held in memory, and a small refresh is one transaction.

        Raises
        ------
        ParameterError
            If a chunk has no ``document_id``.
        """
        self._check_text_version()
        new = [Chunk.of(chunk) for chunk in chunks]
        if missing := [chunk.id for chunk in new if chunk.document_id is None]:
            raise ParameterError(f"refresh replaces documents; chunk {missing[0]!r} has none")
        kept = {chunk.id for chunk in new}
        documents = list({chunk.document_id for chunk in new})

        def lost(session: Session) -> list[int]:
            sql = "SELECT row, id FROM $chunk WHERE document_id = ANY(?)"
            return [row for row, id_ in session.rows(sql, documents) if id_ not in kept]

        report = self._loader.add(new, lost=lost)
        if report.deleted or report.replaced:
            self._erase()
        return report

    def delete(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        document_id: str | Sequence[str] | None = None,
        where: Where = None,
    ) -> DeleteReport:
        """Delete chunks by id, document or filter; they are gone for every process at once.

        Texts, words and vectors are overwritten in the files, too. If a reader holds an older
        state open, this waits for it (``Settings.wait``), and reports whether it ended.

        Raises
        ------
        ParameterError
            Without an argument.
        """
        if ids is None and document_id is None and where is None:
            raise ParameterError("delete takes ids, document_id= or where=; got none of them")
        if callable(where):
            raise ParameterError("delete takes a dict for where=; a callable is no filter")
        found: list[int] = []

        def rows(session: Session) -> Collection[int]:
            sets = []
            if ids is not None:
                sets.append(set(rows_of(session, _list(ids, "ids")).values()))
            if document_id is not None:
                sql = "SELECT row FROM $chunk WHERE document_id = ANY(?)"
                of_document = session.rows(sql, _list(document_id, "document_id"))
                sets.append({row for (row,) in of_document})
            if where is not None:
                passing, _ = rows_passing(session, where)
                every = {row for (row,) in session.rows("SELECT row FROM $chunk")}
                chosen = set(passing.rows.tolist())
                sets.append(every - chosen if passing.all_but else chosen & every)
            found[:] = set.intersection(*sets)
            return found

        n = self._loader.delete(rows)
        return DeleteReport(deleted=n, erased=self._erase(found) if n else True)

    def _erase(self, rows: Iterable[int] = ()) -> bool:
        """Overwrite what was deleted in the log and in the file of vectors."""
        self._vectors.erase(rows)
        return self._database.erase_log(self.settings.wait)

    def rebuild(self) -> int:
        """Make terms and postings anew from the chunks, by today's rules; return their number.

        It is one transaction: readers see the former state until it ends.
        """
        with self._database.write() as session:
            n = rebuilding.rebuild(session, self.settings)
        self._stale_text = ""
        return n

    # -- asking -----------------------------------------------------------------------

    def recall(
        self,
        question: str,
        k: int = 10,
        *,
        where: Where = None,
        seeds: Iterable[tuple[str, float]] | None = None,
        vector: Sequence[float] | None = None,
        strategy: str | Strategy = "spreading",
        steps: Sequence[RankStep] = (),
        min_score: float | None = None,
        recall_id: str | None = None,
    ) -> Recall:
        """Return the k most active chunks for a question.

        Parameters
        ----------
        question : str
        k : int, from 1 to 10,000
            As many hits are returned if so many chunks pass the filter.
        where : dict or callable, optional
            A metadata filter (:mod:`hebbgraph.filters`): chunks that it excludes neither receive
            nor pass activation. A callable from a chunk to bool only cuts hits, in the order of
            their ranks; it is no access rule.
        seeds : iterable of (chunk id, score), optional
            Results of a search of your own, higher is better. They replace vector search; words
            and the graph are added. Unknown ids are ignored.
        vector : sequence of float, optional
            The question's embedding, if you have it already.
        strategy : str or Strategy
            ``"spreading"``, or one of the papers (``pip install "hebbgraph[papers]"``), or an
            object of your own.
        steps : sequence of RankStep, optional
            Steps of your own after the ranking.
        min_score : float, in [0, 1], optional
            Leave out hits of a lower score; then there may be fewer than k.
        recall_id : str, optional
            The id of the recall; by default a new one.

        Raises
        ------
        ParameterError, FilterError
            For an argument out of range.
        EmbeddingError
            If the embedder fails.
        """
        self._check_text_version()
        return self._recaller.recall(
            question,
            k,
            where=where,
            seeds=seeds,
            vector=vector,
            strategy=strategy,
            steps=steps,
            min_score=min_score,
            recall_id=recall_id,
        )

    def explain(self, recall: Recall, chunk_id: str) -> Hit:
        """Return how a chunk ranks for the question of a recall on today's index.

        Its rank is 0 if nothing speaks for it.

        Raises
        ------
        NotFoundError
            If the index does not hold the chunk.
        """
        self._check_text_version()
        return self._recaller.explain(recall, chunk_id)

    # -- looking up -------------------------------------------------------------------

    def get(self, ids: str | Sequence[str]) -> list[Chunk]:
        """Return chunks by id, in the order of the ids; unknown ids are left out."""
        wanted = _list(ids, "ids")
        with self._database.read() as session:
            stored = chunks_by_id(session, wanted)
        return [stored[id_].chunk() for id_ in wanted if id_ in stored]

    def ids(self, where: Where = None) -> list[str]:
        """Return the ids of the chunks that pass a filter, sorted."""
        with self._database.read() as session:
            found = session.rows("SELECT row, id FROM $chunk ORDER BY id")
            if where is None:
                return [id_ for _, id_ in found]
            if callable(where):
                stored = chunks_by_id(session, [id_ for _, id_ in found])
                return [id_ for _, id_ in found if where(stored[id_].chunk())]
            passing, _ = rows_passing(session, where)
        chosen = set(passing.rows.tolist())
        return [id_ for row, id_ in found if (row in chosen) is not passing.all_but]

    def tags(self, prefix: str = "", *, limit: int = 100) -> list[Tag]:
        """Return the tags that begin with a prefix, those of most chunks first."""
        with self._database.read() as session:
            return find_tags(session, prefix, limit)

    def neighbors(self, tag: str, k: int = 20) -> list[Neighbor]:
        """Return the tags that most often occur together with a tag.

        Raises
        ------
        NotFoundError
            If no chunk holds the tag.
        """
        with self._database.read() as session:
            return neighbors(session, tag, k)

    def to_networkx(self) -> nx.Graph[str]:
        """Return the graph of tags, with ``weight`` (chunks that hold both) and ``learned``."""
        with self._database.read() as session:
            return cooccurrence(session)

    def stats(self) -> dict[str, Any]:
        """Return what the index holds, in numbers."""
        with self._database.read() as session:
            return {"namespace": self.namespace, **rebuilding.statistics(session)}

    def doctor(self) -> list[str]:
        """Check that everything stored follows from the texts; return what is wrong.

        It reads every chunk again. :meth:`rebuild` repairs what it finds, but for texts.
        """
        found = self._database.check()
        try:
            with self._database.read() as session:
                return found + doctor.problems(session, self.settings)
        except StorageError as error:
            return [*found, str(error)]

    def backup(self, path: str | Path) -> None:
        """Write a copy of one state of this namespace to a new file."""
        self._database.backup(Path(path))

    def namespaces(self) -> list[str]:
        """Return the namespaces of the index, sorted."""
        return [self.namespace] if self._path == MEMORY else namespaces_at(self._path)

    def close(self) -> None:
        """Release files and connections; a closed index raises ClosedIndexError."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"HebbianIndex({self._path!r}, namespace={self.namespace!r})"

    def _check_text_version(self) -> None:
        if self._stale_text:
            raise NotAnIndexError(self._stale_text)

    # -- async twins ------------------------------------------------------------------

    async def aadd(self, *args: Any, **options: Any) -> AddReport:
        """Run :meth:`add` in a thread."""
        return await asyncio.to_thread(self.add, *args, **options)

    async def arefresh(self, chunks: Iterable[Chunk | dict[str, Any]]) -> AddReport:
        """Run :meth:`refresh` in a thread."""
        return await asyncio.to_thread(self.refresh, chunks)

    async def adelete(self, *args: Any, **options: Any) -> DeleteReport:
        """Run :meth:`delete` in a thread."""
        return await asyncio.to_thread(self.delete, *args, **options)

    async def arecall(self, *args: Any, **options: Any) -> Recall:
        """Run :meth:`recall` in a thread."""
        return await asyncio.to_thread(self.recall, *args, **options)

    async def aget(self, ids: str | Sequence[str]) -> list[Chunk]:
        """Run :meth:`get` in a thread."""
        return await asyncio.to_thread(self.get, ids)

    async def aexplain(self, recall: Recall, chunk_id: str) -> Hit:
        """Run :meth:`explain` in a thread."""
        return await asyncio.to_thread(self.explain, recall, chunk_id)


def _first_meta(namespace: str, settings: Settings) -> dict[str, str]:
    return {
        "schema_version": str(SCHEMA_VERSION),
        "text_version": str(TEXT_VERSION),
        "namespace": namespace,
        "settings": json.dumps(settings.build(), sort_keys=True),
    }


def _agreed(meta: dict[str, str], settings: Settings | None, path: str) -> Settings:
    """Return the settings to use; raise ParameterError where they differ from the stored ones."""
    if (version := meta.get("schema_version", str(SCHEMA_VERSION))) != str(SCHEMA_VERSION):
        raise NotAnIndexError(
            f"{path} has schema {version}, this hebbgraph reads {SCHEMA_VERSION}; open it with the "
            "hebbgraph that made it"
        )
    built = json.loads(meta.get("settings", "{}"))
    if settings is None:
        return Settings(**built)
    for name, value in settings.build().items():
        if name in built and built[name] != value:
            raise ParameterError(
                f"{path} was built with {name}={built[name]!r}, got {value!r}; open it without, or "
                "make a new index"
            )
    return settings


def _list(values: str | Sequence[str], name: str) -> list[str]:
    listed = [values] if isinstance(values, str) else list(values)
    if wrong := [value for value in listed if not isinstance(value, str)]:
        raise ParameterError(f"{name} is a list of str, got {wrong[0]!r:.80} in it")
    return listed


class _progress:
    """A progress bar, a caller's function, or neither."""

    def __init__(self, show: Callable[[int], Any] | bool | None) -> None:
        self._show = show

    def __enter__(self) -> Progress | None:
        if callable(self._show):
            return self._show
        if not self._show:
            return None
        from rich.progress import Progress as Bar
        from rich.progress import TextColumn, TimeElapsedColumn

        self._bar = Bar(TextColumn("{task.completed:,} chunks"), TimeElapsedColumn())
        self._bar.start()
        task = self._bar.add_task("", total=None)
        return lambda done: self._bar.update(task, completed=done)

    def __exit__(self, *error: object) -> None:
        if self._show is True:
            self._bar.stop()
