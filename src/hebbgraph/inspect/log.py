"""``index.log``: export and import the feedback log, and undo ``forget``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from hebbgraph.arguments import check_ids
from hebbgraph.artifacts import whole_file
from hebbgraph.calling import in_thread
from hebbgraph.errors import FeedbackError, ParameterError
from hebbgraph.inspect.room import Room
from hebbgraph.learning.feedback import feedback_digest, read_feedback
from hebbgraph.limits import MAX_ID
from hebbgraph.namespace import Namespace
from hebbgraph.records import Feedback, Forgetting
from hebbgraph.store.chunks import pages
from hebbgraph.store.database import translated_os
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
        parts = self._parts()
        _check_file(file, "write")
        if not isinstance(file, str | os.PathLike):
            return _write(parts, file)
        with (
            translated_os(str(file)),
            whole_file(Path(file)) as partial,
            partial.open("w", encoding="utf-8") as stream,
        ):
            return _write(parts, stream)

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
        if not (
            isinstance(origin, str)
            and origin.strip()
            and origin.isprintable()
            and len(origin) <= MAX_ID
        ):
            raise ParameterError(
                f"an origin is a printable str of at most {MAX_ID} characters, got {origin!r:.80}"
            )
        if not isinstance(file, str | os.PathLike):
            return self._read(file, origin)
        with translated_os(str(file)), Path(file).open(encoding="utf-8") as stream:
            return self._read(stream, origin)

    def forgotten(self) -> list[Forgetting]:
        """List what :meth:`undo_forget` can restore, the latest first.

        These are calls of ``forget`` on this object in the last ten minutes, at most twenty of
        them and at most 64 MB.
        """
        self._index._check_exists()
        return self._index._teacher.forgotten.records()

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
        check_ids([id_], "the id of a forgetting")
        teacher = self._index._teacher
        rows = []
        for row in teacher.forgotten.removed_by(id_):
            feedback = row.feedback
            if not feedback.origin:
                feedback = teacher.without_gone_phrases(feedback)
            rows.append(row if feedback is row.feedback else row.rewritten(feedback))
        restored = self._index._parts.log.restore(rows)
        teacher.forgotten.drop(id_)
        teacher.expire_queries()
        return restored

    def _read(self, stream: Iterable[str], origin: str) -> int:
        parts = self._index._parts
        checked = list(_checked(parts, stream, origin))
        parts.make()
        entries = [(feedback, feedback_digest(feedback)) for feedback in checked]
        added = 0
        for batch in pages(entries):
            added += sum(new for _, new in parts.log.append(batch))
        self._index._teacher.expire_queries()
        return added

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


def _write(parts: Namespace, stream: IO[str]) -> int:
    count = 0
    for _, feedback in parts.log.after(0):
        stream.write(feedback.model_dump_json(exclude_none=True) + "\n")
        count += 1
    return count


def _checked(parts: Namespace, stream: Iterable[str], origin: str) -> Iterator[Feedback]:
    settings = parts.settings.learning
    seen: set[str] = set()
    for number, line in _lines(stream):
        if not isinstance(line, str):
            raise FeedbackError(f"line {number} is no text: {line!r:.80}")
        if not line.strip():
            continue
        feedback = read_feedback(line, number=number)
        if settings.require_actor and feedback.actor is None:
            raise FeedbackError(f"line {number}: feedback must name its actor here")
        if feedback.id in seen:
            raise FeedbackError(f"line {number}: id {feedback.id!r} occurs twice")
        seen.add(feedback.id)
        yield feedback.model_copy(
            update={
                "namespace": parts.name,
                "origin": feedback.origin or origin,
                "query": feedback.query if settings.store_queries else None,
            }
        )


def _lines(stream: Iterable[str]) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        for number, line in enumerate(stream, start=1):
            yield number, line
    except UnicodeDecodeError as error:
        raise FeedbackError(f"line {number + 1}: is not UTF-8 text ({error.reason})") from error
