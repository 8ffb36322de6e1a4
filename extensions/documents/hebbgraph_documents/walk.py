"""Find files in folders, in the same order on every machine."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from hebbgraph_documents.code import CODE
from hebbgraph_documents.convert import MEDIA_TYPES, shown_path

__all__ = ["Discovery", "FoundFile", "discover", "fingerprint"]


@dataclass(frozen=True)
class FoundFile:
    """A file: ``path`` is below the given path, ``real`` is absolute and resolved."""

    path: Path
    real: Path


@dataclass
class Discovery:
    """The result of :func:`discover`; iterating yields the files.

    Attributes
    ----------
    files : list of FoundFile
        In the order of the paths given, then by name; each real file once.
    roots : list of Path
        The given paths that can be read, resolved.
    unsupported : dict
        Suffix (``""`` for none) to number of files skipped.
    links : int
        Number of symbolic links skipped.
    unreadable : list of (path, reason)
        Given paths that do not exist or are empty (a drive may not be mounted), and folders
        that cannot be listed.
    """

    files: list[FoundFile] = field(default_factory=list)
    roots: list[Path] = field(default_factory=list)
    unsupported: dict[str, int] = field(default_factory=dict)
    links: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)

    def __iter__(self) -> Iterator[FoundFile]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


def discover(
    paths: Iterable[str | os.PathLike[str]],
    *,
    suffixes: Collection[str] = tuple(MEDIA_TYPES),
    include: Collection[str] = (),
    exclude: Collection[str] = (),
) -> Discovery:
    """Find the readable files at and below ``paths``.

    In folders, hidden files (with a leading dot), hidden folders and symbolic links are skipped,
    as by ``ripgrep``, so the walk cannot loop and each file has one path. A path in ``paths`` is
    always taken, even if it is hidden, a link or of an unknown kind.

    Parameters
    ----------
    paths : iterable of paths
        Files and folders. A lone str or path is one path.
    suffixes : collection of str
        With the dot, in any case.
    include, exclude : collections of str
        Patterns like ``"guide/*"`` or ``"*.md"`` for a file's path relative to its folder; ``*``
        also matches ``/``. Without ``include``, all files are taken but source code and those
        that ``exclude`` matches.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("b.md", "a.txt", "c.png", ".hidden.md"):
    ...     (folder / name).touch()
    >>> discovery = discover([folder])
    >>> [file.path.name for file in discovery], discovery.unsupported
    (['a.txt', 'b.md'], {'.png': 1})
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    wanted = frozenset(suffix.lower() for suffix in suffixes) | (CODE if include else frozenset())
    discovery = Discovery()
    seen: set[Path] = set()
    for path in map(Path, paths):
        try:
            real = path.resolve(strict=True)
            is_folder = stat.S_ISDIR(real.stat().st_mode)
            if is_folder and not os.listdir(real):
                raise ValueError("is empty; is a drive missing?")
        except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a loop of links
            discovery.unreadable.append((shown_path(path), _reason(error)))
            continue
        discovery.roots.append(real)
        below = [FoundFile(path, real)]
        if is_folder:
            below = [
                file
                for file in _below(below[0], wanted, discovery)
                if _is_chosen(file.path.relative_to(path).as_posix(), include, exclude)
            ]
        for file in below:
            if file.real not in seen:
                seen.add(file.real)
                discovery.files.append(file)
    return discovery


def fingerprint(data: bytes, *, salt: str = "") -> str:
    """Return the SHA-256 of a file's bytes, as 64 hex digits.

    Parameters
    ----------
    data : bytes
    salt : str
        All else that determines the chunks, such as settings.

    Examples
    --------
    >>> fingerprint(b"It learns.")[:8]
    '4abfa712'
    """
    digest = hashlib.sha256(f"{salt}\0".encode() if salt else b"")
    digest.update(data)
    return digest.hexdigest()


def _is_chosen(name: str, include: Collection[str], exclude: Collection[str]) -> bool:
    if any(fnmatchcase(name, pattern) for pattern in exclude):
        return False
    return not include or any(fnmatchcase(name, pattern) for pattern in include)


def _below(root: FoundFile, wanted: frozenset[str], discovery: Discovery) -> list[FoundFile]:
    files: list[FoundFile] = []
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder.real) as listing:
                entries = list(listing)
        except OSError as error:
            discovery.unreadable.append((shown_path(folder.path), _reason(error)))
            continue
        for entry in entries:
            if entry.name.startswith("."):
                continue
            here = FoundFile(folder.path / entry.name, folder.real / entry.name)
            if entry.is_symlink():
                discovery.links += 1
            elif entry.is_dir(follow_symlinks=False):
                folders.append(here)
            elif entry.is_file(follow_symlinks=False):
                suffix = here.path.suffix.lower()
                packed = Path(here.path.stem).suffix.lower() if suffix == ".gz" else ""
                if suffix in wanted or packed in wanted:
                    files.append(here)
                else:
                    discovery.unsupported[suffix] = discovery.unsupported.get(suffix, 0) + 1
    discovery.unsupported = dict(sorted(discovery.unsupported.items()))
    return sorted(files, key=lambda file: file.path.parts)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error)
