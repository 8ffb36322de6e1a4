"""Contents of an index: ``hebbgraph show``, ``delete``, ``stats`` and ``export``."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from hebbgraph.artifacts import whole_file
from hebbgraph.cli.naming import find_documents, find_passages, missing_chunks
from hebbgraph.cli.shared import AsJson, Cache, Db, Namespace, fail_with, opened, out, print_json
from hebbgraph.cli.terminal import counted, harmless
from hebbgraph.errors import NotFoundError
from hebbgraph.labels import heading_of, place_of
from hebbgraph.records import Chunk

app = typer.Typer()


class _Format(StrEnum):
    graphml = "graphml"
    json = "json"


class _Kind(StrEnum):
    tags = "tags"
    incidence = "incidence"
    colonies = "colonies"


@app.command()
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Id of a chunk; a document: its path, or the end of it; or a place like "
            "'fares.md, passage 2'.",
        ),
    ],
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    as_json: AsJson = False,
) -> None:
    """Show a chunk, or all chunks of a document."""
    with opened(db, namespace, cache_dir=cache_dir) as index:
        chunks = index.get([name]) or find_passages(index, name)
    chunks.sort(key=_position)
    if as_json:
        print_json([chunk.model_dump(mode="json", exclude_none=True) for chunk in chunks])
        return
    for chunk in chunks:
        out.print(f"[bold]{harmless(heading_of(chunk))}[/bold]  [dim]{harmless(chunk.id)}[/dim]")
        if place := place_of(chunk):
            out.print(f"[dim]{harmless(place)}[/dim]")
        out.print(f"{harmless(chunk.text)}\n", highlight=False)


def _position(chunk: Chunk) -> int:
    position = chunk.metadata.get("position")
    return position if isinstance(position, int) else 0


@app.command()
def delete(
    db: Db,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="CHUNK_ID", help="Ids of chunks.")
    ] = None,
    document: Annotated[
        list[str] | None,
        typer.Option(
            help="A document with all its chunks: its path, or the end; FOLDER/ for all documents "
            "below it; repeatable."
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="Allow a FOLDER/ that has all documents.")
    ] = False,
    erase: Annotated[
        bool, typer.Option("--erase", help="Also erase every trace from logs and files.")
    ] = False,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
) -> None:
    """Delete chunks or whole documents. If one is missing, name it and exit with 1."""
    if not ids and not document:
        raise typer.BadParameter("give ids of chunks, or --document ID")
    with opened(db, namespace, cache_dir=cache_dir) as index:
        missing, documents = missing_chunks(index, ids or ()), dict[str, None]()
        for name in document or ():
            try:
                documents |= dict.fromkeys(find_documents(index, name, everything=everything))
            except NotFoundError as error:
                missing.append(str(error))
        deleted = index.delete(ids, erase=erase and not documents) if ids else 0
        for left, id_ in enumerate(documents, start=1 - len(documents)):
            deleted += index.delete(document_id=id_, erase=erase and not left)
    out.print(f"{counted(deleted, 'chunk')} deleted")
    fail_with(missing)


@app.command()
def stats(
    db: Db, namespace: Namespace = "default", cache_dir: Cache = None, as_json: AsJson = False
) -> None:
    """Show the number of chunks, tags and edges."""
    with opened(db, namespace, cache_dir=cache_dir) as index:
        figures = index.stats()
    if as_json:
        print_json(figures.model_dump())
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in figures.model_dump().items():
        if value not in ({}, (), None):
            table.add_row(name.replace("_", " "), _readable(value))
    out.print(table, soft_wrap=False)


def _readable(value: object) -> str:
    if isinstance(value, dict):
        return "  ".join(f"{key} {_readable(item)}" for key, item in value.items())
    if isinstance(value, tuple):
        return "; ".join(map(_readable, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="File to write.")],
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    kind: _Kind = _Kind.tags,
    format: Annotated[_Format | None, typer.Option(help="\\[default: by file suffix]")] = None,
) -> None:
    """Export the graph as GraphML or node-link JSON."""
    import networkx as nx

    try:
        chosen = format or _Format(file.suffix.lower()[1:])
    except ValueError:
        raise typer.BadParameter(
            f"{harmless(file.name)} ends neither in .graphml nor in .json; give a --format"
        ) from None
    with opened(db, namespace, cache_dir=cache_dir) as index:
        graph = index.inspect.to_networkx(kind.value)
    with whole_file(file) as partial:
        if chosen is _Format.graphml:
            nx.write_graphml(graph, partial)
        else:
            content = nx.node_link_data(graph, edges="edges")
            partial.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    out.print(
        f"{counted(graph.number_of_nodes(), 'node')}, {counted(graph.number_of_edges(), 'edge')}: "
        f"{harmless(str(file))}"
    )
