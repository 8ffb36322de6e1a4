"""Reads which chunks an answer cites: by markers, in structured fields, or natively.

Only keys of the prompt count, so a text cannot get itself cited by a name that it contains. Native
citations come from the provider, which checked them: they may refer to the prompt's blocks by
index or source, or quote a passage. A denial about the subject still cites: "The law names no owls
[1]"; one about the passages does not.
"""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from hebbgraph.citations.passages import PassageLike, markers
from hebbgraph.errors import ParameterError
from hebbgraph.records import Shown

_LONGEST_ANSWER, _LONGEST_SENTENCE = 200_000, 2_000
#: A shorter quotation may occur by chance.
_SHORTEST = 6

# Names of fields, without ``_`` and ``-``, in lower case. In structured answers:
_CITING = re.compile(
    r"cited|citations?(ids?)?|(used)?sources?(ids?)?|documentids|evidence|keys|passages|references?"
)
_NAMING = ("sourceid", "source", "documentid", "citationid", "citation", "key", "id", "index",
           "number", "passage", "reference")  # fmt: skip
_QUOTING = frozenset(("quote", "quotes", "quotation", "citedtext", "excerpt", "snippet", "text"))
_ANSWERING = frozenset(("answer", "response", "text", "content", "output", "result"))
# In messages:
_NATIVE = frozenset(("citations", "annotations", "reference"))
_ARGUMENTS = frozenset(("args", "arguments", "input", "toolkwargs", "parsed"))
_REASONING = frozenset(("reasoning", "thinking", "redacted_thinking", "reasoning_content"))
_IDS = frozenset(
    ("source", "sourceid", "url", "id", "documentid", "documentids", "fileid", "referenceids")
)
#: Whether it counts search results; documents are counted apart.
_INDEXES = {"documentindex": False, "searchresultindex": True}

#: Around a model's reasoning; some prompts end with the opening tag.
_THINK = "think|thinking|thought|reasoning|scratchpad"
_THOUGHT = re.compile(rf"<({_THINK})>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_THOUGHT_END = re.compile(rf"\A.*</(?:{_THINK})>", re.IGNORECASE | re.DOTALL)
#: Code between ```, and what else stands around code. An open block reaches to the end.
_FENCE = re.compile(r"(?s:(```.*?```))|^[ \t]*~~~|</?pre\b[^<>]{0,200}>", re.I | re.MULTILINE)
#: Between backticks or tags, of which a marker is kept; and an index without these.
_INLINE_CODE = re.compile(
    r"`(\s*[\[【][^\[\]`,\n]{1,200}[\]】]\s*)`|`[^`\n]{1,500}`|<code>[^<\n]{1,500}</code>"
    r"|(?<![\w'’.-])(?:[a-z]|int|float|char|[^\W_]{1,50}(?:_[^\W_]+)+)(?:\[[^\[\]\n]{1,100}\])+"
)
#: Stands for code; no marker contains it.
_CODE = "\ue000"

# -- denials ------------------------------------------------------------------------------

#: Stands for a marker in the patterns.
_M = "\ue001"


def _denials() -> list[str]:
    """Return the patterns of ``denials.toml``, with their parts."""
    text = files(__package__).joinpath("denials.toml").read_text(encoding="utf-8")
    lists, parts = tomllib.loads(text), {"marker": _M}

    def filled(pattern: str) -> str:
        joined = re.sub(r"\s*\n\s*", "", pattern)
        return re.sub(r"<(\w+)>", lambda name: parts[name[1]], joined)

    for name, pattern in lists["parts"].items():
        parts[name] = filled(pattern)
    return [filled(pattern) for pattern in lists["patterns"]]


_DENIALS = _denials()

#: A marker after a full stop belongs to the sentence before it, unless it begins the next one.
_SENTENCE = re.compile(rf"(?<=[.!?。！？])\s+(?!(?:{_M}[\s,;]*)+(?:\Z|\n|[A-Z\"“]))|\n+")


class Denials:
    r"""Finds where an answer says that the passages do not help.

    If the first sentence opens with a denial, the whole answer denies. A later denial concerns the
    markers after it in its sentence; one that names passages concerns only those.

    Parameters
    ----------
    patterns : iterable of str
        Regular expressions of your own, for other languages or for a fixed phrase of your prompt;
        case is ignored.

    Examples
    --------
    >>> denials = Denials([r"keine der quellen"])
    >>> denials.find("Keine der Quellen nennt sie.", [])
    (True, set())
    >>> denials.find("Moss built it [1]. [2] does not say when.", [(14, 17), (19, 22)])
    (False, {1})
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        if isinstance(patterns, str):
            raise ParameterError(f"denials is a list of patterns, got {patterns!r:.80}")
        try:
            self._forms = [re.compile(form, re.IGNORECASE) for form in (*_DENIALS, *patterns)]
        except (re.error, TypeError) as error:
            raise ParameterError(f"a denial is a regular expression: {error}") from error

    def find(self, text: str, spans: Sequence[tuple[int, int]]) -> tuple[bool, set[int]]:
        """Return whether a text denies all, and which of the markers at ``spans`` it denies."""
        pieces = zip([0, *(end for _, end in spans)], [*(at for at, _ in spans), None], strict=True)
        marked = _M.join(text[start:end].replace(_M, " ") for start, end in pieces)
        first, denied = 0, set[int]()
        for number, sentence in enumerate(filter(str.strip, _SENTENCE.split(marked))):
            marks = [at for at, character in enumerate(sentence) if character == _M]
            forms = self._forms if len(sentence) <= _LONGEST_SENTENCE else ()
            for start, end in (m.span() for form in forms for m in form.finditer(sentence)):
                if number == 0 and not any(at < end for at in marks):
                    return True, set(range(len(spans)))
                last = end if any(start <= at < end for at in marks) else len(sentence)
                denied.update(first + n for n, at in enumerate(marks) if start <= at < last)
            first += len(marks)
        return False, denied


# -- answers ------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """What an answer cites.

    Attributes
    ----------
    cited : tuple of str
        The ids of chunks, in the order of the answer.
    unknown : tuple of str
        What looks like a key and does not count: it is none, or also occurs in a passage.
    denied : bool
        Whether the answer says that the passages, or those that it names, do not help.
    keys : tuple of str
        Those by which it cites; native citations have none.
    """

    cited: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    denied: bool = False
    keys: tuple[str, ...] = ()


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
        ``[1-3]``, ``[^1]``, ``[Source 1]``, ``Source 1`` and ``【1†source】``
        count, outside of code and reasoning; in fields such as ``citations`` and ``source_id``,
        keys; in native citations, a block's index or source, or a quotation.
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
    Reading(cited=('a', 'b'), unknown=('7',), denied=False, keys=('1', '2'))
    >>> read_answer({"answer": "Moss", "year": 1, "citations": [2]}, shown).cited
    ('b',)
    >>> read_answer("The passages do not say who built it. [1][2]", shown).denied
    True
    """
    reader = _Reader(shown, passages, denials or Denials())
    if is_message(answer):
        reader.read_message(answer)
    else:
        reader.read_fields(answer)
    cited, keys = ((), ()) if reader.denies_all else (tuple(reader.cited), tuple(reader.keys))
    return Reading(cited, tuple(reader.unknown), reader.denies and not cited, keys)


def is_message(value: Any) -> bool:
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
        self._texts = [(p.id, " ".join(p.text.split())) for p in passages if p.id in shown.ids]
        self._denials = denials
        self.cited: dict[str, None] = {}
        self.keys: dict[str, None] = {}
        self.unknown: dict[str, None] = {}
        self.denies = self.denies_all = False

    def _cite(self, names: Iterable[str]) -> None:
        for name in names:
            if name in self._shown.keys:
                self.cited[self._shown.keys[name]] = self.keys[name] = None
            else:
                self.unknown[name] = None

    def _read_text(self, text: str, *, opens: bool) -> None:
        """Read markers in a text, or JSON; ``opens``: the answer begins with it."""
        text = text[:_LONGEST_ANSWER]
        if (fields := _json(text)) is not None:
            self.read_fields(fields)
            return
        if "<" in text:
            text = _THOUGHT_END.sub("\n", _THOUGHT.sub("\n", text))
        pieces = _FENCE.sub(lambda fence: fence[1] or "```", text).split("```")
        for fields in map(_json, pieces[1::2]):
            if fields and not _ANSWERING.isdisjoint(map(_folded, fields)):
                self.read_fields(fields, opens=False)
        text = _INLINE_CODE.sub(rf"{_CODE}\1{_CODE}", "\n".join(pieces[::2]))
        found = list(markers(text, self._known))
        denies_all, denied = self._denials.find(text, [span for span, _ in found])
        self.denies |= bool(denies_all or denied)
        self.denies_all |= denies_all and opens
        for number, (_, names) in enumerate(found):
            self._cite(names if number not in denied else ())

    # -- messages ---------------------------------------------------------------------

    def read_message(self, value: Any, name: str = "") -> None:
        """Read a message, or what a field of one holds."""
        value = _plain(value)
        if name in _ARGUMENTS:
            self.read_fields(value)
        elif isinstance(value, list | tuple):
            for part in value:
                self.read_message(part, name)
        elif name in _NATIVE or _kind(value) in ("citation", "reference"):
            self._read_native(value)
        elif isinstance(value, Mapping) and _kind(value) not in _REASONING:
            for field, part in value.items():
                self.read_message(part, _folded(field))
        elif isinstance(value, str) and name in ("text", "content"):
            self._read_text(value, opens=not self.cited)

    def _read_native(self, citation: Any) -> None:
        """Count the chunks of a native citation, unless its text contradicts its index."""
        quoted, named, shown = set[str](), list[tuple[str, ...]](), self._shown
        for name, value in leaves(citation):
            if name in ("citedtext", "quote"):
                quoted.update(self._quoting(value))
            elif name in _IDS and (id_ := shown.keys.get(str(value), value)) in shown.ids:
                named.append((id_,))
            elif name in _INDEXES and isinstance(value, int) and value >= 0:
                same = [ids for kind, ids in shown.blocks if ("result" in kind) is _INDEXES[name]]
                named += same[value : value + 1]
        for ids in named or [tuple(quoted)]:
            said = [id_ for id_ in ids if id_ in quoted] if quoted and named else ids
            if len(said) == 1:
                self.cited[said[0]] = None

    def _quoting(self, quote: Any) -> list[str]:
        """Return the shown chunks whose text has a quotation, whatever its white space."""
        words = quote[:2_000].split() if isinstance(quote, str) else []
        wanted = " ".join(words).strip(" .…\"'“”«»")
        return [id_ for id_, text in self._texts if len(wanted) >= _SHORTEST and wanted in text]

    # -- structured answers -----------------------------------------------------------

    def read_fields(self, value: Any, *, cites: bool = False, opens: bool = True) -> None:
        """Read nested values; ``cites``: they stand in a field for citations."""
        value = _plain(value)
        if isinstance(value, Mapping):
            fields = {_folded(name): part for name, part in value.items()}
            names = [fields[name] for name in _NAMING if isinstance(fields.get(name), str | int)]
            is_quoting = any(map(_CITING.fullmatch, fields)) and not _QUOTING.isdisjoint(fields)
            if names and (cites or is_quoting):  # {"source_id": 1, "quote": "..."}
                self._read_name(names[0])
                return
            for name, part in fields.items():
                cited = _CITING.fullmatch(name) is not None
                self.read_fields(part, cites=cited, opens=name in _ANSWERING)
        elif isinstance(value, list | tuple | set | frozenset):
            for part in value:
                self.read_fields(part, cites=cites, opens=False)
        elif cites and isinstance(value, str | int):
            self._read_name(value)
        elif isinstance(value, str):
            self._read_text(value, opens=opens)

    def _read_name(self, value: Any) -> None:
        """Count the keys in a field for citations, with brackets or without."""
        text = str(value).strip()[:_LONGEST_ANSWER]
        bare = not text.startswith(("[", "【"))
        for _, names in markers(f"[{text}]" if bare else text, self._known):
            self._cite(names)


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a native citation with the names of their fields."""
    value = _plain(value)
    if isinstance(value, Mapping):
        for key, part in value.items():
            inner = _folded(key)
            is_quote = inner == "text" and name in ("citedcontent", "sourcecontent")
            yield from leaves(part, "citedtext" if is_quote else inner)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from leaves(part, name)
    else:
        yield name, value


def _kind(block: Any) -> Any:
    return isinstance(block, Mapping) and (block.get("type") or block.get("block_type"))


def _plain(value: Any) -> Any:
    """Return pydantic models and dataclasses as dicts."""
    if callable(dump := getattr(value, "model_dump", None)) and not isinstance(value, type):
        return dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return value


def _json(text: str) -> Any:
    """Parse an answer that is a JSON object, perhaps in a code block; None if it is none."""
    text = text.strip().strip("`").removeprefix("json").strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _folded(name: object) -> str:
    return str(name).replace("_", "").replace("-", "").lower()
