"""An answer with its recalls: what it cites, and which recall gets the credit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from hebbgraph.citations.answer import Denials, Reading, is_message, leaves, read_answer
from hebbgraph.citations.passages import PassageLike, first_field, read_prompt, shown_in
from hebbgraph.records import Lesson, Recall, Shown

#: An answer whose citations were turned into links still has most of its words.
_MOST_WORDS = 0.8
#: Where a dict, or the state of a graph, holds the answer.
_ANSWER = "answer", "output", "response", "result"


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
    named = first_field(output, *_ANSWER)
    text = read_prompt(output)[0] or read_prompt(named)[0]
    is_whole = bool(text) or isinstance(named, str)  # or a guard emptied it
    parts = () if is_whole or is_message(output) else leaves(output)
    fields = [text] if is_whole else [part for _, part in parts if isinstance(part, str)]
    words_of = {field: _words(field) for field in fields}
    every, answers = set[str]().union(*words_of.values()), list[Reply]()
    for reply in replies:
        said = read_prompt(reply.answer)[0]
        own = _words(said)
        is_kept = any(
            said in field or _is_most(own, words, is_whole=is_whole)
            for field, words in words_of.items()
        )
        parsed = _words(" ".join(str(part) for _, part in leaves(reply.answer)))
        if (own and is_kept) or (every and every <= parsed):
            answers.append(reply)
    # The application replaced the answer, or dropped it: its own text is read by the last keys.
    return answers or [replace(reply, answer=text) if fields else reply for reply in replies[-1:]]


def _is_most(own: set[str], words: set[str], *, is_whole: bool) -> bool:
    """Return whether most of a reply's words are here; if only a field is read, most of that."""
    return len(own & words) >= _MOST_WORDS * max(len(own), 0 if is_whole else len(words))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def read_replies(
    replies: Sequence[Reply], recalls: Sequence[Recall], denials: Denials, calls: Sequence[Reply]
) -> tuple[Outcome, dict[str, tuple[list[str], str]]]:
    """Read what replies cite; return also the chunks shown with each, and the prompt.

    An agent may repeat what its tools cite, each under keys of its own.
    """
    hits = {(hit.id, hit.text): hit for recall in recalls for hit in recall.hits}
    cited, shown, reason = dict[str, None](), dict[str, None](), Reason.NOTHING_CITED
    places: dict[str, tuple[list[str], str]] = {}
    for reply in replies:
        candidates = [*hits.values(), *reply.passages]
        seen = reply.shown or shown_in(reply.prompt, candidates)
        tools = () if seen.ids or cited else calls
        asked = [(call, shown_in(call.prompt, candidates)) for call in tools]
        for call, keys in [(call, keys) for call, keys in asked if keys.ids] or [(reply, seen)]:
            reading = read_answer(reply.answer, keys, candidates, denials=denials)
            own = reading if call is reply else read_answer(call.answer, keys, candidates)
            cited.update(dict.fromkeys(id_ for id_ in reading.cited if id_ in own.cited))
            prompt = read_prompt(call.prompt)[0]
            for key in reading.keys:
                if (id_ := keys.keys[key]) in own.cited:
                    places[id_] = _result(keys, key), prompt
            shown.update(dict.fromkeys(keys.ids))
            reason = _why_nothing(reading, keys)
    outcome = Outcome(reason=None if cited else reason, cited=tuple(cited), shown=tuple(shown))
    return outcome, places


def _result(shown: Shown, key: str) -> list[str]:
    """Return the chunks that one search showed, with that of a key: its numbers go on by one."""
    start = {name: int(name) - at for at, name in enumerate(shown.keys) if name.isdecimal()}
    return [
        id_ for name, id_ in shown.keys.items() if key in start and start.get(name) == start[key]
    ]


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
    cited: Iterable[str],
    shown: Iterable[str],
    recalls: Sequence[Recall],
    places: Mapping[str, tuple[Sequence[str], str]],
) -> Iterator[tuple[Recall, list[str], list[str]]]:
    """Yield recalls with the chunks that each is credited with, and those that it showed.

    A chunk is credited to the recall that found, in this order, what it is shown with, then to one
    whose question the prompt has. Else the best rank tells which question a chunk answers. Of equal
    ranks the latest recall counts: an agent searches again because it was not satisfied. Chunks
    that no recall found are credited to the last one.
    """
    ranks = [{hit.id: hit.rank for hit in recall.hits} for recall in recalls]
    owners: dict[str, int] = {}
    for id_ in cited:
        finders = []
        result, prompt = places.get(id_, ((), ""))
        for at, found in enumerate(ranks):
            if id_ in found:
                order = [found.get(other, 0) for other in result]
                is_other = not all(order) or order != sorted(order)
                finders.append((is_other, recalls[at].question not in prompt, found[id_], -at))
        owners[id_] = -min(finders)[-1] if finders else len(recalls) - 1
    for at, recall in enumerate(recalls):
        own = [id_ for id_, owner in owners.items() if owner == at]
        # What another recall is credited with was used, so it was not passed over.
        seen = [id_ for id_ in shown if id_ in ranks[at] and owners.get(id_, at) == at]
        if own:
            yield recall, own, seen
