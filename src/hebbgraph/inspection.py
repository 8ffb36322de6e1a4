"""Records that show what an index holds and does, for people who look inside.

Like :mod:`hebbgraph.records`, they are frozen, and load from their own JSON.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["CorrectionKind", "TagCorrection"]

_FROZEN = ConfigDict(frozen=True, extra="forbid")

CorrectionKind: TypeAlias = Literal["merge", "rename", "mute", "split"]


class TagCorrection(BaseModel):
    """One correction to tags; see :meth:`hebbgraph.HebbianIndex.correct_tags`.

    Attributes
    ----------
    id : str
        For :meth:`~hebbgraph.HebbianIndex.undo_tag_correction`.
    kind : {"merge", "rename", "mute", "split"}
    tags : tuple of str
        The tags it is about, in normal form.
    into : str, optional
        The tag that stands in their place; None for ``mute``.
    chunks : tuple of str
        For ``split``: the chunks that get ``into`` instead.
    actor : str, optional
    created_at : float
        Seconds since the epoch (UTC).
    """

    model_config = _FROZEN

    id: str
    kind: CorrectionKind
    tags: tuple[str, ...] = Field(min_length=1)
    into: str | None = None
    chunks: tuple[str, ...] = ()
    actor: str | None = None
    created_at: float = 0.0
