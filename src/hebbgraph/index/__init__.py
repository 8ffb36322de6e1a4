"""HebbianIndex: what can be done with an index."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from hebbgraph.errors import NotAnIndexError, ParameterError
from hebbgraph.index.asking import AskingVerbs
from hebbgraph.index.session import in_thread
from hebbgraph.index.teaching import TeachingVerbs
from hebbgraph.index.writing import WritingVerbs
from hebbgraph.protocols import Closing, Embedder, Tagger
from hebbgraph.settings import Settings
from hebbgraph.store import MEMORY, namespaces_at, open_database
from hebbgraph.store.chunks import loaded
from hebbgraph.store.database import SCHEMA_VERSION, TEXT_VERSION
from hebbgraph.store.meta import write_meta


class HebbianIndex(Closing, WritingVerbs, AskingVerbs, TeachingVerbs):
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
        """Open an index, or create it if there is none.

        Parameters
        ----------
        path : str or Path
            A directory, ``":memory:"``, or the URL of a PostgreSQL database.
        namespace : str
            One of the index's tenants. Each is a separate file or schema.
        embedder : Embedder, optional
            Any object with ``embed_documents`` and ``embed_query``, such as LangChain's
            ``Embeddings``.
        tagger : Tagger, optional
            Maps chunks to tags, which are added to those found without a model.
        settings : Settings, optional
            By default those that the index was built with.
        cache_dir : str or Path, optional
            Where a file that maps the vectors may be written; by default next to the database.
        read_only : bool
            Open an index that exists, and never write.

        Raises
        ------
        ParameterError
            If a model or settings are of another type, or those that it was built with differ.
        NotFoundError
            If there is no index, and ``read_only``.
        StorageError
            If the database cannot be used; see :mod:`hebbgraph.errors`.
        """
        _check_models(embedder, tagger, settings)
        settings = settings or Settings()
        database = open_database(path, namespace, wait=settings.wait, read_only=read_only)
        try:
            with database.read() as session:
                meta = session.meta
            if "settings" not in meta and not read_only:
                first = {
                    "schema_version": str(SCHEMA_VERSION),
                    "text_version": str(TEXT_VERSION),
                    "namespace": namespace,
                    "settings": json.dumps(settings.build(), sort_keys=True),
                }
                with database.write() as session:
                    if "settings" not in session.meta:
                        write_meta(session, first)
                    meta = session.meta
            used = _agreed(meta, settings, str(path))
        except BaseException:
            database.close()
            raise
        folder = None if cache_dir is None else Path(cache_dir).absolute()
        place = str(database.folder or path)
        index = cls(database, namespace, used, embedder, tagger, place, folder, read_only)
        if int(meta.get("text_version", TEXT_VERSION)) != TEXT_VERSION:
            index._stale_text = (
                f"{path} was built by text rules {meta['text_version']}, this hebbgraph has "
                f"{TEXT_VERSION}; call index.rebuild(), or `hebbgraph doctor --rebuild`"
            )
        return index

    def in_namespace(self, namespace: str) -> Self:
        """Open another namespace of the same index, with the same models and settings."""
        if self._path == MEMORY:
            raise ParameterError("an index in memory has one namespace; open a directory")
        settings = self.settings
        if namespace in self.namespaces():  # it keeps those that it was built with
            settings = Settings(**settings.model_dump(exclude=set(Settings.BUILD)))
        return type(self).open(
            self._path,
            namespace=namespace,
            embedder=self.embedder,
            tagger=self.tagger,
            settings=settings,
            cache_dir=self._cache_dir,
            read_only=self.read_only,
        )

    def namespaces(self) -> list[str]:
        """Return the namespaces of the index, sorted."""
        return [self.namespace] if self._path == MEMORY else namespaces_at(self._path)

    def close(self) -> None:
        """Release files and connections; a closed index raises ClosedIndexError."""
        self._database.close()

    def __repr__(self) -> str:
        return f"HebbianIndex({self._path!r}, namespace={self.namespace!r})"

    aadd = in_thread(WritingVerbs.add)
    arefresh = in_thread(WritingVerbs.refresh)
    adelete = in_thread(WritingVerbs.delete)
    arecall = in_thread(AskingVerbs.recall)
    areinforce = in_thread(TeachingVerbs.reinforce)


def _check_models(embedder: object, tagger: object, settings: object) -> None:
    """Raise ParameterError unless these can do what they are for."""
    kind: Any
    for name, given, kind, example in (
        ("embedder", embedder, Embedder, "SentenceTransformerEmbedder(name)"),
        ("tagger", tagger, Callable, "LLMTagger(ask)"),
        ("settings", settings, Settings, "Settings(quorum=2)"),
    ):
        if given is not None and (isinstance(given, type) or not isinstance(given, kind)):
            raise ParameterError(f"{name} cannot be {given!r:.80}; write {name}={example}")


def _agreed(meta: dict[str, str], settings: Settings, path: str) -> Settings:
    """Return the settings to use; raise ParameterError where they differ from the stored ones."""
    if (version := meta.get("schema_version", str(SCHEMA_VERSION))) != str(SCHEMA_VERSION):
        raise NotAnIndexError(
            f"{path} has schema {version}, this hebbgraph reads {SCHEMA_VERSION}; open it with the "
            "version that made it"
        )
    built = loaded(meta.get("settings", "{}"))
    for name, value in settings.build().items():
        if name in settings.model_fields_set and name in built and built[name] != value:
            raise ParameterError(
                f"{path} was built with {name}={built[name]!r}, got {value!r}; omit the setting, "
                "or make a new index"
            )
    return Settings(**{**built, **settings.model_dump(include=settings.model_fields_set)})
