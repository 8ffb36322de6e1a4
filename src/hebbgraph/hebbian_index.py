"""HebbianIndex: the daily verbs, and the rooms ``tags``, ``log``, ``inspect``, ``maintenance``."""

from __future__ import annotations

import os
import warnings
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hebbgraph.calling import in_thread
from hebbgraph.errors import ParameterError
from hebbgraph.index import CoreIndex
from hebbgraph.index.forgetting import ForgettingVerbs

if TYPE_CHECKING:
    from hebbgraph.derived.colonies import Colonies
    from hebbgraph.inspect.log import Log
    from hebbgraph.inspect.maintenance import Maintenance
    from hebbgraph.inspect.statistics import Stats
    from hebbgraph.inspect.tags import Tags
    from hebbgraph.inspect.view import Inspection
    from hebbgraph.namespace import Namespace
    from hebbgraph.records import Recall
    from hebbgraph.records.explanations import Explanation

__all__ = ["MOVED", "HebbianIndex", "MovedMethod", "public_members"]


#: Room and new name of each method of earlier versions.
MOVED = {
    "tags": ("tags", "find"),
    "neighborhood": ("tags", "around"),
    "correct_tags": ("tags", "correct"),
    "tag_corrections": ("tags", "corrections"),
    "undo_tag_correction": ("tags", "undo"),
    "export_feedback": ("log", "export"),
    "import_feedback": ("log", "import_"),
    "forgotten": ("log", "forgotten"),
    "undo_forget": ("log", "undo_forget"),
    "trace": ("inspect", "trace"),
    "learned": ("inspect", "learned"),
    "lesson_report": ("inspect", "lesson_report"),
    "colonies": ("inspect", "colonies"),
    "to_networkx": ("inspect", "to_networkx"),
    "doctor": ("maintenance", "doctor"),
    "backup": ("maintenance", "backup"),
    "prune": ("maintenance", "prune"),
    "reembed": ("maintenance", "reembed"),
    "retag": ("maintenance", "retag"),
}


class MovedMethod:
    """The old name of a method, until 0.3: warns and returns the room's method."""

    def __init__(self, name: str) -> None:
        self.name = name
        twin = name not in MOVED
        room, method = MOVED[name[1:] if twin else name]
        self.room, self.method = room, f"a{method}" if twin else method
        self.__doc__ = f"Deprecated: ``index.{self.room}.{self.method}``; this name goes in 0.3."

    def __get__(self, index: HebbianIndex | None, owner: type | None = None) -> Any:
        """Return the room's method; on the class, this object."""
        if index is None:
            return self
        warnings.warn(
            f"index.{self.name} is index.{self.room}.{self.method} now; the old name goes in 0.3",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(getattr(index, self.room), self.method)


class HebbianIndex(CoreIndex, ForgettingVerbs):
    """A retriever over a tagged graph of chunks; see :meth:`open`.

    Safe to use from many threads of one process; after a fork, open another one. Every blocking
    method has an async twin (``arecall`` for ``recall``) that runs it in a thread; an embedder's
    ``aembed_query`` and ``aembed_documents`` are awaited on the caller's event loop.

    Less common methods, with async twins too, are in :attr:`tags`, :attr:`log`, :attr:`inspect`
    and :attr:`maintenance`.

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
        if isinstance(parts, str | os.PathLike):
            raise ParameterError(f"an index is opened: HebbianIndex.open({str(parts)!r})")
        from hebbgraph.recall.step_list import StepList

        _join_languages(parts)
        parts.make_colonies = partial(_colonies, parts)
        super().__init__(parts, StepList(parts))

    @cached_property
    def tags(self) -> Tags:
        """Tags: ``find``, ``around``, ``correct``, ``corrections``, ``undo``."""
        from hebbgraph.inspect.tags import Tags

        return Tags(self)

    @cached_property
    def log(self) -> Log:
        """The feedback log: ``export``, ``import_``, ``forgotten``, ``undo_forget``."""
        from hebbgraph.inspect.log import Log

        return Log(self)

    @cached_property
    def inspect(self) -> Inspection:
        """Looking inside: ``trace``, ``learned``, ``lesson_report``, ``colonies``, …"""
        from hebbgraph.inspect.view import Inspection

        return Inspection(self)

    @cached_property
    def maintenance(self) -> Maintenance:
        """Maintenance: ``doctor``, ``backup``, ``prune``, ``reembed``, ``retag``."""
        from hebbgraph.inspect.maintenance import Maintenance

        return Maintenance(self)

    def explain(self, recall: Recall | str, chunk_id: str) -> Explanation:
        """Explain why a recall ranked a chunk as it did, among chunks that pass its filter.

        Parameters
        ----------
        recall : Recall, or the id of a recent one
        chunk_id : str
            Any chunk, not only a hit.

        Raises
        ------
        NotFoundError
            If there is no such recall or chunk.
        """
        return self.inspect.explain(recall, chunk_id)

    def stats(self) -> Stats:
        """Count chunks, tags and edges; see :class:`~hebbgraph.Stats`."""
        return self.inspect.stats()

    aexplain = in_thread(explain)
    astats = in_thread(stats)

    # -- backups ------------------------------------------------------------------------

    @staticmethod
    def restore(backup: str | Path, location: str | Path, *, force: bool = False) -> None:
        """Restore an index with all its namespaces from a backup.

        With ``force``, replace an existing index. Other processes may have it open; their next
        recall sees the restored state.

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
        await in_thread(HebbianIndex.restore)(backup, location)


for _name in MOVED:
    if _name != "tags":  # now a room, which warns when called
        setattr(HebbianIndex, _name, MovedMethod(_name))
    setattr(HebbianIndex, f"a{_name}", MovedMethod(f"a{_name}"))


def public_members() -> dict[str, Any]:
    """Return the public members of HebbianIndex and its base classes, by name."""
    members = {
        name: value for kind in reversed(HebbianIndex.__mro__) for name, value in vars(kind).items()
    }
    return {name: value for name, value in members.items() if not name.startswith("_")}


def _colonies(parts: Namespace) -> Colonies:
    from hebbgraph.derived.colonies import Colonies

    return Colonies(
        parts.directory,
        parts.settings.colonies,
        writable=not parts.database.read_only,
        leads_to=parts.truth.history.leads_to,
    )


def _join_languages(parts: Namespace) -> None:
    """Add the parts that join languages and spellings, if the settings ask for them."""
    settings = parts.settings
    if settings.across_languages:
        from hebbgraph.derived.languages import Languages

        parts.languages = Languages(parts.truth)
        if "translations" in settings.aliases:
            from hebbgraph.derived.translations import Translations

            parts.translations = Translations(parts.languages, parts.embed_phrases)
    if settings.aliases or settings.glossary:
        from hebbgraph.graph.aliases import Aliases
        from hebbgraph.graph.foreign import ForeignNames

        scripts = "scripts" in settings.aliases
        parts.foreign = ForeignNames(settings.glossary, scripts=scripts) or None
        parts.aliases = Aliases(
            settings.aliases,
            weight=settings.alias_weight,
            language=settings.language,
            embed=parts.embed_phrases,
            glossary=settings.glossary,
            translated=None if parts.translations is None else parts.translations.pairs,
        )
