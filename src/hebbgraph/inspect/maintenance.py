"""``index.maintenance``: checks, backups, and recomputing vectors and tags."""

from __future__ import annotations

from pathlib import Path

from hebbgraph.calling import in_thread
from hebbgraph.errors import ParameterError
from hebbgraph.ingest import OnProgress
from hebbgraph.ingest.rewriting import reembed, retag
from hebbgraph.inspect.doctor import examine
from hebbgraph.inspect.room import Room
from hebbgraph.learning.survey import survey
from hebbgraph.learning.weighing import MIN_WEIGHT
from hebbgraph.protocols import Embedder, Tagger
from hebbgraph.records import AddReport, DoctorReport, PruneReport
from hebbgraph.store.backup import back_up
from hebbgraph.store.feedback_log import Selection
from hebbgraph.store.places import as_directory

__all__ = ["Maintenance"]


class Maintenance(Room):
    """What an index needs once in a while."""

    def doctor(self, *, repair: bool = False) -> DoctorReport:
        """Check the index against a rebuild in memory.

        Checked are the database itself, the digest of each chunk, the feedback log, checksums,
        vocabulary, postings, document frequencies, the lexical index, vectors, learned weights and
        the file of colonies. This takes as much time and memory as building the index.

        Parameters
        ----------
        repair : bool
            Rebuild derived parts that are wrong, and set a damaged file of colonies aside. A
            damaged database must be restored from a backup.

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add(["Owls hunt at night."])
        ...     index.maintenance.doctor().ok
        True
        """
        return examine(self._parts(), repair=repair)

    def backup(self, path: str | Path) -> Path:
        """Copy the database into a new directory; others may write meanwhile.

        The copy holds all namespaces with their feedback and opens like any index, which builds
        its derived parts. See ``HebbianIndex.restore``. For PostgreSQL, use ``pg_dump``.
        """
        self._index._check_open()
        return back_up(self._index._parts.database, as_directory(path, "the backup"))

    def prune(self, min_weight: float | None = None, *, dry_run: bool = True) -> PruneReport:
        """Report learned edges that are too weak to count, and feedback without effect.

        Parameters
        ----------
        min_weight : float, in [0, 1], optional
            By default, the weight below which recalls ignore an edge.
        dry_run : bool
            If False, erase feedback whose edges are all weak or masked.
        """
        threshold = MIN_WEIGHT if min_weight is None else min_weight
        if not (isinstance(threshold, int | float) and 0.0 <= threshold <= 1.0):
            raise ParameterError(f"min_weight lies in [0, 1], got {min_weight!r}")
        parts = self._parts()
        parts.derived.keep_up()
        parts.memory.refresh(parts.derived.feedback)
        with parts.derived.reading():
            report, idle = survey(parts.memory, parts.derived.graph, float(threshold))
        if dry_run or not idle:
            return report
        erased = parts.log.remove(Selection(ids=idle))
        return report.model_copy(update={"erased": len(erased)})

    def reembed(
        self,
        embedder: Embedder | None = None,
        *,
        show_progress: bool = False,
        on_progress: OnProgress = None,
    ) -> int:
        """Compute the missing vectors of an embedder; return how many were computed.

        An interrupted run continues where it stopped. A new model takes effect at once; only
        lexical search finds a chunk until its new vector exists.

        Parameters
        ----------
        embedder : object, optional
            By default, the one that the index was opened with.
        show_progress, on_progress
            As for ``index.add``.
        """
        return reembed(
            self._parts(), embedder, show_progress=show_progress, on_progress=on_progress
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
        the tagger. Stored answers of a language model are reused, so an interrupted run continues
        where it stopped. A chunk keeps its old tags until its batch is done.

        Parameters
        ----------
        tagger : callable, optional
            The new tagger. By default, the one that the index was opened with, if any.
        show_progress, on_progress
            As for ``index.add``.

        Returns
        -------
        AddReport
            ``replaced`` counts the chunks whose tags changed.
        """
        return retag(self._parts(), tagger, show_progress=show_progress, on_progress=on_progress)

    adoctor = in_thread(doctor)
    abackup = in_thread(backup)
    aprune = in_thread(prune)
    areembed = in_thread(reembed)
    aretag = in_thread(retag)
