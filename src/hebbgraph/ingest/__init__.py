"""The flow of ``add``: chunks to commits.

================  ======================================================================
``intake``        input values to chunks; replaces characters that cannot be stored
``versions``      which version of a chunk has its id, and the ids of the others
``candidates``    the tag candidates of a chunk: pass 1, given tags, a tagger's, links
``vectors``       the vectors of a batch: nothing is embedded twice or lost to a failure
``writer``        the flow: prepare a batch outside any transaction, then commit it
``rewriting``     tags or embeds all chunks again, for ``index.maintenance``
``progress``      progress of long calls
================  ======================================================================

The names exported here are for adapters and extensions.
"""

from hebbgraph.ingest.intake import (
    AcceptedChunk,
    ChunkLike,
    Intake,
    OnError,
    UnreadableChunk,
    check_emptying,
    clean_chunk,
    is_blank,
)
from hebbgraph.ingest.progress import OnProgress, progress

__all__ = [
    "AcceptedChunk",
    "ChunkLike",
    "Intake",
    "OnError",
    "OnProgress",
    "UnreadableChunk",
    "check_emptying",
    "clean_chunk",
    "is_blank",
    "progress",
]
