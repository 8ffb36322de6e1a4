"""Files to documents to chunks.

:func:`read` and :func:`convert` return a :class:`Document`, whose ``chunks()`` go to
``index.refresh``; :func:`ingest` reads folders.
"""

from hebbgraph.documents.document import Document, Limits, convert, read
from hebbgraph.documents.ingesting import IngestReport, ingest

__all__ = ["Document", "IngestReport", "Limits", "convert", "ingest", "read"]
