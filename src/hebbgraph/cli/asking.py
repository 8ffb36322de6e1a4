"""``hebbgraph query``."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.padding import Padding

from hebbgraph.cli.shared import (
    AsJson,
    Cache,
    Db,
    EmbedderName,
    Namespace,
    SettingsFile,
    err,
    opened,
    out,
    print_json,
)
from hebbgraph.cli.terminal import harmless
from hebbgraph.labels import heading_of, place_of
from hebbgraph.recall.strategies import strategy_names
from hebbgraph.records import Recall

app = typer.Typer()


@app.command()
def query(
    words: Annotated[
        list[str], typer.Argument(metavar="QUESTION", help="Question in plain language.")
    ],
    db: Db,
    k: Annotated[int, typer.Option("-k", help="Number of chunks to return.", min=1)] = 5,
    namespace: Namespace = "default",
    embedder: EmbedderName = None,
    strategy: Annotated[
        str,
        typer.Option(
            help="spreading; with hebbgraph-papers, neighbourhood, breadth_first, neural."
        ),
    ] = "spreading",
    where: Annotated[
        str | None, typer.Option(help='Metadata filter as JSON, e.g. \'{"lang": "en"}\'.')
    ] = None,
    after: Annotated[
        list[str] | None,
        typer.Option(help="An earlier turn of the conversation; repeat it, oldest first."),
    ] = None,
    as_of: Annotated[
        str | None, typer.Option(help="Only what held at this time, such as 2022-08-15.")
    ] = None,
    per_colony: Annotated[
        int | None,
        typer.Option(help="Prefer at most this many chunks from one colony.", min=1),
    ] = None,
    cache_dir: Cache = None,
    settings: SettingsFile = None,
    explain: Annotated[bool, typer.Option(help="Show how each chunk was reached.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find the chunks that answer a question."""
    if strategy not in (names := strategy_names()):
        raise typer.BadParameter(f"--strategy takes {', '.join(names)}; got {strategy!r:.80}")
    with opened(db, namespace, embedder, cache_dir=cache_dir, settings=settings) as index:
        index.keep_recalls()  # for hebbgraph cite
        recall = index.recall(
            " ".join(words),
            k=k,
            where=_filter(where),
            strategy=strategy,
            per_colony=per_colony,
            history=after or (),
            as_of=as_of,
            min_score=None if as_json else 0,
        )
    if as_json:
        print_json(recall.model_dump(mode="json", exclude_none=True))
        return
    _show_recall(recall, explain)


def _filter(where: str | None) -> dict[str, Any] | None:
    if where is None:
        return None
    try:
        given = json.loads(where)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"--where takes a JSON object: {error}") from error
    if not isinstance(given, dict):
        raise typer.BadParameter(f"--where takes a JSON object, got {where:.200}")
    return given


def _show_recall(recall: Recall, explain: bool) -> None:
    for note in recall.notes or (() if recall.hits else ("no chunk matches the question",)):
        err.print(f"[yellow]{harmless(note)}[/yellow]")
    for hit in recall.hits:
        out.print(
            f"{hit.rank}. [bold]{harmless(heading_of(hit.chunk))}[/bold]  "
            f"[cyan]{hit.score:.3f}[/cyan]  [dim]{harmless(hit.chunk.id)}[/dim]"
        )
        if place := place_of(hit.chunk):
            out.print(f"   [dim]{harmless(place)}[/dim]")
        text = " ".join(hit.chunk.text.split())
        paragraphs = [harmless(text[:200] + ("…" if len(text) > 200 else ""))]
        if explain:
            paragraphs.append(f"[green]{harmless(hit.path_text)}[/green]")
        for paragraph in paragraphs:
            out.print(Padding(paragraph, (0, 0, 0, 3)), soft_wrap=False)
    out.print(f"[dim]recall {recall.id}[/dim]")
