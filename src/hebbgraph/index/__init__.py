"""The verbs for writing, asking and learning, and opening an index.

==============  =============================================
``session``     the parts of an open index, and how it ends
``writing``     ``add``, ``refresh``, ``delete``, ``compact``
``asking``      ``recall``, ``get``, ``ids``
``teaching``    ``reinforce``
``forgetting``  ``forget``, ``lessons``
==============  =============================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from hebbgraph.arguments import known_names
from hebbgraph.calling import in_thread
from hebbgraph.index.asking import AskingVerbs
from hebbgraph.index.teaching import TeachingVerbs
from hebbgraph.index.writing import WritingVerbs
from hebbgraph.settings import Settings

if TYPE_CHECKING:
    from hebbgraph.protocols import CueModel, Embedder, Search, Tagger, TextSource

__all__ = ["CoreIndex"]


class CoreIndex(WritingVerbs, AskingVerbs, TeachingVerbs):
    """The verbs of :class:`hebbgraph.HebbianIndex` for writing, asking and learning.

    This module does not import :mod:`hebbgraph.inspect`, which looks at an index or maintains it.
    """

    @classmethod
    @known_names
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
        judge: Any = None,
        judge_below: float = 1.0,
        edges: Sequence[str] | None = None,
        settings: Settings | Mapping[str, Any] | Literal["saved"] | None = None,
        namespace: str = "default",
        cache_dir: str | Path | None = None,
    ) -> Self:
        """Open an index; create it if there is none.

        Parameters
        ----------
        location : str or Path
            A directory, ``":memory:"``, or the URL of a PostgreSQL database.
        embedder : object, optional
            Has ``embed_documents`` and ``embed_query``. Embeds added chunks and questions. An
            index with vectors can be opened without it; dense search is then off, and recalls say
            so.
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
            Maps a question to some 100 (chunk id, score) pairs. Replaces dense search in recalls
            without ``seeds``. Its exceptions reach the caller.
        reranker : callable, or object with ``predict``, optional
            Maps a question and the texts of the first hits to scores on any scale
            (:class:`~hebbgraph.protocols.Reranker`), or pairs of both like a ``CrossEncoder`` of
            sentence-transformers. Only their order counts (:class:`RerankSettings`). If it fails
            or stalls, the recall continues without it and notes that.
        judge : callable, cross-encoder or language model, optional
            Gets the question, the first hits and the path that found each, and returns the ids of
            those that are needed (:class:`~hebbgraph.protocols.Judge`). A failure is noted, as a
            reranker's is.
        judge_below : float, in [0, 1]
            Judge only recalls that are less sure of their first k hits; all by default.
        edges : sequence of str, optional
            Overrides the build setting :attr:`Settings.edges`: metadata fields whose values join
            chunks, such as ``("author", "product")``.
        settings : Settings, mapping or "saved", optional
            ``"saved"`` uses the index's build settings, and defaults for the rest. A mapping does
            too, except for settings that it contains, such as
            ``{"learning": {"store_queries": True}}``.
        namespace : str
            Namespaces share nothing: no chunk, tag or statistic. The first write creates one;
            reading from a missing one is an error if the database has others.
        cache_dir : str or Path, optional
            Where to keep derived parts if ``location`` is a URL; by default, in memory.

        Raises
        ------
        NotAnIndexError, NewerVersionError, DamagedIndexError
            If the location holds something else, a newer format, or a damaged index.
        SettingsMismatchError
            If it was built with other build settings, or holds another model's vectors.
        """
        from hebbgraph.opening import open_namespace

        return cls(
            open_namespace(
                location,
                embedder=embedder,
                tagger=tagger,
                cue_model=cue_model,
                texts=texts,
                search=search,
                reranker=reranker,
                judge=judge,
                judge_below=judge_below,
                edges=edges,
                settings=settings,
                name=namespace,
                cache_dir=cache_dir,
            )
        )

    def namespaces(self) -> list[str]:
        """Return the names of all namespaces of the database, sorted."""
        self._check_open()
        return self._parts.truth.namespaces()

    def make_namespace(self) -> None:
        """Create the namespace of this index, unless it exists.

        The first write creates it too. Until then, reading from it is an error in a database with
        other namespaces, since its name may be misspelt (:class:`NamespaceNotFoundError`). Use
        this for a tenant who has no documents yet.

        Examples
        --------
        >>> with HebbianIndex.open(":memory:", namespace="anna") as index:
        ...     index.make_namespace()
        ...     index.namespaces()
        ['anna']
        """
        self._check_open()
        self._parts.make()

    def drop_namespace(self) -> None:
        """Delete the namespace of this index, erase its contents, and close the index.

        Chunks, lessons, corrections and recent recalls are removed from the database and the disk.
        Another process that has it open sees an empty index and can no longer write to it.

        Raises
        ------
        NamespaceNotFoundError
            If there is no such namespace.
        IndexLockedError
            If another process prevents erasing. The namespace is deleted anyway; :meth:`compact`
            of any other namespace erases it later.

        Examples
        --------
        >>> index = HebbianIndex.open(":memory:", namespace="anna")
        >>> report = index.add(["Anna's boat lies at berth 7."])
        >>> index.drop_namespace()
        """
        self._check_exists()
        try:
            self._erase(self._parts.drop)
        finally:
            self.close()
            self._parts.remove_derived()

    @classmethod
    async def aopen(cls, location: str | Path, **options: Any) -> Self:
        """Async twin of :meth:`open`."""
        return await in_thread(cls.open)(location, **options)

    anamespaces = in_thread(namespaces)
    amake_namespace = in_thread(make_namespace)
    adrop_namespace = in_thread(drop_namespace)
