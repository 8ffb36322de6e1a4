"""Which chunks an answer cites: by markers, in structured fields, or natively."""

from __future__ import annotations

import dataclasses
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from hebbgraph.citations.dismissals import dismissed
from hebbgraph.citations.markers import (
    BRACKETS,
    LONG_ID,
    is_code,
    is_interval,
    known_names,
    split_names,
    spoken,
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
#: What comes before the "(1)" that opens a point of a list; a citation follows what it supports.
_OPENING = re.compile(r"(?:\A|[:;,\n]|\b(?:and|or|und|et|y|e|en))[ \t]*\Z")
_LABELLED = re.compile(
    r"\b(?:sources?|documents?|passages?|references?|quelle|dokument|fuente|documento|fonte|bron)"
    r"\s*#?\s*([0-9]{1,4})\b(?!\s*%)",
    re.IGNORECASE,
)
_KEY_LIKE = re.compile(r"[A-Za-z]{0,12}[0-9]{1,4}")
_LONG_NAME = re.compile(r"[0-9A-Za-z][\w.:/#@+?=&%~-]{15,511}")


@dataclass(frozen=True, slots=True)
class Cited:
    """What an answer says of the chunks that it was shown.

    Attributes
    ----------
    ids : tuple of str
        The chunks that it cites, in the order of its markers.
    dismissed : tuple of str
        Those that it names only to say that they do not help.
    asked_for : tuple of str
        Those whose key it repeats from the question.
    unknown : int
        Markers that look like keys and are none.
    foreign : int
        Markers that are keys of texts that are not ours.
    """

    ids: tuple[str, ...] = ()
    dismissed: tuple[str, ...] = ()
    asked_for: tuple[str, ...] = ()
    unknown: int = 0
    foreign: int = 0


Judge: TypeAlias = Callable[[str, str], bool | None]
"""From a sentence and the text of a source that it names to whether the source supports it.

None leaves it to the rule. Called in the background, once for each marker.
"""


def parse_citations(answer: str, rendered: Rendered) -> list[str]:
    r"""Return the chunks that an answer cites, in the order of its markers, each once.

    Recognises ``[1]``, ``[1, 2]``, ``[1-3]``, ``[^1]``, ``[Source 1]``, ``【1†source】`` and raised
    numbers with rendered keys; ``[id]`` and ``[title]`` of a shown chunk; and ids and URLs of 16
    characters or more without brackets. ``(1)`` and ``Source 1`` count where the prompt's keys had
    that form. Markers in code, in reasoning (``<think>``) and in intervals ("the range [0, 1]")
    are ignored, and those of a source that is said not to help. An answer that is JSON is read by
    :func:`parse_structured`.

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
    """Read what an answer says of the chunks that it was shown.

    Parameters
    ----------
    answer : str
    rendered : Rendered
    question : str
        Keys that the user wrote are not the model's.
    judge : callable, optional
        See :data:`Judge`.
    """
    answer = answer[:MAX_ANSWER_CHARACTERS]
    data = _json(answer)
    if data is not None:
        return Cited(tuple(parse_structured(data, rendered)))
    text = with_brackets(spoken(answer), rendered.keys)
    found = sorted(_mentions(text, rendered))
    if not found:
        return Cited()
    denied = dismissed(text, [(start, stop) for start, stop, _ in found])
    asked = {name.lower() for name in known_names(question, rendered.keys)}
    sorted_by: dict[str, dict[str, None]] = {"ids": {}, "dismissed": {}, "asked_for": {}}
    unknown = foreign = 0
    for number, (start, stop, names) in enumerate(found):
        for name in names:
            if not (ids := rendered.behind(name)):
                foreign += name in rendered.foreign
                unknown += name not in rendered.foreign
            for id_ in ids:
                helps = number not in denied
                if judge is not None:
                    helps = _judged(judge, text, start, stop, rendered.text_of(id_), helps)
                kind = "asked_for" if name.lower() in asked else "ids" if helps else "dismissed"
                sorted_by[kind].setdefault(id_)
    ids = tuple(sorted_by["ids"])
    return Cited(
        ids=ids,
        dismissed=tuple(id_ for id_ in sorted_by["dismissed"] if id_ not in ids),
        asked_for=tuple(id_ for id_ in sorted_by["asked_for"] if id_ not in ids),
        unknown=unknown,
        foreign=foreign,
    )


def _mentions(text: str, rendered: Rendered) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield where sources are named, and how; no place twice."""
    taken: list[tuple[int, int]] = []

    def is_taken(match: re.Match[str]) -> bool:
        return any(start <= match.start() < stop for start, stop in taken)

    for match in _matches(BRACKETS, text):
        names = tuple(_parts(match.group(1), rendered))
        if not names or is_code(text, *match.span()):
            continue
        if "0" in rendered.keys or not is_interval(text, match.start(), names):
            taken.append(match.span())
            yield (*match.span(), names)
    if "(" in rendered.forms:
        for match in _matches(_PARENTHESES, text):
            names = tuple(_parts(match.group(1), rendered))
            lead = text[max(0, match.start() - 8) : match.start()]
            if any(rendered.find(name) for name in names) and not _OPENING.search(lead):
                taken.append(match.span())
                yield (*match.span(), names)
    if "label" in rendered.forms:
        for match in _matches(_LABELLED, text):
            if not is_taken(match):
                yield (*match.span(), (match.group(1),))
    if any(len(name) >= LONG_ID for name in rendered.names):
        for match in _matches(_LONG_NAME, text):
            name = match.group().rstrip(".:/#?")
            if rendered.find(name) is not None and not is_taken(match):
                yield (*match.span(), (name,))


def _judged(judge: Judge, text: str, start: int, stop: int, source: str, by_rule: bool) -> bool:
    first = max(text.rfind(end, 0, start) for end in (". ", "! ", "? ", "\n")) + 1
    last = min(
        (at for end in (". ", "! ", "? ", "\n") if (at := text.find(end, stop)) >= 0),
        default=len(text),
    )
    try:
        found = judge(text[first : last + 1].strip(), source)
    except Exception as error:  # somebody's model; the rule will do
        logger.warning("judge failed, the rule decides: %r", error)
        return by_rule
    return by_rule if found is None else found


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
    found: dict[str, None] = {}
    budget = [_MAX_NODES]
    for id_ in _walk(value, rendered, cites=False, depth=0, budget=budget):
        found.setdefault(id_)
    return list(found)


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
    found: dict[str, None] = {}
    for number, annotation in enumerate(annotations):
        if number >= _MAX_MARKERS:
            break
        if isinstance(annotation, Mapping):
            id_ = _annotated(annotation, rendered)
            if id_ is not None:
                found.setdefault(id_)
    return list(found)


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


def _walk(
    value: Any, rendered: Rendered, *, cites: bool, depth: int, budget: list[int]
) -> Iterator[str]:
    budget[0] -= 1
    if budget[0] < 0 or depth > _MAX_DEPTH or value is None or isinstance(value, bool):
        return
    value = _plain(value)
    if isinstance(value, Mapping):
        fields = {_folded(name): part for name, part in list(value.items())[:_MAX_NODES]}
        names = any(name in fields for name in _NAMING)
        quotes = not _QUOTING.isdisjoint(fields) and not _CITING.isdisjoint(fields)
        if names and (cites or quotes):
            entry = _entry(fields, rendered)
            if entry is not None:
                yield from entry
                return
        for name, part in fields.items():
            citing = name in _CITING or (cites and name in _QUOTING)
            if name in _QUOTING and isinstance(part, str) and part.lower() in rendered.titles:
                continue  # a quotation that is a title tells nothing
            yield from _walk(part, rendered, cites=citing, depth=depth + 1, budget=budget)
    elif isinstance(value, list | tuple | set | frozenset):
        for part in sorted(value, key=repr) if isinstance(value, set | frozenset) else value:
            if budget[0] < 0:
                return
            yield from _walk(part, rendered, cites=cites, depth=depth + 1, budget=budget)
    elif cites:
        yield from _named(value, rendered)
    elif isinstance(value, str):
        budget[0] -= len(value) // 1_000
        yield from parse_citations(value, rendered)


def texts_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts of what a model said: of an answer that is JSON, those within it too."""
    value = _plain(value)
    if isinstance(value, str):
        yield value
        value = _json(value[:MAX_ANSWER_CHARACTERS])
    parts = value.values() if isinstance(value, Mapping) else value
    if depth < _MAX_DEPTH and isinstance(value, Mapping | list | tuple):
        for part in parts:
            yield from texts_in(part, depth + 1)


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        try:
            return dump()
        except Exception:  # somebody's model; what cannot be read cites nothing
            return None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    return value


def _named(value: Any, rendered: Rendered) -> list[str]:
    """Return what a value in a citing field stands for: a key, an id, markers or a quotation."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**9:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9:
        value = str(value)
    if not isinstance(value, str):
        return []
    value = value[:MAX_ANSWER_CHARACTERS].strip()
    if ids := rendered.behind(value):
        return list(ids)
    if len(value) <= 200:
        bare = value[1:-1] if value[:1] in "[【" and value[-1:] in "]】" else value
        names = list(_parts(bare, rendered))
        found = [rendered.behind(name) for name in names]
        if found and all(found):
            return [id_ for ids in found for id_ in ids]
    if cited := parse_citations(value, rendered):
        return cited
    held = rendered.holding(value)
    return held if len(held) == 1 else []


def _entry(fields: Mapping[str, Any], rendered: Rendered) -> list[str] | None:
    """Read ``{"source_id": ..., "quote": ...}``; None if it names nothing."""
    quotes = [part for name, part in fields.items() if name in _QUOTING and isinstance(part, str)]
    held = {id_ for quote in quotes for id_ in rendered.holding(quote)}
    for name in _NAMING:
        if name in fields and isinstance(fields[name], int | float | str):
            found = _named(fields[name], rendered)
            if found:
                return [id_ for id_ in found if not held or id_ in held]
    return list(held) if len(held) == 1 else None


def _annotated(annotation: Mapping[str, Any], rendered: Rendered) -> str | None:
    extras = annotation.get("extras")
    fields = {**extras, **annotation} if isinstance(extras, Mapping) else dict(annotation)
    quote = fields.get("cited_text") or fields.get("quote")
    held = rendered.holding(quote) if isinstance(quote, str) else []
    for name in ("source", "url", "id", "document_id", "source_id"):
        value = fields.get(name)
        if isinstance(value, str) and value in rendered.id_set:
            return value if not held or value in held else None
    for name in ("document_index", "search_result_index"):
        at = fields.get(name)
        if isinstance(at, int) and not isinstance(at, bool) and 0 <= at < len(rendered.blocks):
            id_ = rendered.blocks[at]
            return id_ if id_ and (not held or id_ in held) else None
    return held[0] if len(held) == 1 else None


def _json(answer: str) -> Any:
    text = answer.strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    for number, match in enumerate(pattern.finditer(text)):
        if number >= _MAX_MARKERS:
            return
        yield match


def _parts(inside: str, rendered: Rendered) -> Iterator[str]:
    """Yield the names between two brackets: all of it if that is a name, else its parts."""
    if rendered.find(inside.strip()) is not None:
        yield inside.strip()
        return
    names = list(split_names(inside, rendered.names))
    # "[see 1]" and "[1 ship]" are no citations: every part must look like a name.
    if all(name in rendered.names or _KEY_LIKE.fullmatch(name) for name in names):
        yield from names
