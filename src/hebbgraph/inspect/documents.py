"""The documents of an index, the latest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from hebbgraph.store.truth import Truth

__all__ = ["DocumentList", "DocumentSummary", "documents"]

_PAGE = 20_000


class DocumentSummary(BaseModel):
    """A document.

    Attributes
    ----------
    id : str
    title : str
        Of its first passage.
    passages : int
        0 for a file that gave none.
    from_file : bool
        Whether it has a fingerprint, by which an unchanged file is skipped.
    indexed_at : float, optional
        When it was read from a file, in seconds since 1970.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    title: str = ""
    passages: int = 0
    from_file: bool = False
    indexed_at: float | None = None


class DocumentList(BaseModel):
    """Some documents, the one indexed last first; ``total`` counts all that match."""

    model_config = ConfigDict(frozen=True)

    documents: tuple[DocumentSummary, ...] = ()
    total: int = 0


def documents(truth: Truth, containing: str, limit: int) -> DocumentList:
    """Return the documents whose id contains a text, ignoring case."""
    part = containing.casefold()
    times = truth.files.indexed_at()
    counts = dict.fromkeys((name for name in times if part in name.casefold()), 0)
    first: dict[str, int] = {}
    latest = dict.fromkeys(counts, 0)
    row = -1
    while page := truth.named_after(row, _PAGE):
        for chunk in page:
            name = chunk.document_id
            if name is None or chunk.version_of is not None or part not in name.casefold():
                continue
            counts[name] = counts.get(name, 0) + 1
            first.setdefault(name, chunk.row)
            latest[name] = chunk.row
        row = page[-1].row
    shown = sorted(latest, key=lambda name: (-latest[name], name))[:limit]
    titles = truth.fetch([first[name] for name in shown if name in first])
    return DocumentList(
        documents=tuple(
            DocumentSummary(
                id=name,
                title=titles[first[name]].title if first.get(name) in titles else "",
                passages=counts[name],
                from_file=name in times,
                indexed_at=times.get(name),
            )
            for name in shown
        ),
        total=len(counts),
    )
