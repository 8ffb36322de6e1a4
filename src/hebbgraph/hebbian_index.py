"""HebbianIndex: the verbs people use daily, and the rooms at hand for everything else."""

from __future__ import annotations

import os
import warnings
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hebbgraph.calling import in_thread
from hebbgraph.errors import ParameterError
from hebbgraph.index import CoreIndex

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

__all__ = ["MOVED", "HebbianIndex", "Moved", "public_members"]


#: Where methods of earlier versions are now: the room, and the method's name there.
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


class Moved:
    """A method's old name, until 0.3: it warns, and returns the method of the room."""

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


class HebbianIndex(CoreIndex):
    """A retriever over a tagged graph of chunks; see :meth:`open`.

    Safe to use from many threads of one process; after a fork, open another. Every blocking
    method has an async twin (``arecall`` for ``recall``) that runs it in a thread; an embedder's
    ``aembed_query`` and ``aembed_documents`` are awaited on the caller's event loop.

    What is not needed daily is at hand in four rooms, each with async twins too: :attr:`tags`,
    :attr:`log`, :attr:`inspect` and :attr:`maintenance`.

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
        """The tags: ``find``, ``around``, ``correct``, ``corrections``, ``undo``."""
        from hebbgraph.inspect.tags import Tags

        return Tags(self)

    @cached_property
    def log(self) -> Log:
        """The feedback log: ``export``, ``import_``, ``forgotten``, ``undo_forget``."""
        from hebbgraph.inspect.log import Log

        return Log(self)

    @cached_property
    def inspect(self) -> Inspection:
        """How recalls came about: ``trace``, ``learned``, ``lesson_report``, ``colonies``, …"""
        from hebbgraph.inspect.view import Inspection

        return Inspection(self)

    @cached_property
    def maintenance(self) -> Maintenance:
        """Once in a while: ``doctor``, ``backup``, ``prune``, ``reembed``, ``retag``."""
        from hebbgraph.inspect.maintenance import Maintenance

        return Maintenance(self)

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
        return self.inspect.explain(recall, chunk_id)

    def stats(self) -> Stats:
        """Count chunks, tags and edges; see :class:`~hebbgraph.Stats`."""
        return self.inspect.stats()

    aexplain = in_thread(explain)
    astats = in_thread(stats)

    # -- backups of a place, open or not -----------------------------------------------

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
        await in_thread(HebbianIndex.restore)(backup, location)


for _name in MOVED:
    if _name != "tags":  # which is a room now, and warns when it is called
        setattr(HebbianIndex, _name, Moved(_name))
    setattr(HebbianIndex, f"a{_name}", Moved(f"a{_name}"))


def public_members() -> dict[str, Any]:
    """Return all that a HebbianIndex has in public, by name, as its classes define it."""
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
    """Add what joins languages and spellings, as far as the settings ask for it."""
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
