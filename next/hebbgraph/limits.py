"""Size limits. Larger input is refused with an error that names the limit."""

from __future__ import annotations

#: Characters of the id of a chunk, document, recall or actor, and of a namespace.
MAX_ID = 512
#: Hits of one recall.
MAX_K = 10_000
#: Characters of a chunk's text. A chunk should be a passage; this allows unsplit documents.
MAX_TEXT = 10_000_000
#: Characters of a title.
MAX_TITLE = 4096
#: Characters of metadata that are searched with a chunk.
MAX_CONTEXT = 10_000
#: Tags given with one chunk, and characters of each.
MAX_TAGS, MAX_TAG = 256, 512
#: Addresses and references of one chunk, and characters of each.
MAX_ADDRESSES, MAX_REFERENCES, MAX_ADDRESS = 256, 4096, 2048
#: Bytes of a chunk's metadata as JSON in UTF-8, and levels of nested lists and objects.
MAX_METADATA, MAX_METADATA_DEPTH = 1_000_000, 64
#: Characters of a question; of a longer one, the beginning and the end are read.
MAX_QUESTION = 8192
#: Chunks that the caller's own search may return.
MAX_SEEDS = 100_000
