"""The commands that this distribution brings: ``hebbgraph serve`` and ``hebbgraph mcp``."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from pydantic import SecretStr
from rich.markup import escape

if TYPE_CHECKING:
    from hebbgraph_server.access import Token
    from hebbgraph_server.answering import Model

__all__ = ["mcp", "serve"]

_TOKEN_VARIABLE = "HEBBGRAPH_TOKEN"
_KEY_VARIABLE = "HEBBGRAPH_LLM_KEY"


class _Role(StrEnum):
    read = "read"
    teach = "teach"
    write = "write"


class _LogLevel(StrEnum):
    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


_Llm = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="HEBBGRAPH_LLM",
        help="Have a model answer: a server with OpenAI's API, like http://localhost:11434/v1. "
        f"Its key, if it takes one, comes from {_KEY_VARIABLE}.",
    ),
]
_LlmModel = Annotated[
    str, typer.Option(envvar="HEBBGRAPH_LLM_MODEL", help="Name of the model there.")
]
_LlmSeconds = Annotated[
    float,
    typer.Option(envvar="HEBBGRAPH_LLM_SECONDS", min=1, help="How long an answer may take."),
]
_Logging = Annotated[
    _LogLevel, typer.Option(envvar="HEBBGRAPH_LOG_LEVEL", help="How much it logs.")
]


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


def _new_token(wanted: bool) -> None:
    if wanted:
        from hebbgraph_server.access import new_secret

        typer.echo(new_secret())
        raise typer.Exit


_NewToken = Annotated[
    bool,
    typer.Option(
        "--new-token",
        callback=_new_token,
        is_eager=True,
        help="Print a new secret for a token, and exit.",
    ),
]


def _known(tokens: Path | None) -> tuple[Token, ...]:
    """Return the tokens of a file, and that of the environment."""
    from hebbgraph_server.access import Role, read_tokens, token_of

    known = [] if tokens is None else read_tokens(tokens)
    if secret := os.environ.get(_TOKEN_VARIABLE):
        known.append(token_of(secret, name="environment", role=Role.WRITE))
    return tuple(known)


def _model(url: str | None, name: str, seconds: float) -> Model | None:
    """Return the model that answers, if one is named; its key is in the environment."""
    from hebbgraph_server.answering import Model

    if url is None:
        return None
    key = os.environ.get(_KEY_VARIABLE)
    return Model(url, name, SecretStr(key) if key else None, seconds)


def serve(
    db: Db,
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
    cache_dir: Cache = None,
    settings_file: SettingsFile = None,
    llm: _Llm = None,
    llm_model: _LlmModel = "",
    llm_seconds: _LlmSeconds = 60.0,
    log_level: _Logging = _LogLevel.warning,
    new_token: _NewToken = False,
) -> None:
    """Serve an index, made if there is none: a page at /, an API under /v1, MCP at /mcp."""
    from hebbgraph.pool import IndexPool

    from hebbgraph_server import ServerSettings, create_app
    from hebbgraph_server.indexes import Indexes
    from hebbgraph_server.running import run

    settings = ServerSettings(
        host=host,
        port=port,
        tokens=_known(tokens),
        allowed_hosts=frozenset(allowed_host or ()),
        allowed_origins=frozenset(allowed_origin or ()),
        model=_model(llm, llm_model, llm_seconds),
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
