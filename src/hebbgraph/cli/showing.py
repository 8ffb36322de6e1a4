"""Inspecting the graph: ``hebbgraph stats`` and ``export``."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from hebbgraph.artifacts import whole_file
from hebbgraph.cli.shared import AsJson, Cache, Db, Namespace, opened, out, print_json
from hebbgraph.cli.terminal import harmless

app = typer.Typer()


class _Format(StrEnum):
    graphml = "graphml"
    json = "json"


class _Kind(StrEnum):
    tags = "tags"
    incidence = "incidence"
    colonies = "colonies"


@app.command()
def stats(
    db: Db, namespace: Namespace = "default", cache_dir: Cache = None, as_json: AsJson = False
) -> None:
    """Show the number of chunks, tags and edges."""
    with opened(db, namespace, cache_dir=cache_dir) as index:
        counted = index.stats()
    if as_json:
        print_json(counted.model_dump())
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in counted.model_dump().items():
        if value == {}:
            continue
        shown = (
            "  ".join(f"{key} {number:g}" for key, number in value.items())
            if isinstance(value, dict)
            else ("yes" if value else "no")
            if isinstance(value, bool)
            else f"{value:,.4g}"
            if isinstance(value, float)
            else f"{value:,}"
        )
        table.add_row(name.replace("_", " "), shown)
    out.print(table)


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="File to write.")],
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    kind: _Kind = _Kind.tags,
    format: Annotated[_Format | None, typer.Option(help="[default: by file suffix]")] = None,
) -> None:
    """Export the graph as GraphML or node-link JSON."""
    import networkx as nx

    with opened(db, namespace, cache_dir=cache_dir) as index:
        graph = index.inspect.to_networkx(kind.value)
    chosen = format or (_Format.graphml if file.suffix.lower() == ".graphml" else _Format.json)
    with whole_file(file) as partial:
        if chosen is _Format.graphml:
            nx.write_graphml(graph, partial)
        else:
            content = nx.node_link_data(graph, edges="edges")
            partial.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    out.print(
        f"{graph.number_of_nodes()} nodes, {graph.number_of_edges()} edges: {harmless(str(file))}"
    )
