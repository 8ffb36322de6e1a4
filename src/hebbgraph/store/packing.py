"""A recall in few bytes: ids, ranks and paths.

Texts, titles and metadata are left out: the truth has them. The hash of each hit's text tells
later whether the text has changed. The vector is stored separately, as numbers; as JSON it would
take longer than everything else.
"""

from __future__ import annotations

import zlib
from typing import Any

from pydantic_core import from_json

from hebbgraph.records import Recall

__all__ = ["packed", "unpacked"]

_NOT_KEPT: dict[str, Any] = {
    "vector": True,
    "hits": {
        "__all__": {
            "text_hash": True,
            "chunk": {
                "text", "title", "metadata", "document_id", "context", "tags",
                "addresses", "references", "valid_from", "valid_until", "supersedes", "version_of",
            },
            "path": {"__all__": {"title"}},
        }
    },
}  # fmt: skip
#: The highest level would save a tenth and take four times as long. The window suits a few
#: kilobytes; clearing the tables of a larger one takes as long as everything else.
_LEVEL, _WINDOW_BITS, _MEMORY = 1, 13, 6


def packed(recall: Recall) -> bytes:
    """Return a recall without the content of its chunks, and without its vector.

    Examples
    --------
    >>> recall = Recall(id="r", namespace="n", strategy="spreading", query="Who hunts at night?")
    >>> unpacked(packed(recall)) == recall
    True
    """
    hashes = " ".join([hit.hash_of_text for hit in recall.hits])
    body = recall.model_dump_json(exclude=_NOT_KEPT, exclude_defaults=True)
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW_BITS, _MEMORY)
    return packer.compress(f"{hashes}\n{body}".encode()) + packer.flush()


def unpacked(body: bytes, vector: tuple[float, ...] | None = None) -> Recall:
    """Return the recall; the texts of its hits are empty.

    Parameters
    ----------
    body : bytes
        What :func:`packed` returned.
    vector : tuple of float, optional

    Raises
    ------
    ValueError
        If ``body`` is not a packed recall.
    """
    try:
        hashes, row, *_ = zlib.decompress(body).decode().split("\n")  # 0.1 wrote a third line
        fields = from_json(row)
        fields.pop("seal", None)  # earlier versions had one
        if hashes:  # else nothing was found
            for hit, hash_ in zip(fields["hits"], hashes.split(), strict=True):
                hit["text_hash"] = hash_
                hit["chunk"]["text"] = ""
        if vector is not None:
            fields["vector"] = vector
    except (TypeError, LookupError, zlib.error) as error:
        raise ValueError("not a stored recall") from error
    return Recall.model_validate(fields)
