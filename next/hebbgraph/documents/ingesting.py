"""Read files and folders into an index."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from hebbgraph.documents.kinds import can_convert
from hebbgraph.documents.document import Converter, Document, Limits, digest_of, place_of
from hebbgraph.errors import ConversionError, HebbgraphError, MissingExtraError, ParameterError
from hebbgraph.index import HebbianIndex
from hebbgraph.records import AddReport, Chunk, Record

__all__ = ["IngestReport", "find_files", "ingest"]

_BATCH = 512  # chunks that are written at once
_PAGE = 1000
#: Folders and files that programs make, beside what they are made from.
_MADE = frozenset(
    "node_modules __pycache__ site-packages _static _sources _images _modules genindex.html "
    "py-modindex.html search.html searchindex.js objects.inv package-lock.json".split()
)


class IngestReport(Record):
    """What reading files did.

    ``added``, ``replaced``, ``unchanged`` and ``deleted`` count chunks as :class:`AddReport` does.
    ``documents`` were written, ``skipped`` and ``failed`` give the reason by place, and the files
    of ``missing`` documents are gone.
    """

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    deleted: int = 0
    documents: tuple[str, ...] = ()
    unchanged_documents: int = 0
    skipped: dict[str, str] = Field(default_factory=dict)
    failed: dict[str, str] = Field(default_factory=dict)
    missing: tuple[str, ...] = ()


@dataclass
class Found:
    """Files by their places, places that are skipped with the reason, and places of folders."""

    files: dict[str, Path] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)


def find_files(
    paths: Iterable[str | os.PathLike[str]], base: str | os.PathLike[str] | None
) -> Found:
    """Find the files at and below paths, in the order of their names.

    In folders, what is hidden, links and what programs made is skipped.

    Raises
    ------
    ParameterError
        If there is no file or folder at a path.
    """
    found = Found()
    for path in map(Path, [paths] if isinstance(paths, str | os.PathLike) else paths):
        if not os.path.lexists(path):
            raise ParameterError(f"there is no file or folder {path}")
        place = place_of(path, base)
        if not path.is_dir():
            _note(found, place, path)
            continue
        found.folders.append("" if place == "." else f"{place}/")
        for file, reason in _below(path):
            inner = place_of(file, Path(os.path.abspath(path)))
            name = found.folders[-1] + inner
            if reason:
                found.skipped[name] = reason
            else:
                _note(found, name, file)
    return found


def _note(found: Found, place: str, file: Path) -> None:
    former = found.files.setdefault(place, file)
    if not os.path.samefile(former, file) if former.exists() and file.exists() else former != file:
        found.failed[place] = "two files have this place; give a base above both"


def _below(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files below a folder, with the reason for those that are not read."""
    failed: list[OSError] = []
    for folder, folders, names in os.walk(root, onerror=failed.append):
        here = Path(folder)
        for name in sorted(folders):
            if name.startswith(".") or name in _MADE or (here / name).is_symlink():
                folders.remove(name)
                if not name.startswith("."):
                    yield here / name, "is a link" if name not in _MADE else "is made by a program"
        folders.sort()
        for name in sorted(names):
            file = here / name
            if name.startswith("."):
                continue
            if file.is_symlink():
                yield file, "is a link"
            elif name in _MADE:
                yield file, "is made by a program"
            else:
                yield file, "" if can_convert(name) else "is of a kind that is not read"
    for error in failed:
        yield Path(error.filename), f"cannot be listed: {(error.strerror or '').lower()}"


def ingest(
    paths: Iterable[str | os.PathLike[str]],
    index: HebbianIndex,
    *,
    base: str | os.PathLike[str] | None = None,
    delete_missing: bool = False,
    limits: Limits | None = None,
    show_progress: Callable[[int, int], object] | None = None,
) -> IngestReport:
    """Read files and folders into an index; a changed file replaces its document.

    Parameters
    ----------
    paths : iterable of paths
    index : HebbianIndex
    base : path, optional
        The folder from which places are counted; by default the current directory if a path lies
        below it, else the folder around the path.
    delete_missing : bool
        Delete documents of these folders whose files are gone.
    limits : Limits, optional
        Of each file.
    show_progress : callable, optional
        Called with the number of files that are done, and of all.

    Raises
    ------
    ParameterError
        If there is no file or folder at a path. Whatever is wrong with a file is reported.
    """
    found = find_files(paths, base)
    known = _digests(index)
    skipped, failed, done = dict(found.skipped), dict(found.failed), list[str]()
    counts, batch, same = Counter[str](), list[Chunk](), 0

    def write() -> None:
        report = index.refresh(batch) if batch else AddReport()
        counts.update(report.model_dump())
        batch.clear()

    with Converter(limits) as converter:
        for number, (place, file) in enumerate(found.files.items()):
            if show_progress is not None:
                show_progress(number, len(found.files))
            if place in failed:
                continue
            try:
                data = converter.data(file, place)
                if known.get(place) == digest_of(data):
                    same += 1
                    continue
                chunks = converter.convert(data, place).chunks()
            except (HebbgraphError, ImportError) as error:
                reason = str(error).removeprefix(f"{place}: ")
                is_choice = reason.startswith(("is empty", "is binary", "has long lines"))
                (skipped if is_choice else failed)[place] = reason
                continue
            if not chunks:
                counts["deleted"] += index.delete(document_id=place).deleted
                skipped[place] = "holds no passage"
                continue
            batch += chunks
            done.append(place)
            if len(batch) >= _BATCH:
                write()
        write()
    here = tuple(found.folders)
    present = {*found.files, *found.skipped}
    missing = (
        tuple(name for name in known if name.startswith(here) and name not in present)
        if here
        else ()
    )
    if delete_missing and missing:
        counts["deleted"] += index.delete(document_id=list(missing)).deleted
    return IngestReport(
        **counts,
        documents=tuple(done),
        unchanged_documents=same,
        skipped=skipped,
        failed=failed,
        missing=missing,
    )


def _digests(index: HebbianIndex) -> dict[str, str]:
    """Return the digest of each document that was read from a file."""
    ids = index.ids({"digest": {"$exists": True}})
    return {
        chunk.document_id: str(chunk.metadata["digest"])
        for start in range(0, len(ids), _PAGE)
        for chunk in index.get(ids[start : start + _PAGE])
        if chunk.document_id is not None
    }
