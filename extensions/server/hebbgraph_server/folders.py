"""A folder on the server's machine that is read again."""

from __future__ import annotations

import os

from hebbgraph.errors import ParameterError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph_documents import ingest
from pydantic import BaseModel, Field
from starlette.responses import Response

from hebbgraph_server.visit import Visit

__all__ = ["FolderReport", "read_folder"]


class FolderReport(BaseModel):
    """What reading a folder again changed, in documents."""

    indexed: int
    unchanged: int
    removed: int
    passages: int = Field(description="of the documents that were indexed")
    failed: list[str] = Field(description="files that could not be read, and why")


async def read_folder(visit: Visit) -> Response:
    """Read the server's folder again: what changed is replaced, and what is gone, deleted.

    With ``--base``, nothing is deleted: names that are relative may be those of files sent here.
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
        root = f"{folder.path.resolve()}{os.sep}"
        return FolderReport(
            indexed=len(report.indexed),
            unchanged=len(report.skipped),
            removed=len(report.removed),
            passages=report.chunks,
            failed=[f"{path}: {why}".replace(root, "") for path, why in report.failed],
        )

    return await visit.answer(work, pool="long", create=True)
