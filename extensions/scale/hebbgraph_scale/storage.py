"""Where fsspec reaches: a folder, ``s3://``, ``gs://``, ``memory://`` and others, by their URL."""

from __future__ import annotations

from typing import Any

from hebbgraph.errors import MissingExtraError, ParameterError
from hebbgraph.extras import require

__all__ = ["file_system"]


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
