"""A request and its answer, as an adapter passes it on; and what it teaches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from hebbgraph.citations.cited import (
    MAX_ANSWER_CHARACTERS,
    Cited,
    Judge,
    parse_annotations,
    parse_structured,
    read_citations,
    texts_in,
)
from hebbgraph.citations.credit import (
    Recalled,
    chunk_of,
    names_of,
    namespace_of,
    share_credit,
)
from hebbgraph.citations.markers import BRACKETS
from hebbgraph.citations.outcomes import Outcome, Reason
from hebbgraph.citations.rendered import Rendered, Source
from hebbgraph.citations.shown import rendered_in

__all__ = ["Exchange", "Reply", "sources_of", "still_says"]

#: A shorter reply ("yes") may occur in an unrelated output by chance.
_MIN_TELLING_CHARACTERS = 20
#: An answer whose citations are written otherwise, as names or links, still has most of its words.
_MOST_WORDS = 0.8
_MIN_WORDS = 3
#: Of more texts of one answer, the longest are compared.
_MOST_TEXTS = 100
_WORDS = re.compile(r"\w+")
_UNFINISHED = re.compile(r"[\[【][^\[\]【】]*\Z")
#: Ways to point to a source that are not read: footnotes, "(1)", "source 2", "the first source".
_POINTING = re.compile(
    r"(?:(?<=[^\W\d_]{4})|(?<=[.,;:!?)\]]))[¹²³⁴-⁹]|[①-⑳]|<sup>|\(\d{1,2}\)|\{\d{1,2}\}|\b(?:source|document|passage|reference|quelle|fuente|fonte)"
    r"s? #?\d|\b(?:first|second|third|last) (?:source|document|passage)|^sources?:",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One call of a model: what it was given, and what it answered.

    Attributes
    ----------
    text : str
        The answer.
    prompt : str
        All text it was given; keys are read from it.
    blocks : sequence of str
        The texts of native document blocks in the prompt, in order.
    structured : sequence
        Structured answers: the arguments of a tool call, a parsed object.
    annotations : sequence of dict
        Native citations; see :func:`~hebbgraph.citations.parse_annotations`.
    given : str
        The sources as an engine handed them to its prompt, which may not have been heard.
    rendered : Rendered, optional
        What the model was shown, if the adapter knows better than the prompt tells.
    """

    text: str = ""
    prompt: str = ""
    blocks: Sequence[str] = ()
    structured: Sequence[Any] = ()
    annotations: Sequence[Any] = ()
    given: str = ""
    rendered: Rendered | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    """A reply to a prompt with our chunks, and what it cites of them."""

    reply: Reply
    rendered: Rendered
    said: Cited
    cited: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Exchange:
    r"""A request, its recalls and its answer: all that decides what is learned.

    An adapter fills one from its framework's events; :meth:`outcome` is the same for all.

    Attributes
    ----------
    recalls : sequence of Recalled
        Those made for this answer, oldest first.
    replies : sequence of Reply
        The model calls, in order.
    output : sequence of str
        The texts that the application returned, if known.
    earlier : sequence of Recalled
        Those of earlier turns of the conversation, oldest first.
    foreign : sequence of Source
        Texts of other retrievers and of postprocessors that may be in the prompt, with their ids
        there. A key before one belongs to it. It teaches if a recall found its id, or an index
        holds it.
    asked : sequence of str
        The user's own words. A key that they name is no citation. The questions of the recalls
        count among them, unless a model wrote them.
    judge : callable, optional
        Says whether a source supports a sentence that names it; see :data:`Judge`.
    actor : str, optional
        Whom lessons are attributed to.
    trusted : bool
        Whether the application vouches for them.
    conversation : str, optional
        Later turns of it may cite what these recalls found.
    ids : sequence of str
        Names by which late feedback may refer to the answer.
    failed : bool
        The request failed: nobody got its answer.
    taught : set of str
        Chunks that the request has taught so far. Exchanges of one request share the set, so an
        answer repeated by an outer chain counts once.

    Examples
    --------
    >>> from hebbgraph import HebbianIndex
    >>> with HebbianIndex.open(":memory:") as index:
    ...     report = index.add([{"id": "owl", "text": "Owls hunt at night."}])
    ...     recall = index.recall("When do owls hunt?")
    ...     asked = Reply(prompt="[1] Owls hunt at night.\n\nWhen?", text="At night [1].")
    ...     outcome = Exchange(recalls=[Recalled(index, recall)], replies=[asked]).outcome()
    >>> outcome.lessons[0].cited
    ('owl',)
    """

    recalls: Sequence[Recalled] = ()
    replies: Sequence[Reply] = ()
    output: Sequence[str] = ()
    earlier: Sequence[Recalled] = ()
    foreign: Sequence[Source] = ()
    asked: Sequence[str] = ()
    judge: Judge | None = None
    actor: str | None = None
    trusted: bool = False
    conversation: str | None = None
    ids: Sequence[str] = ()
    failed: bool = False
    taught: set[str] = field(default_factory=set)

    def outcome(self) -> Outcome:
        """Read the answer, and credit the recalls with what it cites. Changes nothing.

        The answer is the replies that reached the user, whole or in part. If the application said
        something else in their place, as a guardrail does, that is the answer, read by the keys of
        the last prompt. If nobody knows what was said, because a stream was abandoned, it is the
        last reply that cites anything. Drafts, gradings and failed attempts teach nothing.
        """
        outcome = self._outcome()
        asked = frozenset(namespace_of(one.index) for one in self.recalls or self.earlier)
        return replace(outcome, names=tuple(self.ids), actor=self.actor, namespaces=asked)

    def _outcome(self) -> Outcome:
        if not (self.recalls or self.earlier):
            return Outcome(reason=Reason.NOTHING_RECALLED)
        if self.failed:
            return Outcome(reason=Reason.FAILED)
        if not self.replies:
            return Outcome(reason=Reason.NO_REPLY)
        beside = self._beside()
        readings = list(self._readings(beside))
        if not readings:
            return Outcome(reason=Reason.NOTHING_SHOWN)
        answers = self._answers(readings)
        names = _each_once(one.rendered.ids for one in answers or readings)
        named = _each_once(one.cited for one in answers)
        shown, cited = _each_once([map(chunk_of, names)]), _each_once([map(chunk_of, named)])
        denied = tuple(
            id_ for id_ in _each_once(one.said.dismissed for one in answers) if id_ not in cited
        )
        if not cited:
            instead = bool(answers) and answers[0] not in readings
            reason = Reason.REPLACED if instead else _why_nothing(answers or readings)
            return Outcome(reason=reason, shown=shown, dismissed=denied)
        lessons = share_credit(
            named,
            names,
            self.recalls,
            earlier=self.earlier,
            taught=self.taught,
            beside=beside,
        )
        if not lessons:
            return Outcome(reason=Reason.ALREADY_TAUGHT, shown=shown, cited=cited)
        telling = [one for one in lessons if not one.is_indifferent]
        if not telling:
            return Outcome(reason=Reason.ALL_OF_MANY, shown=shown, cited=cited)
        lessons = [one.by(self.actor, trusted=self.trusted) for one in telling]
        return Outcome(tuple(lessons), None, shown, cited, dismissed=denied)

    def _answers(self, readings: Sequence[_Reading]) -> list[_Reading]:
        """Return what was finally said."""
        if found := _returned(readings, self.output):
            return found
        last = readings[-1]
        # What stands in the prompt, such as the question and the context, is no answer.
        texts = [text for text in self.output if text.strip() and text not in last.reply.prompt]
        if not texts:
            return [one for one in readings if one.cited][-1:]
        said = self._read(Reply(text="\n\n".join(texts)), last.rendered)
        taken = [one for one in readings if _is_taken_from(one, texts)]
        # What a parser took out of a form has left its citations there.
        in_form = any(len([*texts_in(_all_said(one))]) > 1 for one in taken)
        return [said] if not taken or (said.cited and not in_form) else taken

    def _asked(self) -> str:
        """Return the user's own words; a question that a model rewrote is not among them."""
        said = [reply.text for reply in self.replies]
        queries = (one.recall.query.strip() for one in self.recalls)
        own = [query for query in queries if not any(query in text for text in said)]
        return "\n".join([*self.asked, *own])

    def _readings(self, beside: Mapping[str, Recalled]) -> Iterator[_Reading]:
        own = sources_of([*self.recalls, *reversed(self.earlier)])
        texts = {one.id: one.text for one in own}
        ours = {*beside, *self._found()}
        others = [
            one if one.id in ours else replace(one, id="")
            for one in self.foreign
            if one.id not in texts
        ]
        instead = [one for one in self.foreign if texts.get(one.id, one.text) != one.text]
        for reply in self.replies:
            rendered = reply.rendered or _shown(reply, [*own, *others], instead)
            reading = self._read(reply, rendered)
            if rendered.ids or reading.said.foreign:
                yield reading

    def _read(self, reply: Reply, rendered: Rendered) -> _Reading:
        said = read_citations(reply.text, rendered, question=self._asked(), judge=self.judge)
        return _Reading(reply, rendered, said, tuple(_cited(said, reply, rendered)))

    def _found(self) -> set[str]:
        return {id_ for one in (*self.recalls, *self.earlier) for id_ in one.ids}

    def _beside(self) -> dict[str, Recalled]:
        """Return what no recall found and an index holds, with the latest recall of that index."""
        found = self._found()
        wanted = [one.id for one in self.foreign if one.id and one.id not in found]
        beside: dict[str, Recalled] = {}
        for one in self.recalls if wanted else ():
            beside |= dict.fromkeys(one.index.holds(wanted), one)
        return beside


def _shown(reply: Reply, sources: Sequence[Source], instead: Sequence[Source]) -> Rendered:
    """Read which sources a model saw, and under which keys."""
    rendered = rendered_in(reply.prompt, sources, blocks=reply.blocks, instead=instead)
    if not reply.given or (rendered.ids and set(rendered.ids) <= set(rendered.keys.values())):
        return rendered
    # The prompt was not heard, or wraps what the engine was given.
    given = rendered_in(reply.given, sources, instead=instead)
    if not rendered.ids:
        return given
    keys = {key: id_ for key, id_ in given.keys.items() if id_ in rendered.ids}
    return replace(rendered, keys={**keys, **rendered.keys})


def sources_of(recalls: Sequence[Recalled]) -> list[Source]:
    """Return the chunks of these recalls that may be in a prompt, each once."""
    found: dict[str, Source] = {}
    for one, names in zip(recalls, names_of(recalls), strict=True):
        for hit in one.recall.hits:
            if not hit.lacks_text:
                name = names[hit.chunk.id]
                found.setdefault(name, Source(name, hit.chunk.text, hit.chunk.title))
    return list(found.values())


def _why_nothing(readings: Sequence[_Reading]) -> Reason:
    """Return why no reply cites a chunk, the most telling reason first."""
    if any(one.said.dismissed for one in readings):
        return Reason.DISMISSED
    if any(one.said.asked_for for one in readings):
        return Reason.ASKED_FOR
    if any(one.said.foreign for one in readings):
        return Reason.FOREIGN
    keyed = any(one.rendered.keys for one in readings)
    if keyed and any(one.said.unknown for one in readings):
        return Reason.OUT_OF_RANGE
    if any(_POINTING.search(one.reply.text[:MAX_ANSWER_CHARACTERS]) for one in readings):
        return Reason.UNKNOWN_FORMAT if keyed else Reason.NO_KEYS
    return Reason.NOTHING_CITED if keyed else Reason.NO_KEYS


def _cited(said: Cited, reply: Reply, rendered: Rendered) -> dict[str, None]:
    found = dict.fromkeys(said.ids)
    for value in reply.structured:
        found.update(dict.fromkeys(parse_structured(value, rendered)))
    found.update(dict.fromkeys(parse_annotations(reply.annotations, rendered)))
    return found


def _returned(readings: Sequence[_Reading], output: Sequence[str]) -> list[_Reading]:
    """Return the replies that occur in the output."""
    texts = [stripped for text in output if (stripped := text.strip())]
    return [
        one
        for one in readings
        if (said := one.reply.text.strip())
        and any(
            said == text or (len(said) >= _MIN_TELLING_CHARACTERS and said in text)
            for text in texts
        )
    ]


def _all_said(reading: _Reading) -> list[Any]:
    return [text for text in (reading.reply.text, *reading.reply.structured) if text]


def _is_taken_from(reading: _Reading, texts: Sequence[str]) -> bool:
    telling = [text for text in texts if len(text) >= _MIN_TELLING_CHARACTERS] or texts
    said = _longest(texts_in(_all_said(reading)))
    return any(_says(text, whole) for text in _longest(telling) for whole in said)


def _longest(texts: Iterable[str]) -> list[_Bare]:
    """Return so many texts that each may be compared with each of as many others."""
    found, left = [], MAX_ANSWER_CHARACTERS
    for text in sorted(texts, key=len, reverse=True)[:_MOST_TEXTS]:
        found.append(_bare(text[:left]))
        left = max(0, left - len(text))
    return found


def still_says(text: str, said: str) -> bool:
    """Return whether a text is a part of what a model said, or has its words in another form.

    Examples
    --------
    >>> still_says("Ida Moss did it (Petrel).", "Ida Moss did it [1]."), still_says("No.", "Moss.")
    (True, False)
    """
    return _says(_bare(text), _bare(said))


class _Bare(NamedTuple):
    text: str
    words: frozenset[str]


def _says(one: _Bare, said: _Bare) -> bool:
    wanted = _MOST_WORDS * len(said.words)
    if len(said.words) >= _MIN_WORDS and len(said.words & one.words) >= wanted:
        return True
    part = rf"(?<!\w){re.escape(one.text)}(?!\w)"
    is_part = said.text.startswith(one.text) or re.search(part, said.text) is not None
    return bool(one.text) and is_part


def _bare(text: str) -> _Bare:
    """Return a text without its markers, and the beginning of one at the end of a stream."""
    bare = " ".join(_UNFINISHED.sub("", BRACKETS.sub("", text)).split())
    return _Bare(bare, frozenset(_WORDS.findall(bare)))


def _each_once(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id_ for group in groups for id_ in group))
