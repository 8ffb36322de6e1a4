"""Read the server's folder again."""

from __future__ import annotations

from hebbgraph.errors import ParameterError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph_documents import ingest
from pydantic import BaseModel, Field
from starlette.responses import Response

from hebbgraph_server.visit import Visit

__all__ = ["FolderReport", "read_folder"]


class FolderReport(BaseModel):
    """Documents that reading a folder changed."""

    indexed: int
    unchanged: int
    removed: int
    passages: int = Field(description="of the indexed documents")
    failed: list[str] = Field(description="unreadable files, with the reason")


async def read_folder(visit: Visit) -> Response:
    """Read the server's folder again: replace what changed, delete what is gone.

    With ``--base``, nothing is deleted, since uploaded files have relative names too.
    """
    folder = visit.service.settings.folder_of(visit.namespace)
    if folder is None:
        raise ParameterError("no folder is read into this namespace; start with --folder DIR")

    def work(index: HebbianIndex) -> FolderReport:
        report = ingest(
            [folder.path],
            index,
            prune=folder.base is None,
            base=folder.base,
            on_progress=visit.tell,
        )
        root = f"{folder.path.resolve().as_posix()}/"
        return FolderReport(
            indexed=len(report.indexed),
            unchanged=len(report.skipped),
            removed=len(report.removed),
            passages=report.chunks,
            failed=[f"{path}: {why}".replace(root, "") for path, why in report.failed],
        )

    return await visit.answer(work, pool="long", create=True)
