"""The verbs that teach."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from hebbgraph.errors import NotFoundError, ParameterError, StorageError
from hebbgraph.index.session import OpenNamespace, listed
from hebbgraph.learning import teaching
from hebbgraph.learning.fitting import evaluate, fit_if_due
from hebbgraph.records import Evaluation, Lesson, Recall, storable
from hebbgraph.records.base import check_name


class TeachingVerbs(OpenNamespace):
    """``reinforce``, ``forget``, ``lessons`` and their kin."""

    def reinforce(
        self,
        recall: Recall | str,
        cited: Iterable[str] = (),
        rejected: Iterable[str] = (),
        *,
        rating: float | None = None,
        shown: Iterable[str] | None = None,
        actor: str | None = None,
        trusted: bool = False,
        reason: str | None = None,
    ) -> Lesson:
        """Learn from an answer: which chunks it cites, and which were wrong.

        Parameters
        ----------
        recall : Recall or str
            Of this index; it may have been sent. Or the id of one that was kept, or of its answer.
        cited, rejected : iterable of str
            Ids of chunks. Citing all of five or more shown chunks teaches nothing.
        rating : float, in [-1, 1], optional
            How good the cited chunks were; below 0 they count as rejected. Weighs the whole lesson.
        shown : iterable of str, optional
            The chunks in the prompt; by default all hits.
        actor : str, optional
            Who says it. Use names that come from authentication. The last lesson of an actor on a
            question replaces the former, so say all that is cited and rejected in one call.
        trusted : bool
            Whether the application, or an editor, vouches for it: it counts at once.
        reason : str, optional
            Kept and listed.

        Returns
        -------
        Lesson
            ``note`` says why nothing is learned, if so; then it is not stored.

        Raises
        ------
        LessonError
            If a chunk is no hit and not in the index, or the recall is of another namespace.
        """
        self._check_text_version()
        if isinstance(recall, str):
            recall = self._kept(recall)
        self._check_recall(recall)
        if actor is not None:
            check_name(actor, "actor")
        if reason is not None and not isinstance(reason, str):
            raise ParameterError(f"reason is a str, got {reason!r:.80}")
        said = listed(cited, "cited"), listed(rejected, "rejected")
        good, bad, weight = teaching.rated(*said, rating)
        visible = [hit.id for hit in recall.hits] if shown is None else listed(shown, "shown")
        with self._database.read() as session:
            digests = teaching.digests_of(session, recall, [*good, *bad, *visible])
        lesson = Lesson(
            id=uuid.uuid4().hex,
            recall=recall.id,
            question=recall.question,
            cited={id_: digests[id_] for id_ in good},
            rejected={id_: digests[id_] for id_ in bad},
            shown=len(visible),
            weight=weight,
            actor=actor,
            trusted=trusted,
            reason=None if reason is None else storable(reason),
            created=time.time(),
            note=teaching.why_nothing(recall, good, bad, visible, weight),
        )
        if not lesson.note:
            with self._database.write() as session:
                teaching.reinforce(session, recall, lesson, self.settings)
            fit_if_due(self._database, quorum=self.settings.quorum)
        return lesson

    def forget(
        self,
        lesson: str | None = None,
        *,
        actor: str | None = None,
        chunk: str | None = None,
        since: float | None = None,
        until: float | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> int:
        """Forget lessons that fit all arguments; the index is as if they had never been.

        Raises
        ------
        ParameterError
            Without an argument.
        """
        chosen = _checked(lesson=lesson, actor=actor, chunk=chunk, since=since, until=until)
        if not everything and all(value is None for value in chosen.values()):
            raise ParameterError("forget takes a lesson, actor=, chunk=, since=, until=, or "
                                 "everything=True")  # fmt: skip
        with self._database.write() as session:
            n = teaching.forget(session, chosen, quorum=self.settings.quorum, dry_run=dry_run)
        if not dry_run:  # if nothing is left to forget, this ends what was interrupted
            self._database.erase_log(self.settings.wait)
            fit_if_due(self._database, quorum=self.settings.quorum, anew=n > 0)
        return n

    def lessons(
        self,
        *,
        actor: str | None = None,
        chunk: str | None = None,
        recall: str | Iterable[str] | None = None,
        since: float | None = None,
        until: float | None = None,
    ) -> list[Lesson]:
        """Return the lessons that fit all arguments, from the first to the last.

        ``note`` says why a lesson moves nothing, if so.
        """
        chosen = _checked(actor=actor, chunk=chunk, since=since, until=until)
        if recall is not None:
            chosen["recall"] = listed(recall, "recall")
        with self._database.read() as session:
            return teaching.listed_lessons(session, chosen, self.settings)

    def keep(self, recall: Recall, *, answer: str | None = None) -> None:
        """Keep a recall, so that its id, or that of the answer it was for, can be judged later.

        The newest 10,000 are kept, without texts and filters.

        Raises
        ------
        LessonError
            If another question has the same id.
        """
        self._check_recall(recall)
        with self._database.write() as session:
            teaching.keep(session, recall, answer)

    def kept(self, id: str) -> list[Recall]:
        """Return the recalls that were kept under their own id, or that of an answer."""
        with self._database.read() as session:
            return teaching.kept(session, id)

    def _kept(self, id_: str) -> Recall:
        recalls = self.kept(id_)
        named = [recall for recall in recalls if recall.id == id_] or recalls
        if len(named) != 1:
            raise NotFoundError(
                f"{len(named)} recalls {id_!r:.80} are kept; the first argument is a Recall, or "
                "the id of one that keep(recall) has kept"
            )
        return named[0]

    def evaluate(self) -> Evaluation:
        """Ask past questions again without what was taught for them, with and without lessons."""
        return evaluate(self._database, quorum=self.settings.quorum)

    def export_lessons(self, path: str | Path) -> int:
        """Write all lessons to a file, a line of JSON each; return how many."""
        n = 0
        with self._database.read() as session, _opened(path, "w") as file:
            for line in teaching.export_lessons(session):
                file.write(line + "\n")
                n += 1
        return n

    def import_lessons(self, path: str | Path) -> int:
        """Teach the lessons of such a file that the index does not hold; return how many.

        Raises
        ------
        LessonError
            If a line is no lesson; batches of 5,000 before it are kept.
        """
        self._check_text_version()
        with _opened(path, "r") as file:
            n = teaching.import_lessons(self._database, file, quorum=self.settings.quorum)
        fit_if_due(self._database, quorum=self.settings.quorum)
        return n


def _checked(**chosen: Any) -> dict[str, Any]:
    """Return what lessons are chosen by; raise ParameterError for a wrong type."""
    for name, value in chosen.items():
        types = (int, float) if name in ("since", "until") else (str,)
        if value is not None and (not isinstance(value, types) or value != value):  # NaN
            raise ParameterError(f"{name} is a {types[-1].__name__}, got {value!r:.80}")
    return chosen


def _opened(path: str | Path, mode: str) -> TextIO:
    try:
        return Path(path).open(mode, encoding="utf-8", errors="replace")  # type: ignore[return-value]
    except OSError as error:
        raise StorageError(f"the file {path} cannot be opened: {error.strerror}") from error
