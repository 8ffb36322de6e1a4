"""``index.maintenance``: checks, backups, and what is computed anew."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hebbgraph.calling import in_thread
from hebbgraph.ingest import OnProgress
from hebbgraph.ingest.rewriting import reembed, retag
from hebbgraph.inspect.doctor import examine
from hebbgraph.protocols import Embedder, Tagger
from hebbgraph.records import AddReport, DoctorReport, PruneReport
from hebbgraph.store.backup import back_up
from hebbgraph.store.places import as_directory

if TYPE_CHECKING:
    from hebbgraph.index import CoreIndex

__all__ = ["Maintenance"]


class Maintenance:
    """What an index needs once in a while.

    Parameters
    ----------
    index : CoreIndex
    """

    def __init__(self, index: CoreIndex) -> None:
        self._index = index

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
        ...     index.maintenance.doctor().ok
        True
        """
        self._index._check_exists()
        return examine(self._index._parts, repair=repair)

    def backup(self, path: str | Path) -> Path:
        """Copy the database into a new directory, while others may go on writing.

        All namespaces, with their feedback. Derived parts are built when the copy is opened; it
        works like any index. See ``HebbianIndex.restore``. For SQLite; PostgreSQL has ``pg_dump``.
        """
        self._index._check_open()
        return back_up(self._index._parts.database, as_directory(path, "the backup"))

    def prune(self, min_weight: float | None = None, *, dry_run: bool = True) -> PruneReport:
        """Report which learned edges are too weak to count, and which feedback has no effect.

        Parameters
        ----------
        min_weight : float, in [0, 1], optional
            By default, the weight below which recalls ignore an edge.
        dry_run : bool
            If False, erase feedback whose edges are all weak or masked.
        """
        self._index._check_exists()
        return self._index._teacher.prune(min_weight, dry_run=dry_run)

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
            As for ``index.add``.
        """
        self._index._check_exists()
        return reembed(
            self._index._parts, embedder, show_progress=show_progress, on_progress=on_progress
        )

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
            As for ``index.add``.

        Returns
        -------
        AddReport
            ``replaced`` counts the chunks whose tags changed.
        """
        self._index._check_exists()
        return retag(
            self._index._parts, tagger, show_progress=show_progress, on_progress=on_progress
        )

    adoctor = in_thread(doctor)
    abackup = in_thread(backup)
    aprune = in_thread(prune)
    areembed = in_thread(reembed)
    aretag = in_thread(retag)
