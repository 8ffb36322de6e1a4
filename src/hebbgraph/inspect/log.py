"""``index.log``: the feedback log in and out of a file, and what was forgotten put back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, TYPE_CHECKING

from hebbgraph.arguments import check_ids
from hebbgraph.calling import in_thread
from hebbgraph.errors import ParameterError
from hebbgraph.records import Forgetting
from hebbgraph.store.places import as_directory

if TYPE_CHECKING:
    from hebbgraph.index import CoreIndex

__all__ = ["Log"]


class Log:
    """The feedback log of an index.

    Parameters
    ----------
    index : CoreIndex
    """

    def __init__(self, index: CoreIndex) -> None:
        self._index = index

    def export(self, file: str | Path | IO[str]) -> int:
        """Write the feedback log as JSON lines; return how many.

        Parameters
        ----------
        file : path, or text file open for writing
        """
        self._index._check_exists()
        _check_file(file, "write")
        return self._index._teacher.export(file)

    def import_(self, file: str | Path | IO[str], *, origin: str = "import") -> int:
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
        self._index._check_open()
        _check_file(file, "__iter__")
        return self._index._teacher.import_(file, origin)

    def forgotten(self) -> list[Forgetting]:
        """List what :meth:`undo_forget` can put back, the latest first.

        That is what this object forgot in the last ten minutes: at most twenty times, and 64 MB.
        """
        self._index._check_exists()
        return self._index._teacher.forgotten()

    def undo_forget(self, forgetting: Forgetting | str) -> int:
        """Put back what one ``forget`` took; return how many records.

        They return to their places in the log, so what was learned is as if nothing had been
        forgotten. What the same actor has said since of the same recall stands, and names of what
        was deleted since are not brought back. It is kept in memory alone: there is no way back
        after ``close``, ``compact`` or ``erase=True``.

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
        ...     back = index.log.undo_forget(index.log.forgotten()[0])
        ...     taken, back, len(index.lessons())
        (1, 1, 1)
        """
        self._index._check_exists()
        id_ = forgetting.id if isinstance(forgetting, Forgetting) else forgetting
        return self._index._teacher.undo_forget(check_ids([id_], "the id of a forgetting")[0])

    aexport = in_thread(export)
    aimport_ = in_thread(import_)
    aforgotten = in_thread(forgotten)
    aundo_forget = in_thread(undo_forget)


def _check_file(file: object, method: str) -> None:
    """Raise ParameterError unless it is a path or, by one of its methods, an open text file."""
    if isinstance(file, str | os.PathLike):
        as_directory(file, "file")
    elif not hasattr(file, method) or isinstance(file, bytes | dict):
        raise ParameterError(f"file is a path or an open text file, got {file!r:.80}")
