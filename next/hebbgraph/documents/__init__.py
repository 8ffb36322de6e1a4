"""Files to documents to chunks.

:func:`read` and :func:`convert` return a :class:`Document`, whose ``chunks()`` go to
``index.refresh``; :func:`preview` says what that would replace; :func:`ingest` reads folders.
"""

from hebbgraph.documents.document import Change, Document, Limits, convert, preview, read
from hebbgraph.documents.ingesting import IngestReport, ingest

__all__ = ["Change", "Document", "IngestReport", "Limits", "convert", "ingest", "preview", "read"]
