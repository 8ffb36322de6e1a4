"""Reads which chunks an answer cites: by markers, in structured fields, or natively.

Only keys of the prompt count, so no text can have itself cited by a name that it knows. Native
citations come from the provider, which checked them: they may refer to the prompt's blocks by
index or source, or quote a passage.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hebbgraph.citations.denials import Denials
from hebbgraph.citations.markers import markers, visible_text
from hebbgraph.citations.passages import PassageLike, Shown

__all__ = ["Reading", "read_answer"]

_LONGEST_ANSWER = 200_000
#: A quotation by a model is at least so long; one that a provider checked may be shorter.
_SHORTEST_QUOTE, _SHORTEST_CHECKED = 20, 6

# Names of fields, without ``_`` and ``-``, in lower case. In structured answers:
_CITING = frozenset({
    "citation", "citations", "cited", "citationids", "documentids", "evidence", "keys", "passages",
    "reference", "references", "source", "sources", "sourceid", "sourceids", "usedsources",
})  # fmt: skip
_NAMING = ("sourceid", "source", "documentid", "citationid", "citation", "key", "id", "index",
           "number", "passage", "reference")  # fmt: skip
_QUOTING = frozenset({"quote", "quotes", "quotation", "citedtext", "excerpt", "snippet", "text"})
_ANSWERING = frozenset({"answer", "response", "text", "content", "output", "result"})
# In messages:
_NATIVE = frozenset({"citations", "annotations"})
_ARGUMENTS = frozenset({"args", "arguments", "input", "toolkwargs", "parsed"})
_REASONING = frozenset({"reasoning", "thinking", "redacted_thinking", "reasoning_content"})
_IDS = frozenset({"source", "sourceid", "url", "id", "documentid", "documentids", "fileid"})
_INDEXES = frozenset({"documentindex", "searchresultindex"})


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """What an answer cites.

    Attributes
    ----------
    cited : tuple of str
        The ids of chunks, in the order of the answer.
    unknown : tuple of str
        What looks like a key and does not count: it is none, or also stands in a passage's text.
    denied : bool
        Whether the answer says that the passages, or those that it names, do not help.
    """

    cited: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    denied: bool = False


def read_answer(
    answer: Any,
    shown: Shown,
    passages: Iterable[PassageLike] = (),
    *,
    denials: Denials | None = None,
) -> Reading:
    r"""Read which of the shown chunks an answer cites.

    Parameters
    ----------
    answer : str, dict, or object
        Text; JSON; a message of LangChain, LlamaIndex or a provider, read by its shape; or a
        structured answer: a dict, a pydantic model, a dataclass. In text, ``[1]``, ``[1, 2]``,
        ``[1-3]``, ``[^1]``, ``[Source 1]``, ``Source 1``, ``【1†source】`` and raised numbers
        count, outside of code and reasoning. In fields such as ``citations`` and ``source_id``,
        keys or long quotations. In native citations, a block's index or source, or a quotation.
    shown : Shown
    passages : iterable of Passage, Hit or Chunk
        For quotations.
    denials : Denials, optional
        With patterns of your own.

    Examples
    --------
    >>> from hebbgraph.citations import Passage, number_passages
    >>> passages = [Passage("a", "Built by Ida Moss."), Passage("b", "Born in Tessel Bay.")]
    >>> shown = number_passages(passages).shown
    >>> read_answer("Moss [1], born here [2][7].\n```\nx = y[2]\n```", shown)
    Reading(cited=('a', 'b'), unknown=('7',), denied=False)
    >>> read_answer({"answer": "Moss", "year": 1, "citations": [2]}, shown).cited
    ('b',)
    >>> native = {"type": "text", "text": "Moss", "citations": [{"cited_text": "Built by Ida"}]}
    >>> read_answer({"role": "assistant", "content": [native]}, shown, passages).cited
    ('a',)
    >>> read_answer("The passages do not say who built it. [1][2]", shown).denied
    True
    """
    reader = _Reader(shown, passages, denials or Denials())
    if _is_message(answer):
        reader.read_message(answer)
    else:
        reader.read_fields(answer)
    cited = () if reader.denies_all else tuple(reader.cited)
    return Reading(cited, tuple(reader.unknown), reader.denies_all or (reader.denies and not cited))


def _is_message(value: Any) -> bool:
    """Return whether a value has the shape of a message, or is a list of content blocks."""
    if isinstance(value, list):
        return bool(value) and all(_kind(part) for part in value)
    has = value.__contains__ if isinstance(value, Mapping) else lambda name: hasattr(value, name)
    return (has("content") or has("blocks")) and (has("role") or has("type"))


class _Reader:
    """Collects what an answer cites."""

    def __init__(self, shown: Shown, passages: Iterable[PassageLike], denials: Denials) -> None:
        self._shown = shown
        self._known = {*shown.keys, *shown.ambiguous}
        self._texts = [(p.id, _squashed(p.text)) for p in passages if p.id in shown.ids]
        self._denials = denials
        self.cited: dict[str, None] = {}
        self.unknown: dict[str, None] = {}
        self.denies = self.denies_all = False

    def _cite(self, names: Iterable[str]) -> None:
        for name in names:
            if name in self._shown.keys:
                self.cited[self._shown.keys[name]] = None
            else:
                self.unknown[name] = None

    def _read_text(self, text: str, *, opens: bool) -> bool:
        """Read markers in a text; return whether it denies. ``opens``: it begins the answer."""
        text = text[:_LONGEST_ANSWER]
        if (fields := _json(text)) is not None:
            self.read_fields(fields)
            return False
        text = visible_text(text)
        found = list(markers(text, self._known))
        denied = self._denials.find(text, [(marker.start, marker.end) for marker in found])
        self.denies |= bool(denied.everything or denied.markers)
        self.denies_all |= denied.everything and opens
        for number, marker in enumerate(found):
            if number not in denied.markers:
                self._cite(marker.names)
        return denied.everything

    # -- messages ---------------------------------------------------------------------

    def read_message(self, value: Any) -> None:
        """Read a message, or a part of one, in whatever form it has."""
        value = _plain(value)
        if isinstance(value, list | tuple):
            for part in value:
                self.read_message(part)
        elif isinstance(value, Mapping) and _kind(value) == "citation":
            self._read_native(value)
        elif isinstance(value, Mapping) and _kind(value) not in _REASONING:
            fields = {_folded(name): part for name, part in value.items()}
            content = fields.get("content")
            texts = [fields.get("text"), *(content if isinstance(content, list) else [content])]
            strings = [text for text in texts if isinstance(text, str)]
            denies = [self._read_text(text, opens=not self.cited) for text in strings]
            for name, part in fields.items():
                if name in _NATIVE:
                    for citation in part if isinstance(part, list) and not any(denies) else ():
                        self._read_native(citation)
                elif name in _ARGUMENTS:
                    self.read_fields(part)
                elif name != "artifact":
                    self.read_message(part)

    def _read_native(self, citation: Any) -> None:
        """Count the chunks of a native citation, unless its text and its index contradict."""
        quoted, named, blocks = set[str](), dict[str, None](), self._shown.blocks
        for name, value in _leaves(citation):
            if name in ("citedtext", "quote"):
                quoted.update(self._quoting(value, _SHORTEST_CHECKED))
            elif name in _IDS and value in self._shown.ids:
                named[value] = None
            elif name in _INDEXES and isinstance(value, int) and 0 <= value < len(blocks):
                named[blocks[value]] = None
        if named:
            self.cited.update((id_, None) for id_ in named if id_ and (not quoted or id_ in quoted))
        elif len(quoted) == 1:
            self.cited.update(dict.fromkeys(quoted))

    # -- structured answers -----------------------------------------------------------

    def read_fields(self, value: Any, *, cites: bool = False, opens: bool = True) -> None:
        """Read nested values; ``cites``: they stand in a field for citations."""
        value = _plain(value)
        if isinstance(value, Mapping):
            fields = {_folded(name): part for name, part in value.items()}
            names = [fields[name] for name in _NAMING if _is_name(fields.get(name))]
            is_quoting = not (_CITING.isdisjoint(fields) or _QUOTING.isdisjoint(fields))
            if names and (cites or is_quoting):  # {"source_id": 1, "quote": "..."}
                self._read_name(names[0], [fields[name] for name in _QUOTING & fields.keys()])
                return
            for name, part in fields.items():
                is_citing = name in _CITING or (cites and name in _QUOTING)
                self.read_fields(part, cites=is_citing, opens=name in _ANSWERING)
        elif isinstance(value, list | tuple | set | frozenset):
            for part in value:
                self.read_fields(part, cites=cites, opens=False)
        elif cites and _is_name(value):
            self._read_name(value, ())
        elif isinstance(value, str):
            self._read_text(value, opens=opens)

    def _read_name(self, value: Any, quotes: Iterable[Any]) -> None:
        """Count keys, unless a quotation beside them is another passage's; or a quotation."""
        text = str(int(value) if isinstance(value, float) else value).strip()[:_LONGEST_ANSWER]
        bare = len(text) <= 200 and not text.startswith(("[", "【"))
        found = markers(f"[{text}]" if bare else text, self._known)
        names = [name for marker in found for name in marker.names]
        quoted = {id_ for quote in quotes for id_ in self._quoting(quote, _SHORTEST_QUOTE)}
        self._cite(name for name in names if not quoted or self._shown.keys.get(name) in quoted)
        if not names and len(quoted := {*self._quoting(text, _SHORTEST_QUOTE)}) == 1:
            self.cited.update(dict.fromkeys(quoted))

    def _quoting(self, quote: Any, shortest: int) -> list[str]:
        """Return the shown chunks whose text holds a quotation, whatever its white space."""
        wanted = _squashed(quote[:2_000]).strip(" .…\"'“”«»") if isinstance(quote, str) else ""
        return [id_ for id_, text in self._texts if len(wanted) >= shortest and wanted in text]


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a native citation with the names of their fields."""
    value = _plain(value)
    if isinstance(value, Mapping):
        for key, part in value.items():
            inner = _folded(key)
            is_quote = inner == "text" and name in ("citedcontent", "sourcecontent")
            yield from _leaves(part, "citedtext" if is_quote else inner)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part, name)
    else:
        yield name, value


def _kind(block: Any) -> Any:
    return isinstance(block, Mapping) and (block.get("type") or block.get("block_type"))


def _is_name(value: Any) -> bool:
    """Return whether a value of a field may be a key or a quotation."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, str) or (is_number and value == int(value))


def _plain(value: Any) -> Any:
    """Return pydantic models and dataclasses as dicts."""
    if callable(dump := getattr(value, "model_dump", None)) and not isinstance(value, type):
        return dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return value


def _json(text: str) -> Any:
    """Parse an answer that is a JSON object, perhaps in a code block; None if it is none."""
    text = text.strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def _folded(name: object) -> str:
    return str(name).replace("_", "").replace("-", "").lower()


def _squashed(text: str) -> str:
    return " ".join(text.split())
