"""What people call a document: its id, a path from here, or the end of its path."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from hebbgraph.errors import NotFoundError
from hebbgraph.hebbian_index import HebbianIndex

__all__ = ["find_document", "missing_chunks"]

_NAMED = 3
#: Documents whose names are looked through.
_MOST = 1_000_000


def find_document(
    index: HebbianIndex, name: str, known: Callable[[], Sequence[str]] | None = None
) -> str:
    """Return the id of the document that is called so.

    That is the document of this id, or of the file at this path, or the only one whose path ends
    so: ``moss.txt`` or ``moss`` for ``/notes/people/moss.txt``. ``known`` lists the ids of all
    documents, for whoever asks more than once.

    Raises
    ------
    NotFoundError
        If there is none, or several; it names them, or what is called nearly so.
    """
    resolved = str(Path(name).resolve())
    for exact in (name, resolved):
        if index.ids({"$document_id": exact}) or exact in index.document_fingerprints():
            return exact
    all_ids = _document_ids(index) if known is None else known()
    end = _parts(name)
    paths = {one: _parts(one)[-len(end) :] for one in all_ids if end}
    found = [one for one, path in paths.items() if path == end] or [
        one for one, path in paths.items() if path and [*path[:-1], Path(path[-1]).stem] == end
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFoundError(f"{len(found)} documents are called {name!r:.200}: {_listed(found)}")
    ends = {one.rpartition("/")[2]: one for one in all_ids}
    near = get_close_matches(end[-1] if end else name, ends, n=_NAMED)
    hint = f"; there is {_listed([ends[one] for one in near])}" if near else ""
    raise NotFoundError(f"there is no document {name!r:.200}{hint}")


def missing_chunks(index: HebbianIndex, ids: Iterable[str]) -> list[str]:
    """Return a line for each chunk that is not there; it says if a document is called so."""
    wanted = list(dict.fromkeys(ids))
    there = set(index.holds(wanted))
    known = functools.cache(lambda: _document_ids(index))
    told = []
    for one in wanted:
        if one in there:
            continue
        try:
            document = find_document(index, one, known)
        except NotFoundError:
            told.append(f"there is no chunk {one!r:.200}; `hebbgraph query` prints ids")
        else:
            told.append(f"there is no chunk {one!r:.200}; for the document: --document {document}")
    return told


def _document_ids(index: HebbianIndex) -> list[str]:
    return [one.id for one in index.inspect.documents(limit=_MOST).documents]


def _parts(name: str) -> list[str]:
    return [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(repr(one) for one in names[:_NAMED]) + more
