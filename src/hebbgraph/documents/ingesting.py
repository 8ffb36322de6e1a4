"""Read files and folders into an index."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

from pydantic import Field

from hebbgraph.documents.document import Converter, Limits, base_of, digest_of, mark_of, place_of
from hebbgraph.documents.kinds import can_convert
from hebbgraph.errors import HebbgraphError, ParameterError
from hebbgraph.index import HebbianIndex
from hebbgraph.records import AddReport, Chunk

_Path: TypeAlias = str | os.PathLike[str]
_BATCH = 512  # chunks that are read or written at once
_UNLISTED = "cannot be listed"
_NO_FAULT = ("is empty", "is binary", "has long lines")  # of a file that is skipped
#: Folders and files that programs generate next to their sources.
_MADE = frozenset({
    "node_modules", "__pycache__", "site-packages", "_static", "_sources", "_images", "_modules",
    "genindex.html", "py-modindex.html", "search.html", "searchindex.js", "package-lock.json",
})  # fmt: skip


class IngestReport(AddReport):
    """What reading files did, in chunks and documents.

    ``documents`` were written, ``changed_documents`` of them over former ones; ``moved`` are the
    former places of those whose files moved; ``skipped`` and ``failed`` give the reason by place,
    and the files of ``missing`` documents are gone.
    """

    documents: tuple[str, ...] = ()
    changed_documents: int = 0
    unchanged_documents: int = 0
    moved: tuple[str, ...] = ()
    skipped: dict[str, str] = Field(default_factory=dict)
    failed: dict[str, str] = Field(default_factory=dict)
    missing: tuple[str, ...] = ()


class Found(NamedTuple):
    """Files and bases by places, why others are not read or failed, and folders with bases."""

    files: dict[str, tuple[Path, Path]]
    skipped: dict[str, str]
    failed: dict[str, str]
    folders: list[tuple[str, Path]]


def find_files(paths: Iterable[_Path], base: _Path | None, digests: Iterable[str]) -> Found:
    """Find the files at and below paths, counted from a base or that of documents with digests."""
    found, marks = Found({}, {}, {}, []), {f"@{digest.partition('@')[2]}" for digest in digests}
    for path in map(Path, [paths] if isinstance(paths, str | os.PathLike) else paths):
        if not os.path.lexists(path):
            raise ParameterError(f"there is no file or folder {path}")
        above = Path(os.path.abspath(path), "_").parents  # a folder may be a base itself
        root = base_of(path, base or next((up for up in above if mark_of(up) in marks), None))
        if path.is_dir():
            found.folders.append((place_of(path, root), root))
        for file, reason in _below(path) if path.is_dir() else [(path, "")]:
            place = place_of(file, root)
            mine = (file, root)
            if not reason and found.files.setdefault(place, mine)[0].resolve() != file.resolve():
                reason = "another file has this place; give a base above both"
            if reason:
                (found.failed if reason.startswith(_UNLISTED) else found.skipped)[place] = reason
    return found


def _below(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files below a folder, with the reason for those that are not read."""
    failed: list[OSError] = []
    for folder, folders, names in os.walk(root, onerror=failed.append):
        inner, folders[:] = sorted(folders), []
        for name in [*inner, *sorted(names)]:
            path = Path(folder, name)
            if name.startswith("."):
                continue
            if os.path.islink(path):
                yield path, "is a link"
            elif name in _MADE:
                yield path, "is made by a program"
            elif name in inner:
                folders.append(name)
            else:
                yield path, "" if can_convert(name) else "is of a kind that is not read"
    for error in failed:
        yield Path(error.filename), f"{_UNLISTED}: {(error.strerror or '').lower()}"


def ingest(
    paths: Iterable[_Path],
    index: HebbianIndex,
    *,
    base: _Path | None = None,
    delete_missing: bool = False,
    dry_run: bool = False,
    limits: Limits | None = None,
    workers: int | None = None,
    show_progress: Callable[[int, int], object] | None = None,
) -> IngestReport:
    """Read files and folders into an index; a changed or moved file replaces its document.

    Parameters
    ----------
    paths : iterable of paths
    index : HebbianIndex
    base : path, optional
        The folder from which places are counted; by default the nearest one above from which
        documents of the index were, else as :func:`~.document.place_of` says.
    delete_missing : bool
        Delete documents that were read from files in these folders and are gone.
    dry_run : bool
        Convert nothing and change nothing; ``documents`` are the files that would be read.
    limits : Limits, optional
    workers : int, optional
        As in :meth:`hebbgraph.HebbianIndex.add`.
    show_progress : callable, optional
        Called with the number of files that are done, and of all.

    Raises
    ------
    ParameterError
        If there is no file or folder at a path. Whatever is wrong with a file is reported.
    """
    known, numbers = _digests(index), index.stats()
    lacks_vectors = index.embedder is not None and numbers["vectors"] < numbers["chunks"]
    found = find_files(paths, base, known.values())
    counts, batch, same = Counter[str](), list[Chunk](), 0
    done, new = list[str](), dict[str, Path]()
    with Converter(limits) as converter:
        for number, (place, (file, root)) in enumerate(found.files.items(), 1):
            try:
                data = converter.data(file, place)
                digest = digest_of(data, root)
                is_known = known.get(place) == digest and not lacks_vectors
                same += is_known
                is_left = is_known or dry_run
                chunks = [] if is_left else converter.convert(data, place, root).chunks()
            except (HebbgraphError, ImportError) as error:
                reason = str(error).removeprefix(f"{place}: ")
                (found.skipped if reason.startswith(_NO_FAULT) else found.failed)[place] = reason
                chunks, is_known = [], True  # what is stored of it stays
            if chunks or (dry_run and not is_known):
                batch += chunks
                done.append(place)
                new[digest] = root
            elif not is_known:
                counts["deleted"] += index.delete(document_id=place).deleted
                found.skipped[place] = "holds no passage"
            if len(batch) >= _BATCH * (workers or 1) or (batch and number == len(found.files)):
                counts.update(index.refresh(batch, workers=workers).model_dump())
                batch = []
            if show_progress is not None:
                show_progress(number, len(found.files))
    former = ((place, new.get(known[place])) for place in sorted(known.keys() - found.files.keys()))
    moved = [place for place, base in former if base and not os.path.lexists(base / place)]
    missing = sorted(set(_gone(known, found)).difference(moved))
    gone = moved + (missing if delete_missing else [])
    if gone and not dry_run:
        counts["deleted"] += index.delete(document_id=gone).deleted
    return IngestReport(
        **counts,
        documents=tuple(done),
        changed_documents=len(known.keys() & set(done)),
        unchanged_documents=same,
        moved=tuple(moved),
        skipped=found.skipped,
        failed=found.failed,
        missing=tuple(missing),
    )


def _gone(digests: dict[str, str], found: Found) -> Iterator[str]:
    """Yield the documents that were read below these folders, from files that are gone."""
    for place in digests.keys() - found.files.keys():
        for folder, base in found.folders:
            was_read = _lies_in(place, folder) and digests[place].endswith(mark_of(base))
            unknown = any(_lies_in(place, closed) for closed in found.failed)
            if was_read and not unknown and not os.path.lexists(base / place):
                yield place


def _lies_in(place: str, folder: str) -> bool:
    return folder == "." or place.startswith(f"{folder}/")


def _digests(index: HebbianIndex) -> dict[str, str]:
    """Return the digest of each document that was read from a file."""
    ids = index.ids({"digest": {"$exists": True}})
    return {
        chunk.document_id: str(chunk.metadata["digest"])
        for start in range(0, len(ids), _BATCH)
        for chunk in index.get(ids[start : start + _BATCH])
        if chunk.document_id is not None
    }
