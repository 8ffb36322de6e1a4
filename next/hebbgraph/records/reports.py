"""Lessons, and what calls report."""

from __future__ import annotations

from pydantic import Field

from hebbgraph.records.base import Record

__all__ = ["AddReport", "DeleteReport", "Lesson", "Neighbor", "Tag"]


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
        Why nothing is learned from it; empty if something is.
    """

    id: str
    recall: str
    question: str = ""
    cited: dict[str, str] = Field(default_factory=dict)
    rejected: dict[str, str] = Field(default_factory=dict)
    shown: int = 0
    weight: float = 1.0
    actor: str | None = None
    trusted: bool = False
    reason: str | None = None
    created: float = 0.0
    note: str = ""


class AddReport(Record):
    """What ``add`` and ``refresh`` did, in chunks; ``deleted`` are those that documents lost."""

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    deleted: int = 0


class DeleteReport(Record):
    """How many chunks ``delete`` removed, and whether no trace of them is left on the disk.

    ``erased`` is False while a reader holds an older state of a file open: the texts are gone for
    everybody who asks, and the next change overwrites their bytes once that reader ends. It is
    False on PostgreSQL, where VACUUM overwrites them.
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
