"""Files -> chunks: find them, convert them to Markdown, split them, keep an index fresh.

walk (which files) → convert (bytes to a Document) → split (a Document to Chunks);
``ingest`` does the three for every file that has changed. What a file may cost is in
``ConversionLimits``: a hostile one is given up, and the next one follows.
"""

from __future__ import annotations

from hebbgraph.documents.bounds import ConversionLimits
from hebbgraph.documents.convert import (
    DEFAULT_MAX_BYTES,
    MEDIA_TYPES,
    Document,
    markdown_document,
)
from hebbgraph.documents.cut import TokenCounter
from hebbgraph.documents.ingesting import DocumentIndex, IngestReport, ingest
from hebbgraph.documents.outline import Heading
from hebbgraph.documents.reading import read_document
from hebbgraph.documents.split import ChunkSettings, estimate_tokens, split_document
from hebbgraph.documents.walk import Discovery, FoundFile, discover, fingerprint

__all__ = [
    "DEFAULT_MAX_BYTES",
    "MEDIA_TYPES",
    "ChunkSettings",
    "ConversionLimits",
    "Discovery",
    "Document",
    "DocumentIndex",
    "FoundFile",
    "Heading",
    "IngestReport",
    "TokenCounter",
    "discover",
    "estimate_tokens",
    "fingerprint",
    "ingest",
    "markdown_document",
    "read_document",
    "split_document",
]
