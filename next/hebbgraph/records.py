"""The records that go in and come out: chunks, recalls with their hits, and reports."""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
)
from pydantic_core import to_jsonable_python

from hebbgraph.errors import InvalidChunkError
from hebbgraph.limits import (
    MAX_ADDRESS,
    MAX_ADDRESSES,
    MAX_ID,
    MAX_METADATA,
    MAX_METADATA_DEPTH,
    MAX_REFERENCES,
    MAX_TAG,
    MAX_TAGS,
    MAX_TEXT,
    MAX_TITLE,
)

__all__ = [
    "AddReport",
    "Chunk",
    "Cue",
    "DeleteReport",
    "Hit",
    "Neighbor",
    "PathStep",
    "Recall",
    "Record",
    "Tag",
    "plain",
    "storable",
    "text_digest",
]

#: Control characters other than tab and line ends, and lone surrogates.
_UNSTORABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
#: Windows-1252 text that was read as Latin-1 means these characters, as in HTML.
_MEANT = {
    chr(code): bytes([code]).decode("cp1252", "replace").replace("\ufffd", " ")
    for code in range(0x80, 0xA0)
}


class Record(BaseModel):
    """A frozen model that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def restored(cls, **fields: Any) -> Self:
        """Return a record of all its fields, unchecked: as unpickling does it."""
        # A quarter of the time of ``model_construct``.
        record = cls.__new__(cls)
        record.__setstate__(
            {
                "__dict__": fields,
                "__pydantic_fields_set__": set(fields),
                "__pydantic_extra__": None,
                "__pydantic_private__": None,
            }
        )
        return record


def storable(text: str) -> str:
    r"""Replace each character that some databases cannot store, keeping all positions.

    It becomes the Windows-1252 character that it stands for, or a space.

    >>> storable("ice\x00trade"), storable("It\x92s 5 \x80")
    ('ice trade', 'It’s 5 €')
    """
    return _UNSTORABLE.sub(lambda match: _MEANT.get(match[0], " "), text)


def text_digest(title: str, text: str) -> bytes:
    """Return a digest of 16 bytes; lessons are about the text that has it."""
    content = f"{title}\x1f{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=16).digest()


def plain(value: Any, depth: int = MAX_METADATA_DEPTH) -> JsonValue:
    """Return a value of metadata or of a filter as JSON can hold it.

    Moments with a zone become ISO 8601 text in UTC, so that their order is that of time; NaN
    becomes None; NumPy numbers and arrays, enums, sets, paths, decimals and UUIDs what they hold.

    Raises
    ------
    ValueError
        If JSON cannot hold the value, or it nests deeper than 64 levels.

    Examples
    --------
    >>> plain({"day": date(2024, 5, 17), "sizes": (2, 3), "rank": float("nan")})
    {'day': '2024-05-17', 'sizes': [2, 3], 'rank': None}
    """
    if value is None or isinstance(value, bool | int):
        return value if type(value) in (bool, int, type(None)) else int(value)  # type: ignore[arg-type]
    if isinstance(value, str):
        return storable(str(value))
    if isinstance(value, float):
        if value in (float("inf"), float("-inf")):
            raise ValueError(f"{value} is not a JSON number; leave it out")
        return None if value != value else float(value)
    if depth == 0:
        raise ValueError(f"lists and objects nest deeper than {MAX_METADATA_DEPTH} levels")
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(part, depth - 1) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        parts = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [plain(part, depth - 1) for part in parts]
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if callable(getattr(value, "tolist", None)):  # NumPy, PyTorch, pandas
        return plain(value.tolist(), depth - 1)
    try:
        return plain(to_jsonable_python(value), depth - 1)
    except ValueError as error:
        raise ValueError(
            f"JSON cannot hold a {type(value).__name__}; make it text, a number, a bool, a list "
            "or a dict, or leave it out"
        ) from error


def _strings(most: int, longest: int) -> Any:
    return Field(default=(), max_length=most, json_schema_extra={"longest": longest})


class Chunk(Record):
    """The unit that is retrieved.

    Parameters
    ----------
    text : str
        The text that is searched and shown; control characters become spaces. May be empty if
        there is a title.
    id : str, optional
        At most 512 printable characters, unique in its namespace; adding an existing id replaces
        that chunk. By default a digest of document id, title and text (32 hex digits), so adding
        the same text twice keeps one chunk.
    title : str
        Title or heading, at most 4,096 characters. It becomes a tag of every chunk that mentions
        it.
    metadata : dict
        A JSON object; filters compare its values, and some fields are searched
        (``Settings.search_metadata``). Dates, enums, NumPy numbers and the like are converted.
    document_id : str, optional
        The document that the chunk comes from; ``delete(document_id=...)`` and ``refresh`` act on
        all chunks of a document.
    tags : tuple of str
        Tags given by the caller, in addition to those found in the text.
    addresses : tuple of str
        Where this chunk can be found: its path, URL (with or without an anchor), message id, DOI,
        ``[[wiki name]]``, or the symbols that it defines. Several chunks may share one.
    references : tuple of str
        Addresses that this chunk links to, replies to, imports or uses. Recalls follow them,
        whether the chunk with the address is added before or after.

    Examples
    --------
    >>> Chunk(text="Synapses learn.", title="Synapse").id
    '59b4147ee0be33487f0c882969c51ab3'
    >>> Chunk(text="See below.", addresses=["a.md#top"], references=["a.md#rules"]).references
    ('a.md#rules',)
    """

    id: str = Field(default="", max_length=MAX_ID, strict=True)
    text: str = Field(max_length=MAX_TEXT, strict=True)
    title: str = Field(default="", max_length=MAX_TITLE, strict=True)
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    document_id: str | None = Field(default=None, max_length=MAX_ID, strict=True)
    tags: tuple[str, ...] = _strings(MAX_TAGS, MAX_TAG)
    addresses: tuple[str, ...] = _strings(MAX_ADDRESSES, MAX_ADDRESS)
    references: tuple[str, ...] = _strings(MAX_REFERENCES, MAX_ADDRESS)

    @field_validator("id", "document_id")
    @classmethod
    def _is_printable(cls, value: str | None) -> str | None:
        if value == "":
            raise ValueError("an id is not empty; leave it out where there is none")
        if value and not value.isprintable():
            raise ValueError("an id takes printable characters only")
        return value

    @field_validator("text", "title")
    @classmethod
    def _becomes_storable(cls, value: str) -> str:
        return storable(value)

    @field_validator("metadata", mode="before")
    @classmethod
    def _becomes_plain(cls, value: object) -> object:
        return plain(value) if value and isinstance(value, Mapping) else value

    @field_validator("metadata")
    @classmethod
    def _is_small(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        size = len(json.dumps(value, ensure_ascii=False).encode()) if value else 0
        if size > MAX_METADATA:
            raise ValueError(f"{size:,} bytes as JSON, at most {MAX_METADATA:,}")
        return value

    @field_validator("tags", "addresses", "references", mode="before")
    @classmethod
    def _is_list(cls, value: object) -> object:
        if isinstance(value, str):
            raise ValueError(f"a list of str, got {value!r:.80}; put it in a list")
        return value

    @field_validator("tags", "addresses", "references")
    @classmethod
    def _are_visible(cls, value: tuple[str, ...], info: Any) -> tuple[str, ...]:
        longest = MAX_TAG if info.field_name == "tags" else MAX_ADDRESS
        for item in value:
            if not item.strip() or len(item) > longest:
                raise ValueError(f"1 to {longest} visible characters, got {item!r:.80}")
        return tuple(dict.fromkeys(storable(item).strip() for item in value))

    def model_post_init(self, context: Any, /) -> None:
        if not self.id:
            content = "\x1f".join((self.document_id or "", self.title, self.text))
            digest = hashlib.sha256(content.encode()).hexdigest()[:32]
            object.__setattr__(self, "id", digest)

    @classmethod
    def of(cls, value: Chunk | Mapping[str, Any] | str) -> Self | Chunk:
        """Return an argument of ``HebbianIndex.add`` as a chunk.

        Raises
        ------
        InvalidChunkError
            With the reason, and the id if there is one.

        Examples
        --------
        >>> Chunk.of({"id": "a", "text": "Owls hunt."}).text, Chunk.of("Owls hunt.").title
        ('Owls hunt.', '')
        """
        if isinstance(value, Chunk):
            return value
        if isinstance(value, str):
            value = {"text": value}
        if not isinstance(value, Mapping):
            raise InvalidChunkError(
                f"a chunk is a Chunk, a dict or a str, got {type(value).__name__}; documents of a "
                "framework go to its adapter"
            )
        try:
            return cls.model_validate(dict(value))
        except ValidationError as error:
            raise InvalidChunkError(_first_problem(error, value.get("id"))) from error


def _first_problem(error: ValidationError, chunk_id: object) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, first["loc"])) or "chunk"
    name = f"chunk {chunk_id!r:.80}" if chunk_id else "chunk without id"
    return f"{name}: {field}: {first['msg'].removeprefix('Value error, ')}"


class Cue(Record):
    """A tag that a question names; ``weight`` is ``log(1 + N / df)``."""

    tag: str
    weight: float


class PathStep(Record):
    """One node on the path from the question to a hit.

    ``value`` is the tag's phrase or the chunk's id (empty for the question), ``title`` the
    chunk's title, ``weight`` the activation that arrived over this step.
    """

    kind: Literal["question", "tag", "chunk"]
    value: str = ""
    title: str = ""
    weight: float = 0.0


class Hit(Record):
    """A retrieved chunk.

    Attributes
    ----------
    id, document_id, title, text, metadata
        The chunk's.
    score : float, in [0, 1]
    rank : int, from 1
    path : tuple of PathStep
        The strongest path from the question to the chunk.
    has, lacks : tuple of str
        Words of the question, as typed, that the chunk holds, and those that it does not.
    words, vectors, graph : float, optional
        How well word search and vector search rate the chunk, and the activation that arrived,
        each in [0, 1]; None where it was not found by it.
    untaught : float, in [0, 1]
        The score without lessons.
    digest : str
        Identifies title and text, for lessons.
    """

    id: str
    document_id: str | None = None
    title: str = ""
    text: str = ""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    score: float
    rank: int
    path: tuple[PathStep, ...] = ()
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    words: float | None = None
    vectors: float | None = None
    graph: float | None = None
    untaught: float = 0.0
    digest: str = ""

    @property
    def label(self) -> str:
        """The title, or else the beginning of the text."""
        return self.title or " ".join(self.text[:240].split())[:60]

    @property
    def path_text(self) -> str:
        """The path on one line: tags in quotation marks, chunks by title or id.

        Examples
        --------
        >>> steps = [("question", "", ""), ("tag", "ida moss", ""), ("chunk", "c-7", "Tessel Bay")]
        >>> path = [PathStep(kind=kind, value=value, title=title) for kind, value, title in steps]
        >>> Hit(id="c-7", score=0.6, rank=1, path=path).path_text
        'question → «ida moss» → Tessel Bay'
        """
        return " → ".join(self._step_label(step) for step in self.path)

    def _step_label(self, step: PathStep) -> str:
        if step.kind == "question":
            return "question"
        if step.kind == "tag":
            return f"«{step.value}»"
        return step.title or (self.label if step.value == self.id else step.value)

    @property
    def why(self) -> str:
        """Why the chunk was retrieved, in a sentence.

        Examples
        --------
        >>> Hit(id="a", score=0.9, rank=1, has=("publish", "package"), lacks=("executable",)).why
        'has publish, package; lacks executable'
        """
        parts = []
        if self.has:
            parts.append(f"has {', '.join(self.has)}")
        if self.vectors is not None and self.vectors >= 0.5:
            parts.append("close in meaning")
        over = [step.value for step in self.path if step.kind == "tag"]
        if over:
            parts.append(f"reached over {', '.join(f'«{tag}»' for tag in over)}")
        if self.lacks:
            parts.append(f"lacks {', '.join(self.lacks)}")
        return "; ".join(parts) or "fills up the list"


class Recall(Record):
    """One retrieval: a self-contained record that can be kept and sent.

    Iterating gives the hits, best first; ``recall[0]`` is the first and ``recall["id"]`` the hit
    on that chunk.

    Attributes
    ----------
    id, namespace, strategy, question : str
    hits : tuple of Hit, best first
    cues : tuple of Cue
        The tags that the question names.
    notes : tuple of str
        Remarks for the reader: no tag is named, nothing is known, the filter leaves out all.
    confidence : float, in [0, 1], optional
        How sure it is that the index answers the question at all, comparable between questions;
        scores of hits are shares of it. None for strategies without it.
    vector : tuple of float, optional
        The embedding of the question.
    terms : dict of str to float
        The words of the question and their weights, as word search saw them.
    where : dict or "callable", optional
        The filter.
    changes : int
        The change counter of the index that answered.
    created : float
        Seconds since 1970 (UTC).
    """

    id: str
    namespace: str = "default"
    strategy: str = "spreading"
    question: str
    hits: tuple[Hit, ...] = ()
    cues: tuple[Cue, ...] = ()
    notes: tuple[str, ...] = ()
    confidence: float | None = None
    vector: tuple[float, ...] | None = Field(default=None, repr=False)
    terms: dict[str, float] = Field(default_factory=dict, repr=False)
    where: dict[str, JsonValue] | Literal["callable"] | None = Field(default=None, repr=False)
    changes: int = Field(default=0, repr=False)
    created: float = Field(default=0.0, repr=False)

    def __iter__(self) -> Iterator[Hit]:  # type: ignore[override]
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __bool__(self) -> bool:
        return bool(self.hits)

    def __getitem__(self, key: int | str) -> Hit:
        if isinstance(key, int):
            return self.hits[key]
        for hit in self.hits:
            if hit.id == key:
                return hit
        raise KeyError(key)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{hit.rank}</td><td>{hit.score:.3f}</td><td>{html.escape(hit.label)}</td>"
            f"<td>{html.escape(hit.why)}</td></tr>"
            for hit in self.hits
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        head = "<tr><th></th><th>score</th><th>chunk</th><th>why</th></tr>"
        return f"<p>{html.escape(self.question)}</p><table>{head}{rows}</table>{notes}"


class AddReport(Record):
    """What ``add`` and ``refresh`` did, in chunks; ``deleted`` are those that documents lost."""

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    deleted: int = 0


class DeleteReport(Record):
    """How many chunks ``delete`` removed, and whether no trace is left in the database's log.

    ``erased`` is False while a reader holds an older state of the database open: the texts are
    gone for everybody who asks, and their bytes are overwritten once that reader ends.
    """

    deleted: int = 0
    erased: bool = True


class Tag(Record):
    """A tag, and the number of chunks that hold it."""

    tag: str
    chunks: int
    titles: int = 0


class Neighbor(Record):
    """A co-occurrence edge: ``weight`` chunks hold both tags; ``learned`` is what lessons added."""

    tag: str
    weight: int
    learned: float = 0.0
