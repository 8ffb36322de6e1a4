"""An answer with its recalls: what it cites, and which recall gets the credit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from hebbgraph.citations.answer import Denials, Reading, read_answer
from hebbgraph.citations.passages import PassageLike, read_prompt, shown_in
from hebbgraph.records import Lesson, Recall, Shown

#: An answer whose citations were turned into links still has most of its words.
_MOST_WORDS = 0.8


class Reason(StrEnum):
    """Why an answer or a verdict teaches nothing."""

    NOTHING_SHOWN = "the prompt shows no recalled chunk"
    NO_KEYS = "no chunk has a key in the prompt; use format_documents or CitationFormatter"
    NOT_A_KEY = "it cites no key of the prompt"
    NOTHING_CITED = "it cites nothing"
    DENIED = "it says that the passages do not help"
    NOTED = "the index learns nothing from it"
    UNKNOWN_ANSWER = "no answer with this id is kept"
    REFUSED = "it could not be read or stored"
    DROPPED = "too many answers are waiting to be learned"


#: Mistakes of the application: the first of each is logged as a warning.
MISTAKES = (Reason.NOTHING_SHOWN, Reason.NO_KEYS, Reason.REFUSED, Reason.DROPPED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of an answer or a verdict.

    Attributes
    ----------
    lessons : tuple of Lesson
        One for each recall that was credited.
    reason : Reason, optional
        Why there are none; ``detail`` is what the index says about it.
    cited, shown : tuple of str
        Chunks that the answer cites, and those that its prompt shows.
    answer_id : str, optional
    """

    lessons: tuple[Lesson, ...] = ()
    reason: Reason | None = None
    detail: str = ""
    cited: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    answer_id: str | None = None

    @property
    def code(self) -> str:
        """``"learned"``, or the reason in a word: ``"no_keys"``."""
        return "learned" if self.reason is None else self.reason.name.lower()

    def with_lessons(self, lessons: Sequence[Lesson]) -> Outcome:
        """Add the lessons that an index stored, or its note why it learns nothing."""
        taught = tuple(lesson for lesson in lessons if not lesson.note)
        if lessons and not taught:
            return replace(self, reason=Reason.NOTED, detail=lessons[0].note)
        return replace(self, lessons=taught, reason=None if taught else self.reason)


@dataclass(frozen=True, slots=True)
class Reply:
    """One call of a model: what it answered, and what it was given.

    Attributes
    ----------
    answer : str, message or object
        As for :func:`~hebbgraph.citations.read_answer`.
    prompt : str or messages
    passages : sequence of Passage
        Other texts by which the prompt may show chunks: parts, parents, texts with metadata.
    shown : Shown, optional
        What the prompt shows, if it cannot be read from the prompt.
    """

    answer: Any
    prompt: Any = ""
    passages: Sequence[PassageLike] = ()
    shown: Shown | None = None


def reached(replies: Sequence[Reply], output: Any) -> list[Reply]:
    """Return the replies that reached the user: drafts, gradings and failed tries did not."""
    text = read_prompt(output)[0]
    words = _words(text)
    if not words or not replies:
        return list(replies[-1:])
    reached = []
    for reply in replies:
        said = _words(read_prompt(reply.answer)[0])
        is_said = bool(said) and len(said & words) >= _MOST_WORDS * len(said)
        if is_said or words <= said:  # or a parser took the output out of the reply
            reached.append(reply)
    # The application may have replaced the answer: its own text is read by the last keys.
    return reached or [replace(replies[-1], answer=text)]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def read_replies(
    replies: Sequence[Reply], recalls: Sequence[Recall], denials: Denials, prompts: Sequence[Any]
) -> Outcome:
    """Read what replies cite of the chunks of recalls; an agent may repeat a tool's citations."""
    hits = {(hit.id, hit.text): hit for recall in recalls for hit in recall.hits}
    cited, shown, reason = dict[str, None](), dict[str, None](), Reason.NOTHING_CITED
    for reply in replies:
        candidates = [*hits.values(), *reply.passages]
        seen = reply.shown or shown_in(reply.prompt, candidates)
        seen = seen if seen.ids else shown_in(prompts, candidates)
        reading = read_answer(reply.answer, seen, candidates, denials=denials)
        cited.update(dict.fromkeys(reading.cited))
        shown.update(dict.fromkeys(seen.ids))
        reason = _why_nothing(reading, seen)
    return Outcome(reason=None if cited else reason, cited=tuple(cited), shown=tuple(shown))


def _why_nothing(reading: Reading, shown: Shown) -> Reason:
    """Return the reason that best tells an application what to fix."""
    if reading.denied:
        return Reason.DENIED
    if not shown.ids:
        return Reason.NOTHING_SHOWN
    if not (shown.keys or shown.blocks) or not {*shown.ambiguous}.isdisjoint(reading.unknown):
        return Reason.NO_KEYS
    return Reason.NOT_A_KEY if reading.unknown else Reason.NOTHING_CITED


def credited(
    cited: Iterable[str], shown: Iterable[str], recalls: Sequence[Recall]
) -> Iterator[tuple[Recall, list[str], list[str]]]:
    """Yield recalls with the chunks that each is credited with, and those that it showed.

    The best rank tells which question a chunk answers. Of equal ranks the latest recall counts: an
    agent searches again because it was not satisfied. Chunks that no recall found are credited to
    the last one.
    """
    ranks = [{hit.id: hit.rank for hit in recall.hits} for recall in recalls]
    owners: dict[str, int] = {}
    for id_ in cited:
        finders = [(found[id_], -at) for at, found in enumerate(ranks) if id_ in found]
        owners[id_] = -min(finders)[1] if finders else len(recalls) - 1
    for at, recall in enumerate(recalls):
        own = [id_ for id_, owner in owners.items() if owner == at]
        # What another recall is credited with was used, so it was not passed over.
        seen = [id_ for id_ in shown if id_ in ranks[at] and owners.get(id_, at) == at]
        if own:
            yield recall, own, seen
