"""Files to documents, whose chunks go to ``index.refresh``; :func:`ingest` reads folders."""

from hebbgraph.documents.document import Document, Limits, convert, read
from hebbgraph.documents.ingesting import IngestReport, ingest

__all__ = ["Document", "IngestReport", "Limits", "convert", "ingest", "read"]
