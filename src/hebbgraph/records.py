"""The records that go into the index and come out of it: chunks, recalls, feedback, reports.

All are frozen pydantic models. They can be stored, compared, serialised to JSON
(``model_dump_json``) and loaded again (``model_validate_json``) without the index.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from hebbgraph.errors import InvalidChunkError
from hebbgraph.limits import (
    MAX_ADDRESS,
    MAX_ADDRESSES,
    MAX_CONTEXT,
    MAX_ID,
    MAX_METADATA_BYTES,
    MAX_REFERENCES,
    MAX_TAG,
    MAX_TAGS,
    MAX_TITLE,
    too_long,
)
from hebbgraph.moments import as_moment
from hebbgraph.nesting import too_deep
from hebbgraph.plain_values import plain

__all__ = [
    "AddReport",
    "Causes",
    "Chunk",
    "Colony",
    "Cue",
    "DoctorReport",
    "Explanation",
    "FailedChunk",
    "Feedback",
    "Finding",
    "Hit",
    "LearnedEffect",
    "LearnedParameter",
    "Part",
    "PathStep",
    "PruneReport",
    "Recall",
    "ShownChunk",
    "Stale",
    "TaggingReport",
    "Turn",
    "readable_links",
    "searched",
    "storable",
    "text_hash",
    "unstorable",
]

_FROZEN = ConfigDict(frozen=True, extra="forbid")
_FLATTEN = "flatten it, or keep it elsewhere and its key here"
# Control characters other than tab and line ends, and lone surrogates.
_UNSTORABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
# What a page means by them that was written in Windows-1252 and read as Latin-1, as HTML has it.
_MEANT = {
    chr(code): bytes([code]).decode("cp1252", "replace").replace("\ufffd", " ")
    for code in range(0x80, 0xA0)
}


def unstorable(text: str) -> str | None:
    """Describe the first character that some databases cannot store, if any."""
    found = _UNSTORABLE.search(text)
    if found is None:
        return None
    kind = "lone surrogate" if found[0] >= "\ud800" else "control character"
    return f"{kind} U+{ord(found[0]):04X} at position {found.start()}"


def storable(text: str) -> str:
    r"""Replace each character that some databases cannot store by one that they can.

    Those that stand for a Windows-1252 character become that, all others a space; so positions
    in the text stay.

    >>> storable("ice\x00trade"), storable("It\x92s 5 \x80")
    ('ice trade', 'It’s 5 €')
    """
    return _UNSTORABLE.sub(lambda found: _MEANT.get(found[0], " "), text)


def readable_links(values: object, most: int) -> tuple[str, ...]:
    """Return what of foreign metadata can be addresses or references: a str, or some of a list.

    Examples
    --------
    >>> readable_links(["a.md", None, " ", "b.md#x"], 9), readable_links("a.md", 9)
    (('a.md', 'b.md#x'), ('a.md',))
    """
    held = [values] if isinstance(values, str) else values if isinstance(values, list) else []
    links = (storable(one).strip() for one in held if isinstance(one, str))
    return tuple(one for one in dict.fromkeys(links) if 0 < len(one) <= MAX_ADDRESS)[:most]


def text_hash(title: str, text: str) -> str:
    """Return a hash of title and text, 16 hex digits, that identifies what was cited.

    >>> text_hash("Owl", "Owls hunt at night.")
    '0810f9ff18fd5a7a'
    """
    return hashlib.blake2b(f"{title}\x1f{text}".encode(), digest_size=8).hexdigest()


def searched(text: str, context: str | None) -> str:
    """Return the text that is searched: that which is shown, then the context."""
    return f"{text}\n\n{context}" if context else text


class Chunk(BaseModel):
    """The unit that is retrieved.

    Parameters
    ----------
    text : str
        The text that is searched and shown. May be empty if there is a title.
    id : str, optional
        At most 512 characters, unique in its namespace; adding an existing id replaces
        that chunk. By default the SHA-256 of document id, title and text (32 hex digits),
        so that adding the same text twice keeps one chunk.
    title : str
        Title or heading. It becomes a tag of every chunk that mentions it.
    metadata : dict
        Dates, enums, numbers of NumPy and the like are kept as JSON can say them, and NaN is
        left out; see :mod:`hebbgraph.plain_values`.
        Any JSON object that nests at most 128 deep; what filters look at.
    document_id : str, optional
        The document that the chunk comes from; ``HebbianIndex.delete(document_id=...)``
        removes all chunks of a document.
    context : str, optional
        Text that is searched with the chunk, by words, vectors and tags, and not shown: the
        headings above it, the subject of its thread, a summary. At most 10,000 characters. By
        default what metadata says (``Settings.search_metadata``); an empty str is none.
    tags : tuple of str
        Tags given by the caller, in addition to those the tagger finds.
    addresses : tuple of str
        Where others find this chunk: its path, URL (with an anchor or without), message id,
        DOI, ``[[wiki name]]``, or the symbols that it defines. Several chunks may share one.
    references : tuple of str
        Addresses that this chunk links to, replies to, imports or uses. Recalls follow them,
        whether the chunk that has the address is added before or after. A reference to
        ``page#anchor`` also leads to ``page``. Relative links must be resolved first
        (:mod:`hebbgraph_documents` does).
    valid_from, valid_until : datetime, date or str, optional
        When the text holds: from an instant on, and before another. A str is ISO 8601; a date is
        its first instant, and a time without a zone is in UTC. See ``docs/time.md``.
    supersedes : tuple of str
        Ids or addresses of chunks that this one takes the place of, from ``valid_from`` on.
    version_of : str, optional
        Set by the index on old versions that it keeps: the id of the chunk.

    Examples
    --------
    >>> Chunk(text="Synapses learn.", title="Synapse").id
    '59b4147ee0be33487f0c882969c51ab3'
    >>> Chunk(text="See below.", addresses=("a.md#top",), references=("a.md#rules",)).references
    ('a.md#rules',)
    """

    model_config = _FROZEN

    id: str = Field(default="", max_length=MAX_ID, strict=True)
    text: str = Field(strict=True)  # bytes are not text
    title: str = Field(default="", max_length=MAX_TITLE, strict=True)
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    document_id: str | None = Field(default=None, max_length=MAX_ID)
    context: str | None = Field(default=None, max_length=MAX_CONTEXT, strict=True)
    tags: tuple[str, ...] = Field(default=(), max_length=MAX_TAGS)
    addresses: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    supersedes: tuple[str, ...] = ()
    version_of: str | None = Field(default=None, max_length=MAX_ID)

    @field_validator("id", "document_id")
    @classmethod
    def _id_is_printable(cls, value: str | None) -> str | None:
        if value == "":
            raise ValueError("an id is not empty; leave it out where there is none")
        if value and not value.isprintable():
            raise ValueError("an id takes printable characters only")
        return value

    @property
    def searched(self) -> str:
        """The text that is searched: that which is shown, then the context."""
        return searched(self.text, self.context)

    @field_validator("text", "title", "context")
    @classmethod
    def _text_is_storable(cls, value: str | None) -> str | None:
        if value is None:
            return None
        if (found := unstorable(value)) is not None:
            raise ValueError(
                f"{found}; remove it, or let add() replace it (in a str or dict, unless strict)"
            )
        if (found := too_long(value)) is not None:  # max_length would hide what is unstorable
            raise ValueError(f"{found}; split the text")
        return value

    @field_validator("metadata", mode="before")  # pydantic itself would only say "recursion"
    @classmethod
    def _metadata_is_shallow(cls, value: object) -> object:
        if not value or not isinstance(value, dict):
            return value
        if (found := too_deep(value)) is not None:
            raise ValueError(f"{found}; {_FLATTEN}")
        return plain(value)

    @field_validator("metadata")
    @classmethod
    def _metadata_is_storable(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if value:  # dumping raises for NaN and lone surrogates
            size = len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
            if size > MAX_METADATA_BYTES:
                raise ValueError(
                    f"{size} bytes as JSON, at most {MAX_METADATA_BYTES}; keep large values "
                    "elsewhere, and their key here"
                )
        return value

    @field_validator("tags", "addresses", "references", "supersedes", mode="before")
    @classmethod
    def _is_no_text(cls, value: object, info: ValidationInfo) -> object:
        if isinstance(value, str):
            raise ValueError(
                f"a list of str, got {value!r:.80}; put it in a list: "
                f"{info.field_name}=[{value!r:.80}]"
            )
        return value

    @field_validator("tags")
    @classmethod
    def _tags_are_storable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for tag in value:
            if not tag.strip() or unstorable(tag) is not None:
                raise ValueError(f"a tag takes visible characters, got {tag!r}")
            if len(tag) > MAX_TAG:
                raise ValueError(f"a tag has at most {MAX_TAG} characters, got {len(tag)}")
        return value

    @field_validator("valid_from", "valid_until", mode="before")
    @classmethod
    def _is_a_moment(cls, value: object) -> datetime | None:
        return None if value is None else as_moment(value)

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Self:
        begins, ends = self.valid_from, self.valid_until
        if begins is not None and ends is not None and ends <= begins:
            raise ValueError(
                f"valid_until ({ends.isoformat()}) must lie after valid_from "
                f"({begins.isoformat()}); leave out the one that is unknown"
            )
        return self

    @field_validator("addresses", "references", "supersedes")
    @classmethod
    def _links_are_storable(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        most = MAX_ADDRESSES if info.field_name == "addresses" else MAX_REFERENCES
        if len(value) > most:
            raise ValueError(f"{len(value)} of them, at most {most}; split the chunk")
        for link in value:
            if not link.strip() or unstorable(link) is not None:
                raise ValueError(f"an address takes visible characters, got {link!r:.80}")
            if len(link) > MAX_ADDRESS:
                raise ValueError(
                    f"an address has at most {MAX_ADDRESS} characters, got {len(link)}"
                )
        return value

    def model_post_init(self, context: Any, /) -> None:
        if not self.id:
            content = "\x1f".join((self.document_id or "", self.title, self.text))
            digest = hashlib.sha256(content.encode()).hexdigest()[:32]
            object.__setattr__(self, "id", digest)

    @classmethod
    def coerce(cls, value: Chunk | dict[str, Any] | str) -> Self | Chunk:
        """Convert an argument of ``HebbianIndex.add`` to a chunk.

        Raises
        ------
        InvalidChunkError
            With the reason, and the id if there is one.
        """
        if isinstance(value, Chunk):
            # Looked at again: a dict can be changed, and a copy is made without a look.
            if value.metadata and (found := too_deep(value.metadata)) is not None:
                raise InvalidChunkError(f"chunk {value.id!r}: metadata: {found}; {_FLATTEN}")
            return value
        if isinstance(value, str):
            value = {"text": value}
        if not isinstance(value, dict):
            raise InvalidChunkError(
                f"a chunk must be a Chunk, a dict or a str, got {type(value).__name__}"
            )
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"][:5]) or "chunk"
            name = repr(value["id"])[:80] if value.get("id") else "without id"
            message = first["msg"].removeprefix("Value error, ")
            raise InvalidChunkError(f"chunk {name}: {field}: {message}") from error
        except UnicodeEncodeError as error:
            raise InvalidChunkError(f"chunk {value.get('id')!r}: {error}") from error


class Cue(BaseModel):
    """A known tag that the query names.

    ``weight`` is ``log(1 + N / df)``: rare tags weigh more. One that an earlier turn of the
    conversation names instead (``from_history``) weighs as much less as the turn does.
    """

    model_config = _FROZEN

    tag: str
    weight: float
    from_history: bool = False


class Turn(BaseModel):
    """What was asked or said earlier in a conversation, and how much it counted, up to .5."""

    model_config = _FROZEN

    text: str
    weight: float


class PathStep(BaseModel):
    """One node on the path from the query to a hit.

    ``kind`` is ``query``, ``tag``, ``chunk`` or ``episode``; ``value`` is the tag's
    phrase, the chunk's id or the episode's id (empty for the query); ``title`` is the
    chunk's title; ``weight`` is the activation that arrived over this step.
    """

    model_config = _FROZEN

    kind: Literal["query", "tag", "chunk", "episode"]
    value: str = ""
    title: str = ""
    weight: float = 0.0


class Stale(BaseModel):
    """Why a hit is stale: since when it no longer holds, if that is known, and what replaces it.

    ``replaced_by`` holds ids of chunks; it is empty for one that only expired.
    """

    model_config = _FROZEN

    since: datetime | None = None
    replaced_by: tuple[str, ...] = ()


class Hit(BaseModel):
    """A retrieved chunk with its score, rank (from 1) and strongest path.

    ``stale`` says that it was superseded or has expired, and by what; None if it holds.

    With an external text store, ``text_hash`` identifies the indexed text, whether
    ``chunk.text`` holds it or not. ``reranked`` is what a reranker said, in its own scale.
    ``evidence`` is how well the chunk answers by itself, without graph and learning; None by
    strategies that do not search. ``lexical`` and ``dense`` are what it was fused from; None
    for a chunk that is no candidate of search, and for a search that was not made.
    ``unlearned`` is what the score would be, before confidence, without what was taught.
    """

    model_config = _FROZEN

    chunk: Chunk
    score: float
    rank: int
    path: tuple[PathStep, ...] = ()
    text_hash: str | None = Field(default=None, pattern="^[0-9a-f]{16}$", repr=False)
    reranked: float | None = None
    stale: Stale | None = None
    evidence: float | None = Field(default=None, ge=0.0, le=1.0, repr=False)
    lexical: float | None = Field(default=None, ge=0.0, le=1.0, repr=False)
    dense: float | None = Field(default=None, ge=0.0, le=1.0, repr=False)
    unlearned: float | None = Field(default=None, ge=0.0, le=1.0, repr=False)

    @property
    def lacks_text(self) -> bool:
        """Whether the external text store did not return the indexed text."""
        if self.text_hash is None:
            return False
        return self.text_hash != text_hash(self.chunk.title, self.chunk.text)

    @property
    def hash_of_text(self) -> str:
        """Hash of the indexed text; see :func:`text_hash`."""
        return self.text_hash or text_hash(self.chunk.title, self.chunk.text)

    @property
    def stale_mark(self) -> dict[str, JsonValue]:
        """Of a stale hit, ``{"stale": {"since": ..., "replaced_by": [...]}}``; else empty."""
        return {} if self.stale is None else {"stale": self.stale.model_dump(mode="json")}

    @property
    def path_text(self) -> str:
        """The path on one line: tags in quotation marks, chunks by title or id.

        Examples
        --------
        >>> steps = [("query", "", ""), ("tag", "ida moss", ""), ("chunk", "c-7", "Tessel Bay")]
        >>> path = [PathStep(kind=kind, value=value, title=title) for kind, value, title in steps]
        >>> Hit(chunk=Chunk(id="c-7", text="…"), score=0.6, rank=1, path=path).path_text
        'question → «ida moss» → Tessel Bay'
        """
        named = {"query": "question", "episode": "an earlier question"}
        return " → ".join(
            named.get(step.kind)
            or (f"«{step.value}»" if step.kind == "tag" else step.title or step.value)
            for step in self.path
        )


class Recall(BaseModel):
    """One retrieval: a self-contained record that can be stored and passed back later.

    Attributes
    ----------
    id : str
    namespace, strategy, query : str
    cues : tuple of Cue
        Empty if the query names no known tag; ``notes`` then says so.
    hits : tuple of Hit, best first
    notes : tuple of str
        Remarks for the reader, e.g. ``"no known tag in the query"``.
    confidence : float, in [0, 1], optional
        How sure it is that the index speaks of the question at all, comparable between
        questions and indexes. The scores of hits are shares of it. None by strategies that
        cannot tell.
    nothing_known : bool
        Whether ``confidence`` is so low that the question is likely about something else.
    dense_share, dense_shift : float, optional
        The share of dense search in direct evidence, and what citations had added to
        :attr:`EvidenceWeights.dense` by then. None without dense search.
    generation : int
        State of the index that answered.
    created_at : float
        Seconds since the epoch (UTC).
    vector : tuple of float, optional
        Embedding of the query, if there was an embedder; with earlier turns, mixed with theirs.
    history : tuple of Turn
        Earlier turns that counted, oldest first.
    where : dict or "callable", optional
        The filter. What it excludes takes no part in explanations either.
    terms : tuple of (str, float), optional
        Hashes of the question's words and their weights, if the question itself was not kept.
    as_of : datetime, optional
        The moment that it was asked for.
    seal : str
        By which the index knows a recall that comes back for its own
        (:mod:`hebbgraph.store.seal`).
    """

    model_config = _FROZEN

    id: str
    namespace: str
    strategy: str
    query: str
    cues: tuple[Cue, ...] = ()
    hits: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()
    confidence: float | None = Field(default=None, ge=0.0, le=1.0)
    nothing_known: bool = False
    dense_share: float | None = Field(default=None, ge=0.0, le=1.0, repr=False)
    dense_shift: float = Field(default=0.0, ge=-1.0, le=1.0, repr=False)
    generation: int = 0
    created_at: float = 0.0
    vector: tuple[float, ...] | None = Field(default=None, repr=False)
    history: tuple[Turn, ...] = ()
    terms: tuple[tuple[str, float], ...] | None = Field(default=None, repr=False)
    where: dict[str, JsonValue] | Literal["callable"] | None = Field(default=None, repr=False)
    as_of: datetime | None = None
    seal: str = Field(default="", max_length=64, repr=False)

    def hit(self, chunk_id: str) -> Hit | None:
        """Return the hit on ``chunk_id``, or None if it was not retrieved."""
        return next((hit for hit in self.hits if hit.chunk.id == chunk_id), None)

    def trail(self, chunk_id: str) -> dict[str, JsonValue]:
        """Return how a hit was found, as plain data: what adapters write with ``include_path``.

        Returns
        -------
        dict
            ``recall_id``, ``namespace``, ``rank``, ``path`` (:attr:`Hit.path_text`), the ``cues``
            of the question, the ``tags`` on the path, and of a stale hit ``stale``. Empty if it is
            no hit.

        Examples
        --------
        >>> steps = (PathStep(kind="query"), PathStep(kind="tag", value="ida moss"))
        >>> hit = Hit(chunk=Chunk(id="c-7", text="…"), score=0.6, rank=1, path=steps)
        >>> recall = Recall(id="r", namespace="n", strategy="s", query="Who?", hits=(hit,))
        >>> recall.trail("c-7")["path"], recall.trail("c-7")["tags"]
        ('question → «ida moss»', ['ida moss'])
        """
        hit = self.hit(chunk_id)
        if hit is None:
            return {}
        return {
            "recall_id": self.id,
            "namespace": self.namespace,
            "rank": hit.rank,
            "path": hit.path_text,
            "cues": [cue.tag for cue in self.cues],
            "tags": [step.value for step in hit.path if step.kind == "tag"],
            **hit.stale_mark,
        }


def lesson_digest(
    recall_id: str,
    actor: str | None,
    cited: Iterable[str],
    rejected: Iterable[str],
    shown: Iterable[str],
) -> bytes:
    """Return 16 bytes that are equal for equal recall, citation and actor."""
    parts = [
        recall_id,
        "" if actor is None else f"={actor}",
        *sorted(cited),
        "/",
        *sorted(rejected),
        "/",
        *sorted(shown),
    ]
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=16).digest()


class ShownChunk(BaseModel):
    """A chunk that was in the prompt: its rank in the recall, and the hash of its text.

    ``score``, ``lexical``, ``dense`` and ``unlearned`` are those of its hit.
    """

    model_config = _FROZEN

    chunk_id: str = Field(max_length=512)
    rank: int = Field(ge=1)
    text_hash: str = Field(pattern="^[0-9a-f]{16}$")
    score: float | None = Field(default=None, ge=0.0, le=1.0)
    lexical: float | None = Field(default=None, ge=0.0, le=1.0)
    dense: float | None = Field(default=None, ge=0.0, le=1.0)
    unlearned: float | None = Field(default=None, ge=0.0, le=1.0)


class Feedback(BaseModel):
    """Which of the shown chunks an answer cited, and everything learning needs.

    Attributes
    ----------
    id, namespace, recall_id : str
    actor : str, optional
        Who gave the feedback. What nobody is named for counts, together, as one actor's.
    trusted : bool
        Whether the application vouches for it: it then counts in full, whoever gave it.
    origin : str
        Where it was imported from; empty if it was given here.
    created_at : float
        Seconds since the epoch (UTC).
    evidence : tuple of float, in [0, 1]
        Direct evidence of the recall's hits, best hit first; empty if it is not known.
    dense_share, dense_shift : float, optional
        See :class:`Recall`.
    shown : tuple of ShownChunk
    named : tuple of ShownChunk
        Chunks that were cited or rejected, and not shown; their rank says nothing.
    cited, rejected : tuple of str
        Ids of chunks, shown or named.
    ratings : dict of str to float, in [-1, 1]
        How good those chunks were, by id, where somebody rated them. Others count in full.
    reasons : dict of str to str
        Why, by id, as it was given.
    cues : tuple of Cue
        Phrase keys of the query, and their weights.
    terms : tuple of (str, float)
        Hashes of the query's words, and their weights.
    paths : tuple of tuple of PathStep
        Paths to the cited chunks.
    vector : tuple of float, optional
        Embedding of the query in half precision, made by ``embedder``.
    query : str, optional
        The question itself; stored only with the setting ``store_queries``.
    """

    model_config = _FROZEN

    id: str = Field(min_length=1, max_length=64)
    namespace: str
    recall_id: str = Field(max_length=512)
    actor: str | None = Field(default=None, min_length=1, max_length=512)
    trusted: bool = False
    origin: str = Field(default="", max_length=512)
    created_at: float = 0.0
    evidence: tuple[float, ...] = Field(default=(), repr=False)
    dense_share: float | None = Field(default=None, ge=0.0, le=1.0)
    dense_shift: float = Field(default=0.0, ge=-1.0, le=1.0)
    shown: tuple[ShownChunk, ...] = Field(default=(), repr=False)
    named: tuple[ShownChunk, ...] = Field(default=(), repr=False)
    cited: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    ratings: dict[str, float] = Field(default_factory=dict)
    reasons: dict[str, str] = Field(default_factory=dict)
    cues: tuple[Cue, ...] = Field(default=(), repr=False)
    terms: tuple[tuple[str, float], ...] = Field(default=(), repr=False)
    paths: tuple[tuple[PathStep, ...], ...] = Field(default=(), repr=False)
    vector: tuple[float, ...] | None = Field(default=None, repr=False)
    embedder: str | None = None
    query: str | None = None

    @property
    def known_chunks(self) -> tuple[ShownChunk, ...]:
        """All chunks that it speaks of: those shown, then those named."""
        return (*self.shown, *self.named)


class LessonRecord(BaseModel):
    """One thing that an index was taught, as people read it.

    Attributes
    ----------
    feedback_id, recall_id : str
    created_at : float
        Seconds since the epoch (UTC).
    actor : str, optional
    origin : str
        Where it was imported from; empty if it was given here.
    question : str, optional
        If questions are kept (``LearningSettings(store_queries=True)``).
    cited, rejected : tuple of str
        Chunk ids.
    ratings : dict of str to float
    reasons : dict of str to str
    shown : tuple of str
        Chunk ids, in the order of the recall.
    edges : int
        Learned edges that it shaped.
    active : int
        How many of them recalls follow: the others are too weak, are of somebody who is not
        believed, or lead to chunks that are gone or have changed. 0 means that the lesson has no
        effect any more.
    weight : float, in [0, 1]
        How far whoever gave it is believed now, which scales all that it says.
    """

    model_config = _FROZEN

    feedback_id: str
    recall_id: str
    created_at: float
    actor: str | None = None
    origin: str = ""
    question: str | None = None
    cited: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    ratings: dict[str, float] = Field(default_factory=dict)
    reasons: dict[str, str] = Field(default_factory=dict)
    shown: tuple[str, ...] = ()
    edges: int = 0
    active: int = 0
    weight: float = 1.0


class Credit(BaseModel):
    """What one answer teaches one recall; ``teaches`` is the id of the feedback.

    ``trusted`` says whether the application vouches for it.
    """

    model_config = _FROZEN

    recall_id: str
    cited: tuple[str, ...]
    shown: tuple[str, ...]
    actor: str | None = None
    trusted: bool = False

    def teaches(self, *, good: bool = True) -> str:
        """Return the id of the feedback that this gives, or of its opposite."""
        cited, rejected = (self.cited, ()) if good else ((), self.cited)
        return lesson_digest(self.recall_id, self.actor, cited, rejected, self.shown).hex()


class AnswerRecord(BaseModel):
    """An answer that a learner has read, and what links it to its lessons.

    Attributes
    ----------
    outcome : str
        ``"learned"``, or in a word why it taught nothing.
    names : tuple of str
        What a later verdict may call it: ids of runs and of recalls.
    conversation : str, optional
        Later turns of it may cite what these recalls found.
    recalls : tuple of Recall
        Those of the answer, and those that it gives credit to; without vectors of other models,
        texts, and the question unless it may be kept.
    credits : tuple of Credit
    embedder : str, optional
        The model of the recalls' vectors.
    created_at : float
        Seconds since the epoch (UTC).
    number : int, optional
        Its place in the index, once it is kept.
    """

    model_config = _FROZEN

    outcome: str
    names: tuple[str, ...] = ()
    conversation: str | None = None
    recalls: tuple[Recall, ...] = ()
    credits: tuple[Credit, ...] = ()
    embedder: str | None = None
    created_at: float = 0.0
    number: int | None = None


class LearnedEffect(BaseModel):
    """The effect of one feedback on the score of one chunk.

    ``family`` says by what it was recalled (``words``, ``vectors`` or ``pairs``), ``source`` the
    recall that taught it, or for pairs the chunk that led there, and ``effect`` its share of the
    change in score.
    """

    model_config = _FROZEN

    feedback_id: str
    recall_id: str
    actor: str | None = None
    family: Literal["words", "vectors", "pairs"]
    source: str
    effect: float


class Causes(BaseModel):
    """What a score is made of; the parts add up to it.

    Attributes
    ----------
    lexical, dense : float
        Words in common, and nearness of embeddings.
    graph : float
        Activation that arrived over what the texts say.
    learned : float
        What past citations changed; below 0 if they speak against the chunk.
    other : float
        In an explanation of a hit, what its score owes to what a replay does not know: ``seeds=``,
        a reranker, a filter of your own, earlier versions, changes since the recall. 0 if nothing.
    """

    model_config = _FROZEN

    lexical: float = 0.0
    dense: float = 0.0
    graph: float = 0.0
    learned: float = 0.0
    other: float = 0.0


class Explanation(BaseModel):
    """Why a chunk ranks where it does, for the query of a recall.

    Attributes
    ----------
    chunk_id : str
    rank : int, optional
        Rank in the recall; None if the chunk was not among its hits.
    score, direct, activation : float, in [0, 1]
        The current score, its direct evidence, and what arrived over the graph; all of them
        before a reranker.
    reranked : float, optional
        What the reranker said in the recall, in its own scale.
    excluded : bool
        Whether the filter of the recall excludes the chunk. If that was a callable, all chunks
        are taken for excluded but the hits and those on their paths.
    confidence : float, in [0, 1]
        Of the recall; ``direct`` and ``activation`` are combined, then multiplied by it.
    lexical, dense : float, in [0, 1], optional
        What direct evidence was fused from; None for a chunk that no search returned, and for
        a search that was not made.
    dense_share : float, in [0, 1]
        The share of ``dense`` for this question.
    causes : Causes
        What ``score`` is made of.
    path : tuple of PathStep
        The strongest path to the chunk.
    cues : tuple of Cue
    tags : tuple of str
        The chunk's tags.
    unlearned_score : float, in [0, 1]
        The score without any feedback.
    learned : tuple of LearnedEffect
        Effects of past feedback on the score, the strongest first.
    """

    model_config = _FROZEN

    chunk_id: str
    rank: int | None = None
    score: float = 0.0
    direct: float = 0.0
    activation: float = 0.0
    reranked: float | None = None
    excluded: bool = False
    confidence: float = 1.0
    lexical: float | None = None
    dense: float | None = None
    dense_share: float = 0.0
    causes: Causes = Causes()
    path: tuple[PathStep, ...] = ()
    cues: tuple[Cue, ...] = ()
    tags: tuple[str, ...] = ()
    unlearned_score: float = 0.0
    learned: tuple[LearnedEffect, ...] = ()


class LearnedParameter(BaseModel):
    """How far memory is trusted here, where exams have moved it; see ``docs/learning.md``.

    Attributes
    ----------
    name : str
        What memory goes by: how alike questions are in ``words`` or ``vectors``, how ``often``
        such questions cited a chunk, ``pairs`` of chunks cited together; or the ``handicap`` of
        chunks that were taught, so that others do not sink.
    value, default : float
        In units of the score: what it is here, and without exams.
    lessons, actors : int
        How many lessons were exams, and whose.

    Examples
    --------
    >>> print(LearnedParameter(name="words", value=0.52, default=0.62, lessons=214, actors=12))
    memory by words counts .52 here, by 214 exams of 12 actors (default .62)
    """

    model_config = _FROZEN

    name: Literal["words", "often by words", "vectors", "often by vectors", "pairs", "handicap"]
    value: float
    default: float
    lessons: int
    actors: int

    def __str__(self) -> str:
        value, default = (f"{one:.2f}".removeprefix("0") for one in (self.value, self.default))
        said = "taught chunks lose" if self.name == "handicap" else f"memory by {self.name} counts"
        said = said.replace("by often by", "by how often, by")
        exams = f"{self.lessons} exam{'s' * (self.lessons != 1)}"
        actors = f"{self.actors} actor{'s' * (self.actors != 1)}"
        return f"{said} {value} here, by {exams} of {actors} (default {default})"


class PruneReport(BaseModel):
    """What ``prune`` would remove, or has removed.

    Attributes
    ----------
    min_weight : float
        The threshold.
    edges : dict of str to int
        Number of learned edges, by family.
    weak : dict of str to int
        Number of edges below the threshold, which recalls ignore.
    masked : dict of str to int
        Number of edges to chunks that were deleted or whose text has changed.
    feedback : int
        Number of feedbacks without effect: all their edges are weak or masked.
    erased : int
        Number of these that were erased.
    """

    model_config = _FROZEN

    min_weight: float
    edges: dict[str, int] = Field(default_factory=dict)
    weak: dict[str, int] = Field(default_factory=dict)
    masked: dict[str, int] = Field(default_factory=dict)
    feedback: int = 0
    erased: int = 0


class Colony(BaseModel):
    """A community of chunks.

    Attributes
    ----------
    id : int
        Stable while chunks come and go; filter with ``where={"$colony": id}``.
    name : str
        Its most characteristic tags.
    tags : tuple of str
        More tags, the most characteristic first.
    chunks : int
        Number of chunks.
    """

    model_config = _FROZEN

    id: int
    name: str
    tags: tuple[str, ...]
    chunks: int


Part = Literal[
    "database", "texts", "feedback", "snapshot", "lexical", "graph", "vectors", "learned",
    "colonies", "recalls",
]  # fmt: skip


class Finding(BaseModel):
    """A problem in the index. ``repaired`` says whether it has been fixed."""

    model_config = _FROZEN

    part: Part
    problem: str
    repaired: bool = False


class DoctorReport(BaseModel):
    """The report of ``doctor``.

    Attributes
    ----------
    generation : int
    chunks, feedbacks : int
    findings : tuple of Finding
        Problems; empty if there are none.
    notes : tuple of str
        Advice, though nothing is wrong.
    """

    model_config = _FROZEN

    generation: int
    chunks: int
    feedbacks: int
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there are no problems, or all have been repaired."""
        return all(finding.repaired for finding in self.findings)


class TaggingReport(BaseModel):
    """The outcome and cost of tagging with a model.

    Attributes
    ----------
    tagged : int
        Chunks with an answer, new or stored.
    cached : int
        Chunks among them whose answer was stored and cost nothing.
    calls : int
        Calls of a language model, including failed ones.
    input_tokens, output_tokens : int
        As far as the model reports them.
    failed : tuple of (chunk id, reason)
        These chunks keep the tags found without a model; ``HebbianIndex.retag`` tries
        them again.
    """

    model_config = _FROZEN

    tagged: int = 0
    cached: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    failed: tuple[tuple[str, str], ...] = ()

    def __add__(self, other: TaggingReport) -> TaggingReport:
        """Add up two reports."""
        mine, theirs = self.model_dump(), other.model_dump()
        return TaggingReport(**{name: mine[name] + theirs[name] for name in mine})


class FailedChunk(BaseModel):
    """A chunk that ``add(on_error="skip")`` left out: its position in the call, its id, and why."""

    model_config = _FROZEN

    position: int
    id: str | None = None
    reason: str


class AddReport(BaseModel):
    """What one ``add`` or ``refresh`` committed.

    ``unchanged`` counts chunks that already existed, equal in every field; they cost
    nothing and keep their learned weights. ``deleted`` counts chunks that a refreshed
    document no longer has. ``cleaned`` counts chunks of which characters were replaced that
    cannot be kept, ``failed`` lists those that were skipped. ``tagging`` is None without a tagger.
    """

    model_config = _FROZEN

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    deleted: int = 0
    cleaned: int = 0
    failed: tuple[FailedChunk, ...] = ()
    batches: int = 0
    generation: int = 0
    seconds: float = 0.0
    tagging: TaggingReport | None = None

    def __add__(self, other: AddReport) -> AddReport:
        """Add up two reports."""
        counts = ("added", "replaced", "unchanged", "deleted", "cleaned", "batches", "seconds")
        tagging = [one.tagging for one in (self, other) if one.tagging is not None]
        return AddReport(
            **{name: getattr(self, name) + getattr(other, name) for name in counts},
            failed=self.failed + other.failed,
            generation=max(self.generation, other.generation),
            tagging=sum(tagging[1:], start=tagging[0]) if tagging else None,
        )
