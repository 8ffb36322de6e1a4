"""What people call documents and chunks: ids, paths or their ends, headings and places."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from hebbgraph.errors import NotFoundError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.labels import counted, heading_of, place_of
from hebbgraph.records import Chunk, Recall

__all__ = ["find_chunks", "find_document", "missing_chunks"]

_NAMED = 3
_BELOW = " › "
#: A place as people read it, of labels.place_of: the document, and the rest.
_PASSAGE = re.compile(r"(.+)(, passage [0-9]+)")
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


def find_chunks(index: HebbianIndex, recall: Recall, names: Sequence[str]) -> list[str]:
    """Return the ids of the chunks that are called so.

    That is a chunk of this id; a hit with the heading or the place that ``hebbgraph query`` prints,
    ``Fares › In winter`` or ``fares.md, passage 2``; or a passage of a document, ``fares.md › In
    winter``. Of a document alone, it is its only hit or, without one, its only passage.

    Raises
    ------
    NotFoundError
        If there is none, or several; it names them.
    """
    there = {*index.holds(names), *(hit.chunk.id for hit in recall.hits)}
    return [one if one in there else _chunk_called(index, recall, one).id for one in names]


def _chunk_called(index: HebbianIndex, recall: Recall, name: str) -> Chunk:
    hits = [hit.chunk for hit in recall.hits]
    found = [one for one in hits if name in (heading_of(one), place_of(one))]
    if not found:
        file, passage = _PASSAGE.fullmatch(name), name.partition(_BELOW)
        document = find_document(index, file[1] if file else passage[0])
        found = [one for one in hits if one.document_id == document]
        if file or passage[1] or not found:
            found = index.get(index.ids({"$document_id": document}))
        if file:
            found = [one for one in found if place_of(one).endswith(file[2])]
        elif passage[1]:
            end = _BELOW + passage[2]
            found = [one for one in found if (_BELOW + heading_of(one)).endswith(end)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFoundError(f"{document!r:.200} has no passage that is called {name!r:.200}")
    places = [place_of(one) or one.id for one in found]
    raise NotFoundError(
        f"{counted(len(found), 'passage')} are called {name!r:.200}; name one: {_listed(places)}"
    )


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
