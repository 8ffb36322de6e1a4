"""The ways of searching vectors by name, and the libraries that they need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from hebbgraph.extras import require

__all__ = ["VectorSearch", "check_installed", "library"]

VectorSearch: TypeAlias = Literal["exact", "quantized", "ivf", "usearch"]

#: Each comes with the extra of the search's name.
_LIBRARIES: Mapping[VectorSearch, str] = {
    "quantized": "numkong",
    "ivf": "faiss",
    "usearch": "usearch.index",
}


def library(search: VectorSearch) -> Any:
    """Return the library that a search works by; "exact" needs none.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    return require(
        _LIBRARIES[search],
        extra=search,
        purpose=f'vector_search="{search}"',
        otherwise='open the index with Settings(vector_search="exact")',
    )


def check_installed(search: VectorSearch) -> None:
    """Raise MissingExtraError if a search needs what is not installed."""
    if search in _LIBRARIES:
        library(search)
