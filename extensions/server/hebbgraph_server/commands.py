"""The commands that this distribution brings: ``hebbgraph serve`` and ``hebbgraph mcp``."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from hebbgraph.cli.shared import (
    Cache,
    Db,
    EmbedderName,
    Namespace,
    SettingsFile,
    TaggerName,
    err,
    open_options,
)
from hebbgraph.store.places import is_url, masked, parse_url
from rich.markup import escape

__all__ = ["mcp", "serve"]

_TOKEN_VARIABLE = "HEBBGRAPH_TOKEN"


class _Role(StrEnum):
    read = "read"
    teach = "teach"
    write = "write"


class _LogLevel(StrEnum):
    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


def mcp(
    db: Db,
    namespace: Namespace = "default",
    role: Annotated[
        _Role, typer.Option(help="read: recall, explain. teach: cite too. write: remember, forget.")
    ] = _Role.write,
    actor: Annotated[
        str | None, typer.Option(help="Who cites. [default: each session by itself]")
    ] = None,
    embedder: EmbedderName = None,
    tagger: TaggerName = None,
    cache_dir: Cache = None,
) -> None:
    """Serve an index to one agent over standard input and output (MCP)."""
    from hebbgraph.pool import IndexPool

    from hebbgraph_server import Role
    from hebbgraph_server.mcp_tools import run_stdio

    options = open_options(embedder, tagger=tagger, cache_dir=cache_dir)
    with IndexPool(db, **options) as pool:
        run_stdio(pool, namespace, role=Role[role.upper()], actor=actor)


def serve(
    db: Annotated[
        str | None,
        typer.Option(
            "--db",
            metavar="DIR|URL",
            envvar="HEBBGRAPH_DB",
            help="Index directory or database URL; created if there is none.",
        ),
    ] = None,
    namespace: Annotated[str, typer.Option(help="Namespace to open at once.")] = "default",
    host: Annotated[
        str,
        typer.Option(
            envvar="HEBBGRAPH_HOST",
            help="Address to listen on; any but the loopback takes a token.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(envvar="HEBBGRAPH_PORT", min=0, max=65535, help="0 is any that is free.")
    ] = 4321,
    tokens: Annotated[
        Path | None,
        typer.Option(
            envvar="HEBBGRAPH_TOKENS", help=f"TOML file of tokens. [or one, in {_TOKEN_VARIABLE}]"
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(help="Name by which clients may address it; repeatable."),
    ] = None,
    allowed_origin: Annotated[
        list[str] | None,
        typer.Option(help="Web origin that may call it; repeatable."),
    ] = None,
    embedder: EmbedderName = None,
    tagger: TaggerName = None,
    cache_dir: Annotated[
        Path | None,
        typer.Option(
            "--cache-dir",
            metavar="DIR",
            envvar="HEBBGRAPH_CACHE_DIR",
            help="Directory for derived data when --db is a URL.",
        ),
    ] = None,
    settings_file: SettingsFile = None,
    log_level: Annotated[
        _LogLevel, typer.Option(envvar="HEBBGRAPH_LOG_LEVEL", help="How much it logs.")
    ] = _LogLevel.warning,
    new_token: Annotated[
        bool, typer.Option("--new-token", help="Print a new secret for a token, and exit.")
    ] = False,
) -> None:
    """Serve an index: a web page at /, an API under /v1, MCP at /mcp."""
    from hebbgraph_server.access import Role, new_secret, read_tokens, token_of

    if new_token:
        typer.echo(new_secret())
        return
    if db is None:
        raise typer.BadParameter("give --db DIR|URL, or set HEBBGRAPH_DB")
    from hebbgraph.pool import IndexPool

    from hebbgraph_server import ServerSettings, create_app
    from hebbgraph_server.indexes import Indexes
    from hebbgraph_server.running import run

    known = [] if tokens is None else read_tokens(tokens)
    if secret := os.environ.get(_TOKEN_VARIABLE):
        known.append(token_of(secret, name="environment", role=Role.WRITE))
    settings = ServerSettings(
        host=host,
        port=port,
        tokens=tuple(known),
        allowed_hosts=frozenset(allowed_host or ()),
        allowed_origins=frozenset(allowed_origin or ()),
    )
    settings.check()
    pool = IndexPool(
        db,
        max_open=settings.open_namespaces,
        **open_options(embedder, tagger=tagger, cache_dir=cache_dir, settings=settings_file),
    )
    with pool:
        app = create_app(Indexes(pool, namespace), settings)
        place = masked(parse_url(db)) if is_url(db) else db
        run(
            app,
            settings,
            log_level=log_level,
            tell=lambda url: err.print(f"serving {escape(place)} on {url}", soft_wrap=True),
        )
