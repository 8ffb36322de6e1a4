"""A request and its answer, as an adapter submits it; reads what the answer teaches."""

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
    chunk_id_of,
    namespace_of,
    share_credit,
    source_names,
)
from hebbgraph.citations.markers import BRACKETS
from hebbgraph.citations.outcomes import Outcome, Reason
from hebbgraph.citations.rendered import Rendered, Source
from hebbgraph.citations.shown import rendered_in

__all__ = ["Exchange", "Reply", "sources_of"]

#: A shorter reply ("yes") may occur in an unrelated output by chance.
_MIN_TELLING_CHARACTERS = 20
#: An answer whose citations were rewritten, as names or links, still has most of its words.
_MOST_WORDS = 0.8
_MIN_WORDS = 3
#: Of more texts in one answer, only the longest are compared.
_MAX_COMPARED_TEXTS = 100
_WORDS = re.compile(r"\w+")
_UNFINISHED_MARKER = re.compile(r"[\[【][^\[\]【】]*\Z")
#: References in forms that are not read: footnotes, "(1)", "source 2", "the first source".
_POINTING = re.compile(
    r"(?:(?<=[^\W\d_]{4})|(?<=[.,;:!?)\]]))[¹²³⁴-⁹]|[①-⑳]|<sup>|\(\d{1,2}\)|\{\d{1,2}\}|\b(?:source|document|passage|reference|quelle|fuente|fonte)"
    r"s? #?\d|\b(?:first|second|third|last) (?:source|document|passage)|^sources?:",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One model call: its prompt and its answer.

    Attributes
    ----------
    text : str
        The answer.
    prompt : str
        All text that the model was given; keys are read from it.
    blocks : sequence of str
        The texts of native document blocks in the prompt, in order.
    structured : sequence
        Structured answers: the arguments of a tool call, a parsed object.
    annotations : sequence of dict
        Native citations; see :func:`~hebbgraph.citations.parse_annotations`.
    given : str
        The sources that an engine inserted into its prompt, if the prompt itself may be unknown.
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

    @property
    def contents(self) -> list[Any]:
        """The text and the structured answers that are not empty."""
        return [content for content in (self.text, *self.structured) if content]


@dataclass(frozen=True, slots=True)
class _Reading:
    """A reply to a prompt that shows our chunks, and what it cites of them."""

    reply: Reply
    rendered: Rendered
    marked: Cited  # by markers in the text
    cited: tuple[str, ...]  # in any way


@dataclass(slots=True, kw_only=True)
class Exchange:
    r"""A request, its recalls and its answer: everything that decides what is learned.

    An adapter fills one from its framework's events; :meth:`outcome` is the same for all.

    Attributes
    ----------
    recalls : sequence of Recalled
        The recalls made for this answer, oldest first.
    replies : sequence of Reply
        The model calls, in order.
    output : sequence of str
        The texts that the application returned, if known.
    earlier : sequence of Recalled
        The recalls of earlier turns of the conversation, oldest first.
    foreign : sequence of Source
        Texts of other retrievers and of postprocessors that may be in the prompt, under their
        ids there. A key before one belongs to it. It teaches if a recall found its id, or an
        index holds it.
    judge : callable, optional
        Says whether a source supports a sentence that names it; see :data:`Judge`.
    actor : str, optional
        The name that lessons are attributed to.
    trusted : bool
        Whether the application vouches for them.
    conversation : str, optional
        Later turns of this conversation may cite what these recalls found.
    ids : sequence of str
        Names by which late feedback may refer to the answer.
    failed : bool
        Whether the request failed, so that nobody got its answer.
    taught : set of str
        Chunks that the request has taught so far. Exchanges of one request share the set, so an
        answer repeated by an outer chain counts once.

    Examples
    --------
    >>> from hebbgraph import HebbianIndex
    >>> with HebbianIndex.open(":memory:") as index:
    ...     report = index.add([{"id": "owl", "text": "Owls hunt at night."}])
    ...     recall = index.recall("When do owls hunt?")
    ...     reply = Reply(prompt="[1] Owls hunt at night.\n\nWhen?", text="At night [1].")
    ...     outcome = Exchange(recalls=[Recalled(index, recall)], replies=[reply]).outcome()
    >>> outcome.lessons[0].cited
    ('owl',)
    """

    recalls: Sequence[Recalled] = ()
    replies: Sequence[Reply] = ()
    output: Sequence[str] = ()
    earlier: Sequence[Recalled] = ()
    foreign: Sequence[Source] = ()
    judge: Judge | None = None
    actor: str | None = None
    trusted: bool = False
    conversation: str | None = None
    ids: Sequence[str] = ()
    failed: bool = False
    taught: set[str] = field(default_factory=set)

    def outcome(self) -> Outcome:
        """Read the answer, and credit the recalls with what it cites. Changes nothing.

        The answer is the replies that reached the user, whole or in part. If the application
        replaced them, as a guardrail does, its own text is the answer, read by the keys of the
        last prompt. If the output is unknown because a stream was abandoned, the answer is the
        last reply that cites anything. Drafts, gradings and failed attempts teach nothing.
        """
        outcome = self._outcome()
        searched = frozenset(
            namespace_of(recalled.index) for recalled in self.recalls or self.earlier
        )
        return replace(outcome, names=tuple(self.ids), actor=self.actor, namespaces=searched)

    def _outcome(self) -> Outcome:
        if not (self.recalls or self.earlier):
            return Outcome(reason=Reason.NOTHING_RECALLED)
        if self.failed:
            return Outcome(reason=Reason.FAILED)
        if not self.replies:
            return Outcome(reason=Reason.NO_REPLY)
        indexed = self._indexed_foreign()
        readings = list(self._readings(indexed))
        if not readings:
            return Outcome(reason=Reason.NOTHING_SHOWN)
        answers = self._answers(readings)
        shown_names = _unique(reading.rendered.ids for reading in answers or readings)
        cited_names = _unique(reading.cited for reading in answers)
        shown, cited = (_unique([map(chunk_id_of, names)]) for names in (shown_names, cited_names))
        dismissed = tuple(
            id_
            for id_ in _unique(reading.marked.dismissed for reading in answers)
            if id_ not in cited
        )
        if not cited:
            is_replaced = bool(answers) and answers[0] not in readings
            reason = Reason.REPLACED if is_replaced else _why_nothing(answers or readings)
            return Outcome(reason=reason, shown=shown, dismissed=dismissed)
        lessons = share_credit(
            cited_names,
            shown_names,
            self.recalls,
            earlier=self.earlier,
            taught=self.taught,
            beside=indexed,
        )
        if not lessons:
            return Outcome(reason=Reason.ALREADY_TAUGHT, shown=shown, cited=cited)
        lessons = [
            lesson.by(self.actor, trusted=self.trusted)
            for lesson in lessons
            if not lesson.is_indifferent
        ]
        if not lessons:
            return Outcome(reason=Reason.ALL_OF_MANY, shown=shown, cited=cited)
        return Outcome(tuple(lessons), None, shown, cited, dismissed=dismissed)

    def _answers(self, readings: Sequence[_Reading]) -> list[_Reading]:
        """Return the readings of what reached the user."""
        if returned := [reading for reading in readings if _is_in(reading.reply, self.output)]:
            return returned
        last = readings[-1]
        # Text from the prompt, such as the question and the context, is no answer.
        texts = [text for text in self.output if text.strip() and text not in last.reply.prompt]
        if not texts:
            return [reading for reading in readings if reading.cited][-1:]
        output = self._read(Reply(text="\n\n".join(texts)), last.rendered)
        parsed = [reading for reading in readings if _is_taken_from(reading.reply, texts)]
        # A parser that takes the answer out of a form leaves the citations there.
        in_form = any(len([*texts_in(reading.reply.contents)]) > 1 for reading in parsed)
        return [output] if not parsed or (output.cited and not in_form) else parsed

    def _question(self) -> str:
        """Return the user's questions: a key that they name is no citation of the model's."""
        replies = [reply.text for reply in self.replies]
        queries = (recalled.recall.query.strip() for recalled in self.recalls)
        # A model may have rewritten a question.
        return "\n".join(query for query in queries if not any(query in text for text in replies))

    def _readings(self, indexed: Mapping[str, Recalled]) -> Iterator[_Reading]:
        """Read the replies to prompts that show sources."""
        recalled = sources_of([*self.recalls, *reversed(self.earlier)])
        texts = {source.id: source.text for source in recalled}
        teachable = {*indexed, *self._recalled_ids()}
        others = [
            source if source.id in teachable else replace(source, id="")
            for source in self.foreign
            if source.id not in texts
        ]
        rewritten = [
            source for source in self.foreign if texts.get(source.id, source.text) != source.text
        ]
        for reply in self.replies:
            rendered = reply.rendered or _rendered_for(reply, [*recalled, *others], rewritten)
            reading = self._read(reply, rendered)
            if rendered.ids or reading.marked.foreign:
                yield reading

    def _read(self, reply: Reply, rendered: Rendered) -> _Reading:
        marked = read_citations(reply.text, rendered, question=self._question(), judge=self.judge)
        structured = (parse_structured(value, rendered) for value in reply.structured)
        native = parse_annotations(reply.annotations, rendered)
        return _Reading(reply, rendered, marked, _unique([marked.ids, *structured, native]))

    def _recalled_ids(self) -> set[str]:
        return {id_ for recalled in (*self.recalls, *self.earlier) for id_ in recalled.ids}

    def _indexed_foreign(self) -> dict[str, Recalled]:
        """Map foreign chunks that an index holds to the latest recall of that index."""
        recalled_ids = self._recalled_ids()
        ids = [source.id for source in self.foreign if source.id and source.id not in recalled_ids]
        indexed: dict[str, Recalled] = {}
        for recalled in self.recalls if ids else ():
            indexed |= dict.fromkeys(recalled.index.holds(ids), recalled)
        return indexed


def _rendered_for(reply: Reply, sources: Sequence[Source], rewritten: Sequence[Source]) -> Rendered:
    """Read which sources a model was shown, and under which keys."""
    rendered = rendered_in(reply.prompt, sources, blocks=reply.blocks, instead=rewritten)
    if not reply.given or (rendered.ids and set(rendered.ids) <= set(rendered.keys.values())):
        return rendered
    # The prompt is unknown, or wraps what the engine was given.
    rendered_by_engine = rendered_in(reply.given, sources, instead=rewritten)
    if not rendered.ids:
        return rendered_by_engine
    keys = {key: id_ for key, id_ in rendered_by_engine.keys.items() if id_ in rendered.ids}
    return replace(rendered, keys={**keys, **rendered.keys})


def sources_of(recalls: Sequence[Recalled]) -> list[Source]:
    """Return the chunks of these recalls that have texts, each once."""
    sources: dict[str, Source] = {}
    for recalled, names in zip(recalls, source_names(recalls), strict=True):
        for hit in recalled.recall.hits:
            if not hit.lacks_text:
                name = names[hit.chunk.id]
                sources.setdefault(name, Source(name, hit.chunk.text, hit.chunk.title))
    return list(sources.values())


def _why_nothing(readings: Sequence[_Reading]) -> Reason:
    """Return why no reply cites a chunk, the most telling reason first."""
    if any(reading.marked.dismissed for reading in readings):
        return Reason.DISMISSED
    if any(reading.marked.asked_for for reading in readings):
        return Reason.ASKED_FOR
    if any(reading.marked.foreign for reading in readings):
        return Reason.FOREIGN
    has_keys = any(reading.rendered.keys for reading in readings)
    if has_keys and any(reading.marked.unknown for reading in readings):
        return Reason.OUT_OF_RANGE
    if not has_keys:
        return Reason.NO_KEYS
    points = any(
        _POINTING.search(reading.reply.text[:MAX_ANSWER_CHARACTERS]) for reading in readings
    )
    return Reason.UNKNOWN_FORMAT if points else Reason.NOTHING_CITED


def _is_in(reply: Reply, output: Sequence[str]) -> bool:
    """Return whether a reply is in the output, word for word."""
    answer = reply.text.strip()
    texts = [text.strip() for text in output]
    if len(answer) >= _MIN_TELLING_CHARACTERS:
        return any(answer in text for text in texts)
    return bool(answer) and answer in texts


def _is_taken_from(reply: Reply, texts: Sequence[str]) -> bool:
    """Return whether any of these texts is a part of a reply, or the same in another form."""
    telling = [text for text in texts if len(text) >= _MIN_TELLING_CHARACTERS] or texts
    replies = _longest(texts_in(reply.contents))
    return any(_is_part(text, reply_text) for text in _longest(telling) for reply_text in replies)


class _Bare(NamedTuple):
    """A text without markers, and its words."""

    text: str
    words: frozenset[str]


def _longest(texts: Iterable[str]) -> list[_Bare]:
    """Return the longest texts, bounded so that comparing all pairs stays cheap."""
    longest, n_left = [], MAX_ANSWER_CHARACTERS
    for text in sorted(texts, key=len, reverse=True)[:_MAX_COMPARED_TEXTS]:
        longest.append(_bare(text[:n_left]))
        n_left = max(0, n_left - len(text))
    return longest


def _is_part(text: _Bare, reply: _Bare) -> bool:
    """Return whether a text is a part of a reply, or has most of its words."""
    common = len(reply.words & text.words)
    if len(reply.words) >= _MIN_WORDS and common >= _MOST_WORDS * len(reply.words):
        return True
    if not text.text:
        return False
    part = rf"(?<!\w){re.escape(text.text)}(?!\w)"
    return reply.text.startswith(text.text) or re.search(part, reply.text) is not None


def _bare(text: str) -> _Bare:
    """Remove markers, and an unfinished one at the end of a stream."""
    bare = " ".join(_UNFINISHED_MARKER.sub("", BRACKETS.sub("", text)).split())
    return _Bare(bare, frozenset(_WORDS.findall(bare)))


def _unique(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id_ for group in groups for id_ in group))
