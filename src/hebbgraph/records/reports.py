"""Reports of writing, tagging, checking and correcting."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from hebbgraph.records.chunk import Record

__all__ = [
    "AddReport",
    "Colony",
    "CorrectionKind",
    "DoctorReport",
    "FailedChunk",
    "Finding",
    "Part",
    "TagCorrection",
    "TaggingReport",
]


class Colony(Record):
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

    id: int
    name: str
    tags: tuple[str, ...]
    chunks: int


Part = Literal[
    "database", "texts", "feedback", "snapshot", "lexical", "graph", "vectors", "learned",
    "colonies", "recalls",
]  # fmt: skip


class Finding(Record):
    """A problem in the index. ``repaired`` says whether it has been fixed."""

    part: Part
    problem: str
    repaired: bool = False


class DoctorReport(Record):
    """The report of ``doctor``.

    Attributes
    ----------
    generation : int
    chunks, feedbacks : int
    findings : tuple of Finding
        Problems; empty if there are none.
    notes : tuple of str
        Advice that needs no repair.
    """

    generation: int
    chunks: int
    feedbacks: int
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether all problems, if any, have been repaired."""
        return all(finding.repaired for finding in self.findings)


class TaggingReport(Record):
    """The outcome and cost of tagging with a model.

    Attributes
    ----------
    tagged : int
        Chunks with an answer, new or stored.
    cached : int
        Tagged chunks whose answer was already stored and cost nothing.
    calls : int
        Calls of a language model, including failed ones.
    input_tokens, output_tokens : int
        As far as the model reports them.
    failed : tuple of (chunk id, reason)
        These chunks keep the tags found without a model; ``index.maintenance.retag`` tries
        them again.
    """

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


class FailedChunk(Record):
    """A chunk that ``add(on_error="skip")`` left out: its position in the call, id, and reason."""

    position: int
    id: str | None = None
    reason: str


class AddReport(Record):
    """What one ``add`` or ``refresh`` committed.

    ``unchanged`` counts chunks that already existed, equal in every field; they cost
    nothing and keep their learned weights. ``deleted`` counts chunks that a refreshed
    document no longer has. ``cleaned`` counts chunks with replaced characters, ``failed`` lists
    skipped chunks. ``tagging`` is None without a tagger.
    """

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
        tagging = [part.tagging for part in (self, other) if part.tagging is not None]
        return AddReport(
            **{name: getattr(self, name) + getattr(other, name) for name in counts},
            failed=self.failed + other.failed,
            generation=max(self.generation, other.generation),
            tagging=sum(tagging[1:], start=tagging[0]) if tagging else None,
        )


CorrectionKind: TypeAlias = Literal["merge", "rename", "mute", "split"]


class TagCorrection(Record):
    """One correction to tags; see ``index.tags.correct``.

    Attributes
    ----------
    id : str
        For ``index.tags.undo``.
    kind : {"merge", "rename", "mute", "split"}
    tags : tuple of str
        The corrected tags, in normal form.
    into : str, optional
        The tag that replaces them; None for ``mute``.
    chunks : tuple of str
        For ``split``: the chunks that get ``into`` instead.
    actor : str, optional
    created_at : float
        Seconds since the epoch (UTC).
    """

    id: str
    kind: CorrectionKind
    tags: tuple[str, ...] = Field(min_length=1)
    into: str | None = None
    chunks: tuple[str, ...] = ()
    actor: str | None = None
    created_at: float = 0.0
