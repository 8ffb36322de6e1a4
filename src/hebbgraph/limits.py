"""Size limits. Larger input is rejected with an error that names the limit.

They bound the cost of one request, and fit the column types of every database.
"""

from __future__ import annotations

__all__ = [
    "MAX_FEEDBACK_LINE",
    "MAX_ID",
    "MAX_METADATA_BYTES",
    "MAX_QUERY_CHARACTERS",
    "MAX_SEEDS",
    "MAX_TAG",
    "MAX_TAGS",
    "MAX_TEXT",
    "MAX_TITLE",
]

#: Characters of the id of a chunk, document, recall, actor or origin.
MAX_ID = 512
#: Characters of a chunk's text. A chunk should be a passage; this is for unsplit documents.
MAX_TEXT = 10_000_000
#: Characters of a title.
MAX_TITLE = 4096
#: Tags given with one chunk, and characters of each.
MAX_TAGS = 256
MAX_TAG = 512
#: A chunk's metadata as JSON, in UTF-8.
MAX_METADATA_BYTES = 1_000_000
#: Characters of a question.
MAX_QUERY_CHARACTERS = 65_536
#: Chunks that a caller's own search may return.
MAX_SEEDS = 100_000
#: Characters per line of exported feedback.
MAX_FEEDBACK_LINE = 50_000_000
