"""The one module that knows :mod:`hebbgraph.documents`: files to passages."""

from hebbgraph.documents import Document, convert
from hebbgraph.documents.kinds import can_convert
from hebbgraph.errors import ConversionError

_OFFERED = ".csv .docx .epub .htm .html .ipynb .json .md .mdx .odt .org .pdf .pptx .rst .rtf .txt"
#: Endings of files that people may choose; other texts are read as well.
KINDS = [ending for ending in _OFFERED.split(" ") if can_convert(f"a{ending}")]


def read_file(data: bytes, place: str) -> Document:
    """Read an upload, in a process of its own with limits; errors say why it cannot be read."""
    document = convert(data, place)
    if not document.chunks():
        raise ConversionError(f"{document.document_id}: holds no passage")
    return document
