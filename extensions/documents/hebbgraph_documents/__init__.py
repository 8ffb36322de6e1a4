"""Files to chunks: find them, convert them to Markdown, split them, keep an index up to date.

===================== ==============================================================
``ingesting``         :func:`ingest`: all of the below for every file that changed
``walk``              folders to files, and the fingerprint of a file
``read``              :func:`read_document`: one file, in this process or a worker
``convert``           bytes to a :class:`Document`, whatever the format
``formats``           HTML, Word and PDF to Markdown, through their libraries
``html_tree``         an HTML page to a tree, nested as a browser nests it
``outline``           titles, headings and front matter
``links``             anchors and links, resolved against the document's path
``code``              source code: what it defines
``rst``               reStructuredText: its sections, labels and references
``split``             a Document to chunks along its outline
``cut``               a text too long for one chunk
``worker``            parent side: starts worker processes, and what one file may cost
``worker_main``       child side: what a worker process runs
``worker_protocol``   the messages between the two
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
