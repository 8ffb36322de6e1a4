"""Find files, convert them to Markdown, split them into chunks, and keep an index up to date.

===================== ==============================================================
``ingesting``         :func:`ingest`: bring an index up to date with files
``walk``              find files in folders; their fingerprints
``read``              :func:`read_document`: one file, in this process or a worker
``convert``           bytes to a :class:`Document`, for all formats
``formats``           HTML, Word and PDF to Markdown
``html_tree``         parse HTML as browsers do
``outline``           titles, headings and front matter
``links``             anchors and links
``code``              definitions in source code
``rst``               sections, labels and references of reStructuredText
``split``             a Document to chunks, along its headings
``cut``               split a text that is too long for one chunk
``worker``            parent side of worker processes, and the limits of a conversion
``worker_main``       child side of worker processes
``worker_protocol``   messages between the two
``commands``          ``hebbgraph index``
===================== ==============================================================
"""

from __future__ import annotations

from hebbgraph_documents.convert import (
    DEFAULT_MAX_BYTES,
    MEDIA_TYPES,
    Document,
    markdown_document,
    text_document,
)
from hebbgraph_documents.cut import TokenCounter
from hebbgraph_documents.ingesting import (
    DocumentIndex,
    IngestReport,
    chunks_of_bytes,
    ingest,
)
from hebbgraph_documents.outline import Heading
from hebbgraph_documents.read import read_document
from hebbgraph_documents.split import ChunkSettings, estimate_tokens, split_document
from hebbgraph_documents.walk import Discovery, FoundFile, discover, fingerprint
from hebbgraph_documents.worker import ConversionLimits

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
    "chunks_of_bytes",
    "discover",
    "estimate_tokens",
    "fingerprint",
    "ingest",
    "markdown_document",
    "read_document",
    "split_document",
    "text_document",
]
