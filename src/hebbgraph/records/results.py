"""What calls return: a recall with its hits, and lessons and reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, overload

from pydantic import Field, JsonValue

from hebbgraph.records.base import Record


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
        'has publish, package; raised by lessons; lacks executable'
        """
        parts = []
        if self.has:
            parts.append(f"has {', '.join(self.has)}")
        if self.vectors is not None and self.vectors >= 0.5:
            parts.append("close in meaning")
        if over := dict.fromkeys(step.value for step in self.path if step.kind == "tag"):
            parts.append(f"reached over {', '.join(f'«{tag}»' for tag in over)}")
        if self.score > self.untaught + 1e-6:
            parts.append("raised by lessons")
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
        The words of the question, and the weight of each times ``log(1 + N / df)``.
    active : dict of str to float
        The tags that the best chunks pass most activation to, without lessons.
    shares : tuple of float, optional
        The share of vectors in direct evidence, and the weight of the graph.
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
    active: dict[str, float] = Field(default_factory=dict, repr=False)
    shares: tuple[float, float] | None = Field(default=None, repr=False)
    where: dict[str, JsonValue] | Literal["callable"] | None = Field(default=None, repr=False)
    changes: int = Field(default=0, repr=False)
    created: float = Field(default=0.0, repr=False)

    def __iter__(self) -> Iterator[Hit]:  # type: ignore[override]
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, key: int | str) -> Hit: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, key: int | str | slice) -> Hit | tuple[Hit, ...]:
        if isinstance(key, int | slice):
            return self.hits[key]
        return {hit.id: hit for hit in self.hits}[key]


class Lesson(Record):
    """What somebody said of a recall.

    Attributes
    ----------
    id, recall : str
        Its own id, and that of the recall.
    question : str
        Empty unless ``Settings.keep_questions``.
    cited, rejected : dict of str to str
        Ids of chunks, and digests of their texts.
    shown : int
        How many chunks the reader saw.
    weight : float, in [0, 1]
        The height of a rating; 1 for a citation.
    actor : str, optional
    trusted : bool
    reason : str, optional
    created : float
        Seconds since 1970 (UTC).
    note : str
        Why it moves nothing; empty if it is in force.
    """

    id: str
    recall: str
    question: str = ""
    cited: dict[str, str] = Field(default_factory=dict)
    rejected: dict[str, str] = Field(default_factory=dict)
    shown: int = 0
    weight: float = Field(default=1.0, ge=0.0, le=1.0)
    actor: str | None = None
    trusted: bool = False
    reason: str | None = None
    created: float = 0.0
    note: str = ""


class Evaluation(Record):
    """How past questions would rank now, with and without what others taught.

    ``questions`` of lessons were asked again, each without what was taught for it. ``untaught`` and
    ``taught``, in [0, 1], are nDCG@10 of what they cited, without lessons and with them; ``error``
    is the standard error of the difference. ``better`` and ``worse`` count questions.
    """

    questions: int
    untaught: float
    taught: float
    error: float
    better: int = 0
    worse: int = 0


class AddReport(Record):
    """What ``add`` and ``refresh`` did, in chunks; ``deleted`` are those that documents lost.

    ``resting`` lessons were about former texts alone, and move nothing until these are back.
    """

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    deleted: int = 0
    resting: int = 0


class DeleteReport(Record):
    """How many chunks ``delete`` removed, and whether no trace of them is left on the disk.

    ``erased`` is False while a reader holds an older state of a file open: the texts are gone for
    everybody who asks, and the next change overwrites their bytes once that reader ends. It is
    False on PostgreSQL, where VACUUM overwrites them. ``resting`` lessons were about these alone.
    """

    deleted: int = 0
    erased: bool = True
    resting: int = 0


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


class Shown(Record):
    """What a prompt showed: which key stands for which chunk. Small, and can be kept and sent.

    Attributes
    ----------
    keys : dict of str to str
        Chunk ids by key.
    ids : tuple of str
        All chunks that the prompt shows, with a key or without.
    ambiguous : tuple of str
        Keys that also occur within a passage's text, or before two passages. They count for none.
    blocks : tuple of (str, tuple of str)
        Of each native document or search result, its type and its chunks.
    """

    keys: dict[str, str] = Field(default_factory=dict)
    ids: tuple[str, ...] = ()
    ambiguous: tuple[str, ...] = ()
    blocks: tuple[tuple[str, tuple[str, ...]], ...] = ()
