"""Options, consoles and index opening, shared by the commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from hebbgraph.cli.terminal import as_json
from hebbgraph.embedders import SentenceTransformerEmbedder
from hebbgraph.errors import NotAnIndexError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.store.places import as_directory, is_url, masked, parse_url

__all__ = [
    "AsJson",
    "Base",
    "Cache",
    "Db",
    "EmbedderName",
    "MaxTokens",
    "Namespace",
    "TaggerName",
    "err",
    "open_options",
    "opened",
    "out",
    "print_json",
]

out = Console()
err = Console(stderr=True)

Db = Annotated[
    str, typer.Option("--db", metavar="DIR|URL", help="Index directory or database URL.")
]
Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache-dir", metavar="DIR", help="Directory for derived data when --db is a URL."
    ),
]
EmbedderName = Annotated[
    str | None,
    typer.Option("--embedder", help="sentence-transformers model, by name or path."),
]
TaggerName = Annotated[
    str | None,
    typer.Option(
        "--tagger",
        help="Source of additional tags: keyphrases (needs --embedder), spacy:PIPELINE, "
        "gliner:MODEL, or your own MODULE:ATTRIBUTE.",
    ),
]
Base = Annotated[
    Path | None,
    typer.Option("--base", help="Name documents by their path relative to this folder."),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens", help="Maximum chunk length in tokens, of documents. [default: 400]", min=1
    ),
]
Namespace = Annotated[str, typer.Option(help="Namespace (tenant) of the index.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _is_missing(db: str) -> bool:
    """Tell whether opening would create a new database, as SQLite does for any path."""
    if not is_url(db):
        return not as_directory(db, "--db").exists()
    url = parse_url(db)
    file = url.database or ":memory:"
    return url.backend == "sqlite" and file != ":memory:" and not Path(file).exists()


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
        place = masked(parse_url(db)) if is_url(db) else db
        raise NotAnIndexError(
            f"there is no index at {place}; create one: hebbgraph index PATH --db {place}"
        )
    options = open_options(embedder, tagger=tagger, cache_dir=cache_dir)
    with HebbianIndex.open(db, namespace=namespace, **options) as index:
        yield index


def open_options(
    embedder: str | None = None, *, tagger: str | None = None, cache_dir: Path | None = None
) -> dict[str, Any]:
    """Return what ``HebbianIndex.open`` is given for these options of a command."""
    model = None if embedder is None else SentenceTransformerEmbedder(embedder)
    named = None
    if tagger is not None:
        from hebbgraph.taggers.loading import load_tagger

        named = load_tagger(tagger, model)

    return {
        "embedder": model,
        "tagger": named,
        "settings": "saved",
        "cache_dir": cache_dir,
    }


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    typer.echo(as_json(value))
