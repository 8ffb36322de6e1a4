"""Reads which chunks an answer cites: by markers, in structured fields, or natively."""

from __future__ import annotations

import dataclasses
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from hebbgraph.citations.dismissals import dismissed_markers
from hebbgraph.citations.markers import (
    BRACKETS,
    LONG_ID,
    is_code,
    is_interval,
    known_names,
    split_names,
    visible_text,
    with_brackets,
)
from hebbgraph.citations.rendered import Rendered

__all__ = [
    "MAX_ANSWER_CHARACTERS",
    "Cited",
    "Judge",
    "parse_annotations",
    "parse_citations",
    "parse_structured",
    "read_citations",
    "texts_in",
]

MAX_ANSWER_CHARACTERS = 200_000
_MAX_MARKERS = 2_000
_MAX_NODES = 5_000
_MAX_DEPTH = 24

logger = logging.getLogger(__name__)

_PARENTHESES = re.compile(r"\(([^()\n]{1,200})\)")
#: Text before a "(1)" that opens a list item; a citation follows the text that it supports.
_BEFORE_ITEM = re.compile(r"(?:\A|[:;,\n]|\b(?:and|or|und|et|y|e|en))[ \t]*\Z")
_LABELLED = re.compile(
    r"\b(?:sources?|documents?|passages?|references?|quelle|dokument|fuente|documento|fonte|bron)"
    r"\s*#?\s*([0-9]{1,4})\b(?!\s*%)",
    re.IGNORECASE,
)
_KEY_LIKE = re.compile(r"[A-Za-z]{0,12}[0-9]{1,4}")
_SENTENCE_ENDS = (". ", "! ", "? ", "\n")
_LONG_NAME = re.compile(r"[0-9A-Za-z][\w.:/#@+?=&%~-]{15,511}")


@dataclass(frozen=True, slots=True)
class Cited:
    """The chunks that an answer names by markers.

    Attributes
    ----------
    ids : tuple of str
        The chunks cited, in the order of the markers.
    dismissed : tuple of str
        Chunks named only to say that they do not help.
    asked_for : tuple of str
        Chunks whose key is repeated from the question.
    unknown : int
        Number of markers that look like keys but are not.
    foreign : int
        Number of markers that are keys of other retrievers' texts.
    """

    ids: tuple[str, ...] = ()
    dismissed: tuple[str, ...] = ()
    asked_for: tuple[str, ...] = ()
    unknown: int = 0
    foreign: int = 0


Judge: TypeAlias = Callable[[str, str], bool | None]
"""Takes a sentence and the text of a source that it names; returns whether the source supports it.

None leaves it to the rule. Called in the background, once for each marker.
"""


def parse_citations(answer: str, rendered: Rendered) -> list[str]:
    r"""Return the chunks that an answer cites, in the order of its markers, each once.

    Recognises ``[1]``, ``[1, 2]``, ``[1-3]``, ``[^1]``, ``[Source 1]``, ``【1†source】`` and raised
    numbers with rendered keys; ``[id]`` and ``[title]`` of a shown chunk; and ids and URLs of 16
    characters or more without brackets. ``(1)`` and ``Source 1`` count where the prompt's keys had
    that form. Markers in code, in reasoning (``<think>``) and in intervals ("the range [0, 1]")
    are ignored, as are those of a source that is said not to help. :func:`parse_structured` reads
    an answer that is JSON.

    Parameters
    ----------
    answer : str
        At most 200,000 characters are read.
    rendered : Rendered

    Examples
    --------
    >>> from hebbgraph.citations import Rendered, Source
    >>> rendered = Rendered.numbered([Source("a", "Built by Moss."), Source("b", "Born here.")])
    >>> parse_citations("Moss [1], who was born here [2][7].\n```\nx = y[2]\n```", rendered)
    ['a', 'b']
    >>> parse_citations("Moss built it [1]. [2] does not say where.", rendered)
    ['a']
    """
    return list(read_citations(answer, rendered).ids)


def read_citations(
    answer: str, rendered: Rendered, *, question: str = "", judge: Judge | None = None
) -> Cited:
    """Read which chunks an answer names, and whether it cites or dismisses them.

    Parameters
    ----------
    answer : str
    rendered : Rendered
    question : str
        Keys in it come from the user, so repeating one is no citation.
    judge : callable, optional
        See :data:`Judge`.
    """
    answer = answer[:MAX_ANSWER_CHARACTERS]
    data = _json(answer)
    if data is not None:
        return Cited(tuple(parse_structured(data, rendered)))
    text = with_brackets(visible_text(answer), rendered.keys)
    mentions = sorted(_mentions(text, rendered))
    if not mentions:
        return Cited()
    dismissed = dismissed_markers(text, [(start, stop) for start, stop, _ in mentions])
    in_question = {name.lower() for name in known_names(question, rendered.keys)}
    by_kind: dict[str, dict[str, None]] = {"ids": {}, "dismissed": {}, "asked_for": {}}
    unknown = foreign = 0
    for number, (start, stop, names) in enumerate(mentions):
        for name in names:
            if not (ids := rendered.chunk_ids(name)):
                foreign += name in rendered.foreign
                unknown += name not in rendered.foreign
            for id_ in ids:
                supports = number not in dismissed
                if judge is not None:
                    source = rendered.text_of(id_)
                    supports = _judged(judge, text, start, stop, source, by_rule=supports)
                kind = "ids" if supports else "dismissed"
                by_kind["asked_for" if name.lower() in in_question else kind].setdefault(id_)
    cited = tuple(by_kind["ids"])
    return Cited(
        ids=cited,
        dismissed=tuple(id_ for id_ in by_kind["dismissed"] if id_ not in cited),
        asked_for=tuple(id_ for id_ in by_kind["asked_for"] if id_ not in cited),
        unknown=unknown,
        foreign=foreign,
    )


def _mentions(text: str, rendered: Rendered) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield the places that name sources, with the names; no place twice."""
    spans: list[tuple[int, int]] = []

    def overlaps(match: re.Match[str]) -> bool:
        return any(start <= match.start() < stop for start, stop in spans)

    for match in _matches(BRACKETS, text):
        names = tuple(_names_between(match.group(1), rendered))
        if not names or is_code(text, *match.span()):
            continue
        if "0" in rendered.keys or not is_interval(text, match.start(), names):
            spans.append(match.span())
            yield (*match.span(), names)
    if "(" in rendered.forms:
        for match in _matches(_PARENTHESES, text):
            names = tuple(_names_between(match.group(1), rendered))
            before = text[max(0, match.start() - 8) : match.start()]
            if any(map(rendered.chunk_ids, names)) and not _BEFORE_ITEM.search(before):
                spans.append(match.span())
                yield (*match.span(), names)
    if "label" in rendered.forms:
        for match in _matches(_LABELLED, text):
            if not overlaps(match):
                yield (*match.span(), (match.group(1),))
    if any(len(name) >= LONG_ID for name in rendered.names):
        for match in _matches(_LONG_NAME, text):
            name = match.group().rstrip(".:/#?")
            if rendered.chunk_ids(name) and not overlaps(match):
                yield (*match.span(), (name,))


def _names_between(inside: str, rendered: Rendered) -> Iterator[str]:
    """Yield the names between two brackets: all of it if that is a name, else its parts."""
    if rendered.chunk_ids(inside.strip()):
        yield inside.strip()
        return
    names = list(split_names(inside, rendered.names))
    # "[see 1]" and "[1 ship]" are no citations: every part must look like a name.
    if all(name in rendered.names or _KEY_LIKE.fullmatch(name) for name in names):
        yield from names


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    return islice(pattern.finditer(text), _MAX_MARKERS)


def _judged(judge: Judge, text: str, start: int, stop: int, source: str, *, by_rule: bool) -> bool:
    """Ask the judge about the sentence around a marker; without its verdict, keep the rule's."""
    first = max(text.rfind(end, 0, start) for end in _SENTENCE_ENDS) + 1
    ends = [at for end in _SENTENCE_ENDS if (at := text.find(end, stop)) >= 0]
    sentence = text[first : min(ends, default=len(text)) + 1].strip()
    try:
        verdict = judge(sentence, source)
    except Exception as error:  # of the user's model
        logger.warning("judge failed, the rule decides: %r", error)
        return by_rule
    return by_rule if verdict is None else verdict


def parse_structured(value: Any, rendered: Rendered) -> list[str]:
    """Return the chunks that a structured answer cites.

    Parameters
    ----------
    value : Any
        Dicts, lists, pydantic models or dataclasses, such as the arguments of a tool call or the
        result of ``with_structured_output``. At most 5000 values, 24 levels deep, are read.
    rendered : Rendered

    Returns
    -------
    list of str
        From fields named like ``citations``, ``sources``, ``source_id`` or ``chunk_ids``: keys as
        numbers or str, ids, ``{"source_id": 1, "quote": "..."}``, or quotations that occur in
        exactly one shown chunk. An entry is ignored if its quotation occurs only in other chunks
        than the one it names. In all other str fields, markers count as in
        :func:`parse_citations`.

    Examples
    --------
    >>> from hebbgraph.citations import Rendered, Source
    >>> rendered = Rendered.numbered([Source("a", "Built by Moss."), Source("b", "Born here.")])
    >>> parse_structured({"answer": "Moss", "year": 1, "citations": [2]}, rendered)
    ['b']
    """
    return list(dict.fromkeys(_StructuredReader(rendered).read(value, cites=False, depth=0)))


def parse_annotations(annotations: Iterable[Any], rendered: Rendered) -> list[str]:
    """Return the chunks that a provider's native citations refer to.

    Parameters
    ----------
    annotations : iterable of dict
        LangChain's standard form, or another with the same names: ``type="citation"`` with
        ``url``, ``title``, ``cited_text`` and ``extras``. At most 2000 are read.
    rendered : Rendered
        With ``blocks`` if documents were passed as native blocks.

    Returns
    -------
    list of str
        By id (``source``, ``url``, ``id``), by index of the block, or by a ``cited_text`` that
        occurs in exactly one shown chunk. Text and index must not contradict each other.

    Examples
    --------
    >>> from hebbgraph.citations import Rendered, Source
    >>> rendered = Rendered.numbered([Source("a", "Built by Ida Moss in Dunmore.")])
    >>> parse_annotations([{"cited_text": "Built by Ida Moss"}], rendered)
    []
    >>> parse_annotations([{"cited_text": "Built by Ida Moss in Dun"}], rendered)
    ['a']
    """
    ids = (
        _annotated_id(annotation, rendered)
        for annotation in islice(annotations, _MAX_MARKERS)
        if isinstance(annotation, Mapping)
    )
    return list(dict.fromkeys(id_ for id_ in ids if id_ is not None))


_CITING = frozenset({
    "citation", "citations", "cited", "citedids", "citedsources", "citationids", "chunkid",
    "chunkids", "docid", "docids", "documentid", "documentids", "evidence", "reference",
    "references", "source", "sources", "sourceid", "sourceids", "sourcekey", "sourcekeys",
    "usedsources",
})  # fmt: skip
_NAMING = (
    "sourceid", "source", "chunkid", "documentid", "docid", "citationid", "citation",
    "sourcekey", "key", "id", "index", "number", "reference",
)  # fmt: skip
_QUOTING = frozenset({"quote", "quotes", "quotation", "citedtext", "excerpt", "snippet", "text"})


def _folded(name: object) -> str:
    return str(name).replace("_", "").replace("-", "").lower()


class _StructuredReader:
    """Finds citations in nested values, within a budget of values."""

    def __init__(self, rendered: Rendered) -> None:
        self.rendered = rendered
        self._budget = _MAX_NODES

    def read(self, value: Any, *, cites: bool, depth: int) -> Iterator[str]:
        """Yield the chunks that a value cites; ``cites``: it is in a field for citations."""
        self._budget -= 1
        if self._budget < 0 or depth > _MAX_DEPTH or value is None or isinstance(value, bool):
            return
        value = _as_plain(value)
        if isinstance(value, Mapping):
            yield from self._read_fields(value, cites=cites, depth=depth)
        elif isinstance(value, list | tuple | set | frozenset):
            for part in sorted(value, key=repr) if isinstance(value, set | frozenset) else value:
                if self._budget < 0:
                    return
                yield from self.read(part, cites=cites, depth=depth + 1)
        elif cites:
            yield from self._ids_of(value)
        elif isinstance(value, str):
            self._budget -= len(value) // 1_000
            yield from parse_citations(value, self.rendered)

    def _read_fields(self, value: Mapping[Any, Any], *, cites: bool, depth: int) -> Iterator[str]:
        fields = {_folded(name): part for name, part in islice(value.items(), _MAX_NODES)}
        has_name = any(name in fields for name in _NAMING)
        has_quote = not _QUOTING.isdisjoint(fields) and not _CITING.isdisjoint(fields)
        if has_name and (cites or has_quote) and (ids := self._entry(fields)) is not None:
            yield from ids
            return
        for name, part in fields.items():
            is_quote = name in _QUOTING
            if is_quote and isinstance(part, str) and part.lower() in self.rendered.titles:
                continue  # quoting a title proves nothing
            is_citation = name in _CITING or (cites and is_quote)
            yield from self.read(part, cites=is_citation, depth=depth + 1)

    def _entry(self, fields: Mapping[str, Any]) -> list[str] | None:
        """Read ``{"source_id": ..., "quote": ...}``; None if it names nothing."""
        quotes = [
            part for name, part in fields.items() if name in _QUOTING and isinstance(part, str)
        ]
        quoted = {id_ for quote in quotes for id_ in self.rendered.containing(quote)}
        for name in _NAMING:
            if ids := self._ids_of(fields.get(name)):
                return [id_ for id_ in ids if not quoted or id_ in quoted]
        return list(quoted) if len(quoted) == 1 else None

    def _ids_of(self, value: Any) -> list[str]:
        """Return the chunks that a key, an id, markers or a quotation stand for."""
        if isinstance(value, float) and value.is_integer() and abs(value) < 10**9:
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9:
            value = str(value)
        if not isinstance(value, str):
            return []
        value = value[:MAX_ANSWER_CHARACTERS].strip()
        if ids := self.rendered.chunk_ids(value):
            return list(ids)
        if len(value) <= 200:
            bare = value[1:-1] if value[:1] in "[【" and value[-1:] in "]】" else value
            names = _names_between(bare, self.rendered)
            groups = [self.rendered.chunk_ids(name) for name in names]
            if groups and all(groups):
                return [id_ for group in groups for id_ in group]
        if cited := parse_citations(value, self.rendered):
            return cited
        quoted = self.rendered.containing(value)
        return quoted if len(quoted) == 1 else []


def texts_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield all texts in a model's answer, including those within JSON."""
    value = _as_plain(value)
    if isinstance(value, str):
        yield value
        value = _json(value[:MAX_ANSWER_CHARACTERS])
    if depth < _MAX_DEPTH and isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from texts_in(part, depth + 1)


def _as_plain(value: Any) -> Any:
    """Turn pydantic models and dataclasses into dicts."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        try:
            return dump()
        except Exception:  # of the user's model: what cannot be read cites nothing
            return None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return value


def _annotated_id(annotation: Mapping[str, Any], rendered: Rendered) -> str | None:
    """Return the chunk that a native citation refers to, if its text does not contradict."""
    extras = annotation.get("extras")
    fields = {**extras, **annotation} if isinstance(extras, Mapping) else dict(annotation)
    quote = fields.get("cited_text") or fields.get("quote")
    quoted = rendered.containing(quote) if isinstance(quote, str) else []
    for name in ("source", "url", "id", "document_id", "source_id"):
        value = fields.get(name)
        if isinstance(value, str) and value in rendered.ids:
            return value if not quoted or value in quoted else None
    for name in ("document_index", "search_result_index"):
        at = fields.get(name)
        if isinstance(at, int) and not isinstance(at, bool) and 0 <= at < len(rendered.blocks):
            id_ = rendered.blocks[at]
            return id_ if id_ and (not quoted or id_ in quoted) else None
    return quoted[0] if len(quoted) == 1 else None


def _json(answer: str) -> Any:
    """Parse an answer that is a JSON object, perhaps in a code block; None if it is none."""
    text = answer.strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
