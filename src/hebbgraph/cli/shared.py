"""What the commands share: options, consoles, and how an index is opened."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import sqlalchemy as sa
import typer
from rich.console import Console

from hebbgraph.embedders import SentenceTransformerEmbedder
from hebbgraph.errors import NotAnIndexError
from hebbgraph.index import HebbianIndex
from hebbgraph.protocols import Embedder

__all__ = [
    "AsJson",
    "Cache",
    "Db",
    "EmbedderName",
    "Namespace",
    "TaggerName",
    "err",
    "opened",
    "out",
    "print_json",
]

out = Console()
err = Console(stderr=True)

Db = Annotated[
    str, typer.Option("--db", metavar="DIR|URL", help="The index directory, or a database URL.")
]
Cache = Annotated[
    Path | None,
    typer.Option("--cache-dir", metavar="DIR", help="With a URL: where derived parts lie."),
]
EmbedderName = Annotated[
    str | None,
    typer.Option("--embedder", help="A sentence-transformers model, by name or path."),
]
TaggerName = Annotated[
    str | None,
    typer.Option(
        "--tagger",
        help="More tags: keyphrases (by the embedder), spacy:PIPELINE, gliner:MODEL, or "
        "MODULE:ATTRIBUTE of your own.",
    ),
]
Namespace = Annotated[str, typer.Option(help="The tenant.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def _loaded(name: str | None) -> Embedder | None:
    return None if name is None else SentenceTransformerEmbedder(name)


def _is_missing(db: str) -> bool:
    """Tell whether opening would make a new database, as SQLite does of any path."""
    if "://" not in db:
        return not Path(db).exists()
    try:
        url = sa.make_url(db)
    except sa.exc.ArgumentError:
        return False  # opening says what is wrong with it
    file = url.database or ":memory:"
    return url.get_backend_name() == "sqlite" and file != ":memory:" and not Path(file).exists()


@contextmanager
def opened(
    db: str,
    namespace: str,
    embedder: str | None = None,
    *,
    tagger: str | None = None,
    create: bool = False,
    cache_dir: Path | None = None,
) -> Iterator[HebbianIndex]:
    """Open an index for one command."""
    if not create and _is_missing(db):
        raise NotAnIndexError(
            f"there is no index at {db}; make one: hebbgraph index PATH --db {db}"
        )
    model = _loaded(embedder)
    named = None
    if tagger is not None:
        from hebbgraph.taggers.loading import load_tagger

        named = load_tagger(tagger, model)
    with HebbianIndex.open(
        db,
        embedder=model,
        tagger=named,
        settings="saved",
        namespace=namespace,
        cache_dir=cache_dir,
    ) as index:
        yield index


def print_json(value: Any) -> None:
    """Print a value for programs."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
