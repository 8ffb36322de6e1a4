"""Size limits. Larger input is rejected with an error that names the limit.

Limits bound the cost of one request and fit the column types of every database.
"""

from __future__ import annotations

from unicodedata import normalize

__all__ = [
    "CONVERSION_CHARACTERS",
    "CONVERSION_CHUNKS",
    "CONVERSION_MEMORY_BYTES",
    "CONVERSION_SECONDS",
    "MANY_SHOWN",
    "MAX_ADDRESS",
    "MAX_ADDRESSES",
    "MAX_ARCHIVE_ENTRIES",
    "MAX_ARCHIVE_XML",
    "MAX_CONTEXT",
    "MAX_CORRECTIONS",
    "MAX_FEEDBACK_LINE",
    "MAX_ID",
    "MAX_K",
    "MAX_METADATA_BYTES",
    "MAX_METADATA_DEPTH",
    "MAX_NAMES_OF_ONE",
    "MAX_QUERY_CHARACTERS",
    "MAX_REFERENCES",
    "MAX_SEEDS",
    "MAX_SPLIT",
    "MAX_TAG",
    "MAX_TAGS",
    "MAX_TEXT",
    "MAX_TITLE",
    "MAX_TURN",
    "too_long",
]

#: Characters of the id of a chunk, document, recall, actor or origin.
MAX_ID = 512
#: Hits of one recall.
MAX_K = 10_000
#: Characters of a chunk's text. A chunk should be a passage; this allows unsplit documents.
MAX_TEXT = 10_000_000
#: Characters that one character may expand to: U+FDFA is a sentence.
_MAX_EXPANSION = 18
#: Characters of a title.
MAX_TITLE = 4096
MAX_CONTEXT = 10_000
#: Tags given with one chunk, and characters of each.
MAX_TAGS = 256
MAX_TAG = 512
#: Addresses and references of one chunk, and characters of each.
MAX_ADDRESSES = 256
MAX_REFERENCES = 4096
MAX_ADDRESS = 2048
#: Bytes of a chunk's metadata as JSON in UTF-8.
MAX_METADATA_BYTES = 1_000_000
#: Other names of one thing in a glossary, and things that one name may stand for.
MAX_NAMES_OF_ONE = 32
#: Characters of a question; of a longer one, the beginning and the end are read.
MAX_QUERY_CHARACTERS = 8192
#: Characters of an earlier turn that are read.
MAX_TURN = 4096
#: Levels of nested lists and objects, including the metadata itself. JSON readers fail at 200,
#: and a recall adds a few levels around a chunk.
MAX_METADATA_DEPTH = 128
#: Chunks that the caller's own search may return.
MAX_SEEDS = 100_000
#: Tag corrections in force in a namespace, and chunks that one split names.
MAX_CORRECTIONS = 10_000
MAX_SPLIT = 10_000
#: An answer that cites all of at least this many shown chunks teaches nothing.
MANY_SHOWN = 5
#: Characters per line of exported feedback.
MAX_FEEDBACK_LINE = 50_000_000
#: Defaults for converting one file: wall time, memory of the converting process, characters of
#: text (if more than the file has bytes), and chunks.
CONVERSION_SECONDS = 60.0
CONVERSION_MEMORY_BYTES = 1_000_000_000
CONVERSION_CHARACTERS = 20_000_000
CONVERSION_CHUNKS = 100_000
#: Entries of a .docx, and bytes of its XML when unpacked.
MAX_ARCHIVE_ENTRIES = 10_000
MAX_ARCHIVE_XML = 200_000_000


def too_long(text: str) -> str | None:
    """Describe by how much a text is too long; None if it is not.

    Compatibility characters count as the characters that they expand to.

    Examples
    --------
    >>> too_long("Owls hunt voles.")
    >>> too_long(chr(0xFDFA) * 600_000)
    '600000 characters, which are read as 10800000, at most 10000000'
    """
    length, read = len(text), len(text)
    if length <= MAX_TEXT < length * _MAX_EXPANSION and not text.isascii():
        parts = (text[at : at + 65_536] for at in range(0, length, 65_536))
        read = sum(len(normalize("NFKC", part)) for part in parts)
    if read <= MAX_TEXT:
        return None
    which = "" if read == length else f", which are read as {read}"
    return f"{length} characters{which}, at most {MAX_TEXT}"
