"""Find documents and chunks by id, path or its end, heading or place."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.labels import counted, heading_of, place_of
from hebbgraph.records import Chunk, Recall

__all__ = ["find_chunks", "find_document", "find_documents", "find_passages", "missing_chunks"]

#: Names listed in an error.
_LISTED = 3
_BELOW = " › "
#: A place as ``labels.place_of`` prints it: document and passage.
_PASSAGE = re.compile(r"(.+)(, passage [0-9]+)")
_MAX_DOCUMENTS = 1_000_000


def find_document(
    index: HebbianIndex, name: str, known: Callable[[], Sequence[str]] | None = None
) -> str:
    """Return the id of the document with this name.

    The name is its id, the path of its file, or the end of the path if no other path ends so:
    ``moss.txt`` or ``moss`` for ``/notes/people/moss.txt``. ``known`` returns the ids of all
    documents; pass one that caches if you call this more than once.

    Raises
    ------
    NotFoundError
        If no document matches, with similar names, or if several do, with their names.
    """
    resolved = str(Path(name).resolve())
    for exact in (name, resolved):
        if index.ids({"$document_id": exact}) or exact in index.document_fingerprints():
            return exact
    all_ids = _document_ids(index) if known is None else known()
    end = _parts(name)
    ends = {id_: _parts(id_)[-len(end) :] for id_ in all_ids if end}
    matches = [id_ for id_, parts in ends.items() if parts == end] or [
        id_ for id_, parts in ends.items() if parts and [*parts[:-1], Path(parts[-1]).stem] == end
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise NotFoundError(
            f"{len(matches)} documents are called {name!r:.200}: {_listed(matches)}"
        )
    by_file = {id_.rpartition("/")[2]: id_ for id_ in all_ids}
    close = get_close_matches(end[-1] if end else name, by_file, n=_LISTED)
    hint = f"; there is {_listed([by_file[file] for file in close])}" if close else ""
    raise NotFoundError(f"there is no document {name!r:.200}{hint}")


def find_documents(index: HebbianIndex, name: str, *, everything: bool = False) -> list[str]:
    """Return the ids of the documents with this name: one, or all below a folder, ``notes/``.

    Raises
    ------
    NotFoundError
        If no document matches.
    ParameterError
        If the folder has all documents of the index, unless ``everything`` allows that.
    """
    if not name.endswith(("/", os.sep)) or index.ids({"$document_id": name}):
        return [find_document(index, name)]
    folders = (name.replace("\\", "/"), f"{Path(name).resolve().as_posix()}/")
    all_ids = _document_ids(index)
    below = [id_ for id_ in all_ids if id_.replace("\\", "/").startswith(folders)]
    if not below:
        raise NotFoundError(f"there is no document below {name!r:.200}")
    if len(below) == len(all_ids) and not everything:
        raise ParameterError(
            f"all documents of the index ({len(below):,}) are below {name!r:.200}; if you mean "
            "that, add --everything"
        )
    return below


def find_chunks(index: HebbianIndex, recall: Recall, names: Sequence[str]) -> list[str]:
    """Return the ids of the chunks with these names.

    A name is a chunk's id; the heading or place of a hit as ``hebbgraph query`` prints it, ``Fares
    › In winter`` or ``fares.md, passage 2``; or a passage of a document, ``fares.md › In winter``.
    A document alone stands for its only hit or, without hits, for its only passage.

    Raises
    ------
    NotFoundError
        If no chunk matches, or if several do; the error names them.
    """
    ids = {*index.holds(names), *(hit.chunk.id for hit in recall.hits)}
    return [name if name in ids else _find_chunk(index, recall, name).id for name in names]


def find_passages(index: HebbianIndex, name: str) -> list[Chunk]:
    """Return all passages of a document, or those called ``fares.md, passage 2`` and the like.

    Raises
    ------
    NotFoundError
        If no document or no passage of it is called so.
    """
    place = _PASSAGE.fullmatch(name)
    file, below, heading = name.partition(_BELOW)
    document = find_document(index, place[1] if place else file)
    passages = index.get(index.ids({"$document_id": document}))
    if place:
        passages = [chunk for chunk in passages if place_of(chunk).endswith(place[2])]
    elif below:
        end = _BELOW + heading
        passages = [chunk for chunk in passages if (_BELOW + heading_of(chunk)).endswith(end)]
    if not passages:
        raise NotFoundError(f"{document!r:.200} has no passage that is called {name!r:.200}")
    return passages


def _find_chunk(index: HebbianIndex, recall: Recall, name: str) -> Chunk:
    hits = {hit.chunk.id: hit.chunk for hit in recall.hits}
    matches = [chunk for chunk in hits.values() if name in (heading_of(chunk), place_of(chunk))]
    if not matches:
        try:
            passages = find_passages(index, name)
        except NotFoundError as error:
            raise NotFoundError(f"no hit is called {name!r:.200}, and {error}") from None
        matches = [chunk for chunk in passages if chunk.id in hits] or passages
    if len(matches) == 1:
        return matches[0]
    places = [place_of(chunk) or chunk.id for chunk in matches]
    raise NotFoundError(
        f"{counted(len(matches), 'passage')} are called {name!r:.200}; name one: {_listed(places)}"
    )


def missing_chunks(index: HebbianIndex, ids: Iterable[str]) -> list[str]:
    """Return a message for each missing chunk; it hints at a document with that name."""
    unique = list(dict.fromkeys(ids))
    existing = set(index.holds(unique))
    known = functools.cache(lambda: _document_ids(index))
    messages = []
    for id_ in unique:
        if id_ in existing:
            continue
        try:
            hint = f"for the document: --document {find_document(index, id_, known)}"
        except NotFoundError:
            hint = "`hebbgraph query` prints ids"
        messages.append(f"there is no chunk {id_!r:.200}; {hint}")
    return messages


def _document_ids(index: HebbianIndex) -> list[str]:
    return [document.id for document in index.inspect.documents(limit=_MAX_DOCUMENTS).documents]


def _parts(name: str) -> list[str]:
    return [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(map(repr, names[:_LISTED])) + more
