"""What ``hebbgraph build`` does: partitions of files, on a shelf that outlives a kill."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hebbgraph.artifacts import remove, replace_file
from hebbgraph.errors import IndexLockedError, ParameterError
from hebbgraph.ingest import OnError
from hebbgraph.locks import lock_file
from hebbgraph.namespace import Namespace
from hebbgraph.records import AddReport
from hebbgraph.store.database import translated_os
from hebbgraph.store.places import BUILD_FOLDER, BUILDS_ELSEWHERE
from pydantic import BaseModel, ConfigDict

from hebbgraph_scale.build.adding import check_buildable, new_recipe
from hebbgraph_scale.build.driver import Driver, Progress
from hebbgraph_scale.build.engines import Engine
from hebbgraph_scale.build.recipe import Partition, Recipe

__all__ = ["BuildReport", "build", "sweep_shelf"]

_MANIFEST = "manifest.json"


class BuildReport(BaseModel):
    """What a build did.

    Attributes
    ----------
    added : AddReport
        What was committed.
    partitions : int
    reused : int
        Results of an earlier, killed build that were whole.
    workers : int
    megabytes : float
        Text and titles, as characters.
    seconds : dict of str to float
        Wall time by step; ``propose`` includes the commits.
    files_failed : tuple of (path, reason)
    files_ignored : dict of str to int
        How many files of folders were left out, by suffix.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    added: AddReport
    partitions: int
    reused: int
    workers: int
    megabytes: float
    seconds: dict[str, float]
    files_failed: tuple[tuple[str, str], ...] = ()
    files_ignored: dict[str, int] = {}


def build(
    namespace: Namespace,
    partitions: Sequence[Partition],
    engine: Engine,
    *,
    work: str | os.PathLike[str] | None = None,
    embedder: Callable[[], Any] | None = None,
    on_error: OnError = "raise",
    on_progress: Progress | None = None,
) -> BuildReport:
    """Build an index of partitions, or go on with a build that was killed.

    Parameters
    ----------
    namespace : Namespace
        ``index.parts`` of an open index, which may hold other chunks.
    partitions : sequence of Partition
        From :func:`hebbgraph_scale.build.sources.partitions_of` or
        :func:`hebbgraph_scale.build.documents.batches_of`.
    engine : Engine
        See :func:`hebbgraph_scale.build.engines.engine_named`.
    work : path, optional
        The folder of results, which all workers share; by default ``build`` in the index. It is
        new, empty, or that of a build that was killed, and removed when the build is complete.
    embedder : callable, optional
        Makes an embedder in each worker; it can be pickled, such as
        ``functools.partial(SentenceTransformerEmbedder, name)``.
    on_error : {"raise", "skip"}
    on_progress : callable, optional
        Gets a :class:`~hebbgraph_scale.build.driver.Told`.

    Raises
    ------
    ParameterError
        If this index cannot be built by workers, or ``work`` holds somebody else's files.
    IndexLockedError
        If another build writes to this namespace, or uses the same folder.
    """
    check_buildable(namespace)
    if embedder is not None and not namespace.settings.keep_text:
        raise ParameterError(
            "workers embed texts that the index keeps, and this one keeps none: build without an "
            "embedder, then index.maintenance.reembed(embedder)"
        )
    if work is None and namespace.root is None:
        raise ParameterError("an index without a folder of its own needs work=, a folder")
    shelf = Path(work) if work is not None else Path(namespace.root or "") / BUILD_FOLDER
    with _only_build_of(namespace), _alone_in(shelf):
        recipe = _recipe_of(shelf, namespace, on_error, embedder)
        noted = (
            None if work is None or namespace.root is None else namespace.root / BUILDS_ELSEWHERE
        )
        if noted is not None:
            _note(noted, [*_noted(noted), str(shelf.absolute())])
        driver = Driver(namespace, engine, shelf, recipe, on_progress)
        added = driver.run(partitions, sum(one.size for one in partitions))
        if embedder is not None:
            namespace.derived.hold_vectors()
            namespace.bring_up_to_date()
        remove(shelf)
        if noted is not None:
            _note(noted, [one for one in _noted(noted) if one != str(shelf.absolute())])
    return BuildReport(
        added=added,
        partitions=len(partitions),
        reused=driver.reused,
        workers=engine.workers,
        megabytes=driver.size / 1e6,
        seconds=driver.seconds,
        files_failed=tuple(driver.files_failed),
    )


def sweep_shelf(root: Path, database: str) -> None:
    """Remove what killed builds left in an index directory and elsewhere, since it holds texts.

    A folder elsewhere is left alone if it is of another index by now, and looked for again by the
    next call if it cannot be reached.

    Parameters
    ----------
    root : Path
    database : str
        The id of the index's database.

    Raises
    ------
    IndexLockedError
        If the build is at work.
    """
    noted = root / BUILDS_ELSEWHERE
    unreached = []
    for shelf in (root / BUILD_FOLDER, *map(Path, _noted(noted))):
        if not shelf.parent.is_dir():
            unreached.append(str(shelf))
        elif shelf.is_dir() and (shelf.parent == root or _is_of(shelf, database)):
            with _alone_in(shelf):
                remove(shelf)
    if noted.exists():
        _note(noted, unreached)


def _noted(file: Path) -> list[str]:
    """Return the folders elsewhere that a file names; none if there is no such file."""
    try:
        return [str(one) for one in json.loads(file.read_text("utf-8"))]
    except (FileNotFoundError, ValueError, TypeError):
        return []


def _note(file: Path, folders: Sequence[str]) -> None:
    """Name the folders elsewhere; without any, the file goes."""
    if not folders:
        file.unlink(missing_ok=True)
        return
    held = json.dumps([*dict.fromkeys(folders)])
    replace_file(file, lambda to: to.write_text(held, "utf-8"))


def _is_of(shelf: Path, database: str) -> bool:
    """Return whether the build that was begun in a folder is one of an index."""
    try:
        held = json.loads((shelf / _MANIFEST).read_bytes())["index"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return bool(held and held[0] == database)


@contextlib.contextmanager
def _only_build_of(namespace: Namespace) -> Iterator[None]:
    """Keep other builds out of a namespace, whatever their folders and machines.

    Both would insert what the other inserts, and neither graph would be that of the whole.
    """
    driver: Any = namespace.database.driver
    name = f"{namespace.database.id}/{namespace.name}"
    with contextlib.ExitStack() as held:
        if driver.name == "postgresql":
            is_alone = held.enter_context(driver.alone(f"build {name}"))
        elif driver.path is None:
            return (yield)  # nobody else sees it
        else:
            digest = hashlib.blake2b(name.encode(), digest_size=10).hexdigest()
            lock = driver.path.with_name(f"build-{digest}.lock")
            with translated_os(str(lock)):
                file = lock_file(lock)
            is_alone = file is not None
            if file is not None:
                held.enter_context(file)
                held.callback(_unlinked, lock)  # before it is unlocked
        if not is_alone:
            raise IndexLockedError(
                f"{namespace.database.place}: another build writes to namespace "
                f"{namespace.name!r}; wait for it, and build again: what is held stays"
            )
        yield


@contextlib.contextmanager
def _alone_in(shelf: Path) -> Iterator[None]:
    """Keep other builds out of a folder: they would remove each other's results."""
    lock = shelf.with_name(f"{shelf.name}.lock")
    with translated_os(str(shelf)):
        file = lock_file(lock)
    if file is None:
        raise IndexLockedError(
            f"{shelf}: another build is at work here, and its results hold texts; wait for it, "
            "or, for another index, name another folder (work=, --work)"
        )
    with file:
        yield
        _unlinked(lock)


def _unlinked(lock: Path) -> None:
    with contextlib.suppress(OSError):  # Windows removes no open file
        lock.unlink()


def _recipe_of(
    shelf: Path, namespace: Namespace, on_error: OnError, embedder: Callable[[], Any] | None
) -> Recipe:
    """Return the recipe of the build that was begun on a shelf, or a new one."""
    made_for = [namespace.database.id, namespace.name]
    salt = _salt_of(shelf, made_for)
    recipe = new_recipe(namespace.settings, on_error=on_error, salt=salt, embedder=embedder)
    shelf.mkdir(parents=True, exist_ok=True)
    manifest = json.dumps({"index": made_for, "salt": recipe.salt.hex()})
    replace_file(shelf / _MANIFEST, lambda to: to.write_text(manifest))
    return recipe


def _salt_of(shelf: Path, made_for: list[str]) -> bytes:
    """Return the salt of the hashes on a shelf; empty if no build of this index was begun there.

    Without it nothing on the shelf fits, so results for another index are removed.

    Raises
    ------
    ParameterError
        If somebody else's files lie there, since a build removes its folder in the end.
    """
    try:
        held = json.loads((shelf / _MANIFEST).read_bytes())
        if held["index"] == made_for:
            return bytes.fromhex(held["salt"])
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError) as error:
        if shelf.exists() and not (shelf.is_dir() and _is_empty(shelf)):
            raise ParameterError(
                f"{shelf} holds files that no build made, and a build removes its folder in the "
                "end; name a new or an empty one (work=, --work)"
            ) from error
        return b""
    remove(shelf)
    return b""


def _is_empty(folder: Path) -> bool:
    return all(path.name == f"{_MANIFEST}.partial" for path in folder.iterdir())
