"""Options and consoles that commands share, and opening an index."""

from __future__ import annotations

import functools
import importlib
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from hebbgraph.cli.terminal import as_json, harmless
from hebbgraph.embedders import SentenceTransformerEmbedder
from hebbgraph.errors import NotAnIndexError, ParameterError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.protocols import Embedder, Tagger
from hebbgraph.settings import Settings
from hebbgraph.store.database import DATABASE_NAME
from hebbgraph.store.places import as_directory, is_url, masked, parse_url

__all__ = [
    "AsJson",
    "Base",
    "Cache",
    "Db",
    "EmbedderName",
    "MaxTokens",
    "Namespace",
    "SettingsFile",
    "TaggerName",
    "err",
    "fail_with",
    "load_tagger",
    "open_options",
    "opened",
    "out",
    "print_json",
    "read_settings",
]

#: Lines are not broken, so paths and commands in messages can be copied.
out = Console(soft_wrap=True)
err = Console(stderr=True, soft_wrap=True)

Db = Annotated[
    str,
    typer.Option(
        "--db", metavar="DIR|URL", envvar="HEBBGRAPH_DB", help="Index directory or database URL."
    ),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        metavar="FILE",
        envvar="HEBBGRAPH_SETTINGS",
        help="TOML file of Settings, such as \\[learning] store_queries = true. "
        "\\[default: how the index was built]",
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache-dir",
        metavar="DIR",
        envvar="HEBBGRAPH_CACHE_DIR",
        help="Directory for derived data when --db is a URL.",
    ),
]
EmbedderName = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        envvar="HEBBGRAPH_EMBEDDER",
        help="sentence-transformers model, by name or path.",
    ),
]
TaggerName = Annotated[
    str | None,
    typer.Option(
        "--tagger",
        envvar="HEBBGRAPH_TAGGER",
        help="Source of additional tags: keyphrases (needs --embedder), spacy:PIPELINE, "
        "gliner:MODEL, or your own MODULE:ATTRIBUTE.",
    ),
]
Base = Annotated[
    Path | None,
    typer.Option(
        "--base",
        envvar="HEBBGRAPH_BASE",
        help="Name documents by their path relative to this folder.",
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        help="Maximum chunk length in tokens, of documents. \\[default: 400]",
        min=16,
    ),
]
Namespace = Annotated[
    str, typer.Option(envvar="HEBBGRAPH_NAMESPACE", help="Namespace (tenant) of the index.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _is_missing(db: str) -> bool:
    """Tell whether opening would create a new database, as SQLite does for any path."""
    if not is_url(db):
        return not (as_directory(db, "--db") / DATABASE_NAME).exists()
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
    settings: Path | None = None,
) -> Iterator[HebbianIndex]:
    """Open an index for one command."""
    if not create and _is_missing(db):
        place = masked(parse_url(db)) if is_url(db) else db
        raise NotAnIndexError(
            f"there is no index at {place}; create one: hebbgraph index PATH --db {place}"
        )
    options = open_options(embedder, tagger=tagger, cache_dir=cache_dir, settings=settings)
    with HebbianIndex.open(db, namespace=namespace, **options) as index:
        yield index


def open_options(
    embedder: str | None = None,
    *,
    tagger: str | None = None,
    cache_dir: Path | None = None,
    settings: Path | None = None,
    store_queries: bool = False,
) -> dict[str, Any]:
    """Return the keywords of ``HebbianIndex.open`` for these options of a command."""
    model = None if embedder is None else SentenceTransformerEmbedder(embedder)
    changes = {} if settings is None else read_settings(settings)
    if store_queries:
        changes["learning"] = {**changes.get("learning", {}), "store_queries": True}
    return {
        "embedder": model,
        "tagger": None if tagger is None else load_tagger(tagger, model),
        "settings": changes or "saved",
        "cache_dir": cache_dir,
    }


def read_settings(file: Path) -> dict[str, Any]:
    """Read settings from a TOML file: fields of ``Settings``, with a table for each group.

    Build settings that the file omits are those of the index.

    Raises
    ------
    ParameterError
    """
    try:
        settings = tomllib.loads(file.read_text("utf-8"))
        Settings(**settings)
    except ParameterError as error:
        raise ParameterError(f"{file}: {error}") from None
    except (OSError, ValueError) as error:
        raise ParameterError(f"{file} is no TOML file of settings: {error}") from error
    return settings


def fail_with(problems: Iterable[str]) -> None:
    """Print each problem on a line and exit with 1, if there are any."""
    messages = list(problems)
    for message in messages:
        err.print(f"[red]error[/red] {harmless(message)}")
    if messages:
        raise typer.Exit(1)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    typer.echo(as_json(value))


def load_tagger(name: str, embedder: Embedder | None = None) -> Tagger:
    """Return the tagger with this name.

    Parameters
    ----------
    name : str
        ``keyphrases`` (needs the embedder), ``spacy:PIPELINE``, ``gliner:MODEL``, or
        ``MODULE:ATTRIBUTE`` for a tagger of your own, such as an ``LLMTagger``.
    embedder : Embedder, optional

    Examples
    --------
    >>> load_tagger("builtins:repr")("chunk")
    "'chunk'"
    """
    kind, _, rest = name.partition(":")
    if kind == "keyphrases" and not rest:
        if embedder is None:
            raise ParameterError("the tagger 'keyphrases' needs an embedder; pass one as well")
        from hebbgraph.taggers.keyphrases import KeyphraseTagger

        return KeyphraseTagger(embedder)
    if not kind or not rest:
        raise ParameterError(
            "tagger must be 'keyphrases', 'spacy:PIPELINE', 'gliner:MODEL' or 'MODULE:ATTRIBUTE', "
            f"got {name!r}"
        )
    if kind == "spacy":
        from hebbgraph.taggers.spacy_tagger import SpacyTagger

        return SpacyTagger(rest)
    if kind == "gliner":
        from hebbgraph.taggers.gliner_tagger import GlinerTagger

        return GlinerTagger(rest)
    return _imported(kind, rest)


def _imported(module: str, path: str) -> Tagger:
    try:
        value = functools.reduce(getattr, path.split("."), importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise ParameterError(f"no tagger {module}:{path}: {error}") from error
    if not callable(value):
        raise ParameterError(f"{module}:{path} is not a callable from a chunk to tags")
    tagger: Tagger = value
    return tagger
