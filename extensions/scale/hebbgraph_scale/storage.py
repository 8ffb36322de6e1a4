"""Where fsspec reaches: a folder, ``s3://``, ``gs://``, ``memory://`` and others, by their URL."""

from __future__ import annotations

from typing import Any

from hebbgraph.errors import MissingExtraError, ParameterError, StorageError
from hebbgraph.extras import require

__all__ = ["check_bucket", "file_system"]

#: Storage that is kept in buckets. fsspec makes one with the first folder in it, whatever its name.
_BUCKETED = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az"}


def file_system(url: str, *, extra: str, purpose: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it.

    Raises
    ------
    MissingExtraError
        If fsspec, or the package for this kind of storage, is not installed.
    ParameterError
        If no package knows the URL.
    """
    core = require("fsspec.core", extra=extra, purpose=purpose)
    try:
        system, path = core.url_to_fs(url)
    except ImportError as error:  # each kind of storage has a package of its own
        raise MissingExtraError(f"{purpose}: {error}") from error
    except ValueError as error:
        raise ParameterError(
            f"{url}: {error}; URLs are those of fsspec, such as s3://, gs:// and hdfs://"
        ) from error
    return system, str(path)


def check_bucket(system: Any, path: str, url: str) -> None:
    """Raise StorageError if a path lies in a bucket that is not there.

    A bucket of a mistyped name would be made, paid for, and read by nobody.
    """
    kinds = {system.protocol} if isinstance(system.protocol, str) else {*system.protocol}
    bucket = path.lstrip("/").partition("/")[0]
    if kinds & _BUCKETED and not system.exists(bucket):
        raise StorageError(
            f"{url}: there is no bucket {bucket!r}, or it may not be read; check the name, or make "
            "it with the tools of the storage"
        )
