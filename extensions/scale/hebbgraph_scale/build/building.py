"""``hebbgraph build``: partitions of files, with results on a shelf that survives a kill."""

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
from hebbgraph_scale.build.driver import BuildDriver, OnBuildProgress
from hebbgraph_scale.build.engines import Engine
from hebbgraph_scale.build.recipe import Partition, Recipe

__all__ = ["BuildReport", "build", "sweep_shelf"]

_MANIFEST = "manifest.json"


class BuildReport(BaseModel):
    """The result of a build.

    Attributes
    ----------
    added : AddReport
    partitions : int
    reused : int
        Results of an earlier, killed build that were whole.
    workers : int
    megabytes : float
        Millions of characters of text and titles.
    seconds : dict of str to float
        Wall time by step; ``propose`` includes the commits.
    files_failed : tuple of (path, reason)
    files_ignored : dict of str to int
        The number of files of folders that were left out, by suffix.
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
    on_progress: OnBuildProgress | None = None,
) -> BuildReport:
    """Build an index from partitions, or continue a build that was killed.

    Parameters
    ----------
    namespace : Namespace
        ``index.parts`` of an open index; it may hold other chunks.
    partitions : sequence of Partition
        From :func:`hebbgraph_scale.build.sources.partitions_of` or
        :func:`hebbgraph_scale.build.documents.batches_of`.
    engine : Engine
        See :func:`hebbgraph_scale.build.engines.engine_named`.
    work : path, optional
        The folder of results, shared by all workers; by default ``build`` in the index. It must be
        new, empty, or that of a killed build, and is removed when the build is complete.
    embedder : callable, optional
        Makes an embedder in each worker. It must be picklable, such as
        ``functools.partial(SentenceTransformerEmbedder, name)``.
    on_error : {"raise", "skip"}
    on_progress : callable, optional
        Called with a :class:`~hebbgraph_scale.build.driver.BuildProgress`.

    Raises
    ------
    ParameterError
        If workers cannot build this index, or ``work`` holds other files.
    IndexLockedError
        If another build writes to this namespace or uses the same folder.
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
        elsewhere = str(shelf.absolute())
        registry = None if work is None or namespace.root is None else namespace.root
        if registry is not None:
            _write_elsewhere(registry, [*_read_elsewhere(registry), elsewhere])
        driver = BuildDriver(namespace, engine, shelf, recipe, on_progress)
        added = driver.run(partitions, sum(partition.size for partition in partitions))
        if embedder is not None:
            namespace.derived.load_vectors()
            namespace.bring_up_to_date()
        remove(shelf)
        if registry is not None:
            others = [folder for folder in _read_elsewhere(registry) if folder != elsewhere]
            _write_elsewhere(registry, others)
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
    """Remove the results of killed builds, which hold texts, from an index directory and elsewhere.

    A folder elsewhere stays if it belongs to another index by now; if it cannot be reached, the
    next call tries again.

    Parameters
    ----------
    root : Path
    database : str
        The id of the index's database.

    Raises
    ------
    IndexLockedError
        If the build is running.
    """
    unreached = []
    for shelf in (root / BUILD_FOLDER, *map(Path, _read_elsewhere(root))):
        try:
            is_ours = shelf.parent == root or _manifest(shelf)["index"][:1] == [database]
        except OSError:  # such as a folder that may not be read
            unreached.append(str(shelf))
            continue
        if not shelf.parent.is_dir():
            unreached.append(str(shelf))
        elif shelf.is_dir() and is_ours:
            with _alone_in(shelf):
                remove(shelf)
    _write_elsewhere(root, unreached)


def _read_elsewhere(root: Path) -> list[str]:
    """Return the folders elsewhere in which builds of this index put results."""
    try:
        return [str(folder) for folder in json.loads((root / BUILDS_ELSEWHERE).read_text("utf-8"))]
    except (FileNotFoundError, ValueError, TypeError):
        return []


def _write_elsewhere(root: Path, folders: Sequence[str]) -> None:
    """Record the folders elsewhere; without any, remove the record."""
    file = root / BUILDS_ELSEWHERE
    if not folders:
        file.unlink(missing_ok=True)
        return
    content = json.dumps([*dict.fromkeys(folders)])
    replace_file(file, lambda path: path.write_text(content, "utf-8"))


@contextlib.contextmanager
def _only_build_of(namespace: Namespace) -> Iterator[None]:
    """Keep other builds out of a namespace, on any machine.

    Two builds at once would insert the same chunks, and neither graph would be complete.
    """
    driver: Any = namespace.database.driver
    name = f"{namespace.database.id}/{namespace.name}"
    with contextlib.ExitStack() as stack:
        if driver.name == "postgresql":
            is_alone = stack.enter_context(driver.alone(f"build {name}"))
        elif driver.path is None:
            return (yield)  # in memory: no other process sees it
        else:
            digest = hashlib.blake2b(name.encode(), digest_size=10).hexdigest()
            lock = driver.path.with_name(f"build-{digest}.lock")
            with translated_os(str(lock)):
                file = lock_file(lock)
            is_alone = file is not None
            if file is not None:
                stack.enter_context(file)
                stack.callback(_unlinked, lock)  # before it is unlocked
        if not is_alone:
            raise IndexLockedError(
                f"{namespace.database.place}: another build writes to namespace "
                f"{namespace.name!r}; wait for it, and build again: what is stored stays"
            )
        yield


@contextlib.contextmanager
def _alone_in(shelf: Path) -> Iterator[None]:
    """Keep other builds out of a folder, as they would remove each other's results."""
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
    owner = [namespace.database.id, namespace.name]
    salt = _salt_of(shelf, owner)
    recipe = new_recipe(namespace.settings, on_error=on_error, salt=salt, embedder=embedder)
    shelf.mkdir(parents=True, exist_ok=True)
    manifest = json.dumps({"index": owner, "salt": recipe.salt.hex()})
    replace_file(shelf / _MANIFEST, lambda path: path.write_text(manifest))
    return recipe


def _salt_of(shelf: Path, owner: list[str]) -> bytes:
    """Return the salt of the hashes on a shelf; empty if it is new.

    Results for another index are useless without their salt, and are removed.

    Raises
    ------
    ParameterError
        If other files lie there: a build removes its folder in the end.
    """
    manifest = _manifest(shelf)
    if manifest["index"] == owner:
        return bytes.fromhex(manifest["salt"])
    if manifest["index"]:
        remove(shelf)
    elif shelf.exists() and not (shelf.is_dir() and _is_empty(shelf)):
        raise ParameterError(
            f"{shelf} holds files that no build made, and a build removes its folder in the "
            "end; name a new or an empty one (work=, --work)"
        )
    return b""


def _manifest(shelf: Path) -> dict[str, Any]:
    """Return the owner and the salt of a shelf; both empty if no build made it."""
    try:
        manifest = json.loads((shelf / _MANIFEST).read_bytes())
        bytes.fromhex(manifest["salt"])
        return {"index": list(manifest["index"]), "salt": manifest["salt"]}
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return {"index": [], "salt": ""}


def _is_empty(folder: Path) -> bool:
    return all(path.name == f"{_MANIFEST}.partial" for path in folder.iterdir())
