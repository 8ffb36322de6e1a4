"""``index.log``: export and import the feedback log, and undo ``forget``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from hebbgraph.arguments import check_ids
from hebbgraph.calling import in_thread
from hebbgraph.errors import ParameterError
from hebbgraph.inspect.room import Room
from hebbgraph.records import Forgetting
from hebbgraph.store.places import as_directory

__all__ = ["Log"]


class Log(Room):
    """The feedback log of an index."""

    def export(self, file: str | Path | IO[str]) -> int:
        """Write the feedback log as JSON lines; return the number of lines.

        Parameters
        ----------
        file : path, or text file open for writing
        """
        self._index._check_exists()
        _check_file(file, "write")
        return self._index._teacher.export(file)

    def import_(self, file: str | Path | IO[str], *, origin: str = "import") -> int:
        """Add feedback from JSON lines; return how many records were new.

        Known records are skipped. Limits on actors apply as usual. Feedback on a chunk has no
        effect while the chunk is missing or has another text. All lines are checked before any is
        written.

        Parameters
        ----------
        file : path, or text file open for reading
        origin : str
            Of records that name none.

        Raises
        ------
        FeedbackError
            With the number of the line.
        """
        self._index._check_open()
        _check_file(file, "__iter__")
        return self._index._teacher.import_(file, origin)

    def forgotten(self) -> list[Forgetting]:
        """List what :meth:`undo_forget` can restore, the latest first.

        These are calls of ``forget`` on this object in the last ten minutes, at most twenty of
        them and at most 64 MB.
        """
        self._index._check_exists()
        return self._index._teacher.forgotten()

    def undo_forget(self, forgetting: Forgetting | str) -> int:
        """Undo one ``forget``; return how many records came back.

        They return to their places in the log, so learning is as if nothing had been forgotten.
        Later feedback by the same actor on the same recall stands, and names of chunks that were
        deleted since are not restored. Forgotten records are kept in memory only: ``close``,
        ``compact`` and ``erase=True`` make forgetting final.

        Parameters
        ----------
        forgetting : Forgetting or its id

        Raises
        ------
        NotFoundError
            If there is none with this id, or it can no longer be undone.
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
