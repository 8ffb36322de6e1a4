"""Chunks to commits, which is what ``add`` does.

================  ======================================================================
``intake``        what callers hand over to chunks; characters that cannot be kept go
``versions``      which version of a chunk bears its id, and what the others are called
``candidates``    what a chunk proposes as tags: pass 1, given tags, a tagger's, links
``vectors``       the vectors of a batch: none paid for twice, none lost to a failure
``writer``        the flow: a batch is prepared outside of any transaction, then committed
``rewriting``     all chunks tagged or embedded again, for ``index.maintenance``
``progress``      how far a long call has come
================  ======================================================================

The names exported here are for adapters and extensions.
"""

from hebbgraph.ingest.intake import (
    ChunkLike,
    Intake,
    OnError,
    Taken,
    Unreadable,
    clean_chunk,
    is_blank,
)
from hebbgraph.ingest.progress import OnProgress, progress

__all__ = [
    "ChunkLike",
    "Intake",
    "OnError",
    "OnProgress",
    "Taken",
    "Unreadable",
    "clean_chunk",
    "is_blank",
    "progress",
]
