"""Storage that fsspec reaches: folders, ``s3://``, ``gs://``, ``memory://`` and others."""

from __future__ import annotations

from typing import Any

from hebbgraph.errors import MissingExtraError, ParameterError, StorageError
from hebbgraph.extras import require

__all__ = ["check_bucket", "file_system"]

#: Protocols with buckets. Writing to a missing bucket would make fsspec create it.
_BUCKETED = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az"}


def file_system(url: str, *, extra: str, purpose: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it.

    Raises
    ------
    MissingExtraError
        If fsspec, or its package for this protocol, is not installed.
    ParameterError
        If fsspec does not know the protocol.
    """
    core = require("fsspec.core", extra=extra, purpose=purpose)
    try:
        system, path = core.url_to_fs(url)
    except ImportError as error:  # each protocol has its own package
        raise MissingExtraError(f"{purpose}: {error}") from error
    except ValueError as error:
        raise ParameterError(
            f"{url}: {error}; URLs are those of fsspec, such as s3://, gs:// and hdfs://"
        ) from error
    return system, str(path)


def check_bucket(system: Any, path: str, url: str) -> None:
    """Raise StorageError if a path lies in a missing bucket, which a typo would create."""
    protocols = {system.protocol} if isinstance(system.protocol, str) else {*system.protocol}
    bucket = path.lstrip("/").partition("/")[0]
    if protocols & _BUCKETED and not system.exists(bucket):
        raise StorageError(
            f"{url}: there is no bucket {bucket!r}, or it may not be read; check the name, or make "
            "it with the tools of the storage"
        )
