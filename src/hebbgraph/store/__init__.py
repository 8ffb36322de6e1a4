"""One database a namespace: what its tables hold, and how they are read and changed.

=============== =====================================================================
``database``    what both databases offer: tables, and one dialect of SQL for both
``sqlite``      a namespace as a file; ``forks`` keeps it safe when a process forks
``postgres``    a namespace as a schema; connections and values in ``postgres_server``
``meta``        settings, versions, counts
``chunks``      chunks and the facts of their metadata
``terms``       terms by key, and their counts
``postings``    which chunks hold a term
``vectors``     embeddings, and a file that maps them; ``nearest`` searches it approximately
=============== =====================================================================

The package itself says which database a path or URL and a namespace mean.
"""

from __future__ import annotations

from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote, unquote

from hebbgraph.errors import NotAnIndexError, ParameterError, StorageError
from hebbgraph.records.base import check_name
from hebbgraph.store.database import Database
from hebbgraph.store.sqlite import SQLiteDatabase

__all__ = ["MEMORY", "namespaces_at", "open_database"]

MEMORY = ":memory:"
_SERVERS = "postgresql://", "postgres://"
_SUFFIX = ".sqlite3"
_LONGEST = 120  # characters of a file name


def open_database(
    path: str | Path, namespace: str, *, wait: float, read_only: bool = False
) -> Database:
    """Open the database of a namespace, creating it unless it is opened to read."""
    check_name(namespace, "a namespace")
    if not isinstance(path, str | Path) or not str(path):
        raise ParameterError(f"path is a directory, ':memory:' or a URL, got {path!r:.80}")
    if str(path) == MEMORY:
        return SQLiteDatabase(None, wait=wait)
    if str(path).startswith(_SERVERS):
        from hebbgraph.store.postgres import PostgresDatabase

        return PostgresDatabase(str(path), namespace, wait=wait, read_only=read_only)
    if "://" in str(path):
        scheme = str(path).partition("://")[0]
        raise ParameterError(f"a URL begins with postgresql://, got {scheme:.40}://")
    folder = Path(path).expanduser().absolute()  # the process may change its directory
    if folder.is_file():
        raise NotAnIndexError(
            f"{folder} is a file; an index is a directory. A backup is put back as "
            f"DIRECTORY/{file_name(namespace)}"
        )
    if not read_only:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{folder} cannot be made: {error}") from error
    return SQLiteDatabase(folder / file_name(namespace), wait=wait, read_only=read_only)


def namespaces_at(path: str | Path) -> list[str]:
    """Return the namespaces of an index, sorted."""
    if str(path).startswith(_SERVERS):
        from hebbgraph.store.postgres import namespaces_of

        return namespaces_of(str(path))
    return sorted(map(_namespace_of, Path(path).expanduser().glob(f"*{_SUFFIX}")))


def file_name(namespace: str) -> str:
    """Return the name of a namespace's file, different for each, on any file system.

    >>> file_name("default"), file_name("Anna/7")
    ('default.sqlite3', '%41nna%2F7.sqlite3')
    """
    # Some file systems do not tell capital letters from small ones.
    safe = "".join(f"%{ord(c):02X}" if c.isascii() and c.isupper() else quote(c, safe="")
                   for c in namespace).replace(".", "%2E")  # fmt: skip
    if len(safe) > _LONGEST:
        digest = blake2b(namespace.encode(), digest_size=16).hexdigest()
        safe = f"{safe[: _LONGEST - 40]}%23{digest}"
    return safe + _SUFFIX


def _namespace_of(path: Path) -> str:
    """Return the namespace of a file; a long name is read from the file."""
    name = path.name.removesuffix(_SUFFIX)
    if "%23" not in name or len(name) < _LONGEST - 40:
        return unquote(name)
    opened = closing(SQLiteDatabase(path, wait=1.0, read_only=True))
    with opened as database, database.read() as session:
        return session.meta.get("namespace", unquote(name))
