"""The commands ``hebbgraph serve`` and ``hebbgraph mcp``."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hebbgraph.cli.shared import (
    Base,
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
    from hebbgraph_server.settings import ServerSettings

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
        help="Let a model answer: the URL of OpenAI's API, like http://localhost:11434/v1. "
        f"Its key comes from {_KEY_VARIABLE}.",
    ),
]
_LlmModel = Annotated[
    str, typer.Option(envvar="HEBBGRAPH_LLM_MODEL", help="Name of the model there.")
]
_LlmSeconds = Annotated[
    float,
    typer.Option(envvar="HEBBGRAPH_LLM_SECONDS", min=1, help="Time limit of an answer."),
]
_LlmAtOnce = Annotated[
    int,
    typer.Option(
        envvar="HEBBGRAPH_LLM_AT_ONCE",
        min=1,
        help="Concurrent questions to the model; more have to wait.",
    ),
]


class _LogFormat(StrEnum):
    text = "text"
    json = "json"


_LogAs = Annotated[
    _LogFormat,
    typer.Option(envvar="HEBBGRAPH_LOG_FORMAT", help="json writes one line for each event."),
]
_Logging = Annotated[
    _LogLevel, typer.Option(envvar="HEBBGRAPH_LOG_LEVEL", help="Least severe level to log.")
]

_FromUse = Annotated[
    bool,
    typer.Option(
        "--learn-from-use",
        envvar="HEBBGRAPH_LEARN_FROM_USE",
        help="Learn a little from passages that agents read on in and people open or copy.",
    ),
]


def mcp(
    db: Db,
    namespace: Namespace = "default",
    role: Annotated[
        _Role,
        typer.Option(
            envvar="HEBBGRAPH_ROLE",
            help="read: recall, explain; teach: also cite; write: also remember, forget.",
        ),
    ] = _Role.write,
    actor: Annotated[
        str | None,
        typer.Option(
            envvar="HEBBGRAPH_ACTOR", help="Actor of all citations. \\[default: each session]"
        ),
    ] = None,
    learn_from_use: _FromUse = False,
    embedder: EmbedderName = None,
    tagger: TaggerName = None,
    cache_dir: Cache = None,
    settings_file: SettingsFile = None,
) -> None:
    """Serve an index to one agent over standard input and output (MCP)."""
    from hebbgraph.pool import IndexPool

    from hebbgraph_server import Role, ServerSettings
    from hebbgraph_server.mcp_tools import run_stdio

    options = open_options(embedder, tagger=tagger, cache_dir=cache_dir, settings=settings_file)
    with IndexPool(db, **options) as pool:
        settings = ServerSettings(learn_from_use=learn_from_use)
        run_stdio(pool, namespace, role=Role[role.upper()], actor=actor, settings=settings)


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


def _tokens(tokens: Path | None) -> tuple[Token, ...]:
    """Return the tokens of a file and of the environment."""
    from hebbgraph_server.access import Role, read_tokens, token_of

    all_tokens = [] if tokens is None else read_tokens(tokens)
    if secret := os.environ.get(_TOKEN_VARIABLE):
        all_tokens.append(token_of(secret, name="environment", role=Role.WRITE))
    return tuple(all_tokens)


def _model(url: str | None, name: str, seconds: float) -> Model | None:
    """Return the model at a URL, with its key from the environment."""
    from hebbgraph_server.answering import Model

    if url is None:
        return None
    key = os.environ.get(_KEY_VARIABLE)
    return Model(url, name, SecretStr(key) if key else None, seconds)


_First = Annotated[
    str, typer.Option(envvar="HEBBGRAPH_NAMESPACE", help="Namespace to open at start.")
]
_Host = Annotated[
    str,
    typer.Option(
        envvar="HEBBGRAPH_HOST",
        help="Address to listen on; all but the loopback address need a token.",
    ),
]
_Port = Annotated[
    int, typer.Option(envvar="HEBBGRAPH_PORT", min=0, max=65535, help="0 takes any that is free.")
]
_TokenFile = Annotated[
    Path | None,
    typer.Option(
        envvar="HEBBGRAPH_TOKENS", help=f"TOML file of tokens. [or one, in {_TOKEN_VARIABLE}]"
    ),
]
_Hosts = Annotated[
    list[str] | None,
    typer.Option(
        envvar="HEBBGRAPH_ALLOWED_HOST",
        help="Name of this server, for clients and proxies; repeatable.",
    ),
]
_Origins = Annotated[
    list[str] | None,
    typer.Option(
        envvar="HEBBGRAPH_ALLOWED_ORIGIN",
        help="Other web origin that may send requests; repeatable.",
    ),
]
_Folder = Annotated[
    Path | None,
    typer.Option(
        envvar="HEBBGRAPH_FOLDER",
        exists=True,
        file_okay=False,
        help="Folder that was indexed into --namespace and that the page can read again. "
        "Without --base, documents whose files are gone are deleted.",
    ),
]
_Storing = Annotated[
    bool,
    typer.Option(
        "--store-queries",
        envvar="HEBBGRAPH_STORE_QUERIES",
        help="Store questions with lessons, so that the page can show them.",
    ),
]


def serve(
    db: Db,
    namespace: _First = "default",
    host: _Host = "127.0.0.1",
    port: _Port = 4321,
    tokens: _TokenFile = None,
    allowed_host: _Hosts = None,
    allowed_origin: _Origins = None,
    embedder: EmbedderName = None,
    tagger: TaggerName = None,
    cache_dir: Cache = None,
    settings_file: SettingsFile = None,
    folder: _Folder = None,
    base: Base = None,
    store_queries: _Storing = False,
    learn_from_use: _FromUse = False,
    llm: _Llm = None,
    llm_model: _LlmModel = "",
    llm_seconds: _LlmSeconds = 60.0,
    llm_at_once: _LlmAtOnce = 8,
    log_level: _Logging = _LogLevel.warning,
    log_format: _LogAs = _LogFormat.text,
    new_token: _NewToken = False,
) -> None:
    """Serve an index, a new one if needed: a page at /, an API under /v1, MCP at /mcp."""
    from hebbgraph_server import ServerSettings  # which checks that the extra is installed
    from hebbgraph_server.settings import Folder

    settings = ServerSettings(
        host=host,
        port=port,
        tokens=_tokens(tokens),
        allowed_hosts=frozenset(allowed_host or ()),
        allowed_origins=frozenset(allowed_origin or ()),
        model=_model(llm, llm_model, llm_seconds),
        folder=folder and Folder(path=folder, base=base, namespace=namespace),
        answers_at_once=llm_at_once,
        learn_from_use=learn_from_use,
    )
    settings.check()
    options = open_options(
        embedder,
        tagger=tagger,
        cache_dir=cache_dir,
        settings=settings_file,
        store_queries=store_queries,
    )
    _run(db, namespace, settings, options, log_level, log_format)


def _run(
    db: str,
    namespace: str,
    settings: ServerSettings,
    options: dict[str, Any],
    log_level: str,
    log_format: _LogFormat,
) -> None:
    """Serve the namespaces of a database until interrupted."""
    from hebbgraph.pool import IndexPool

    from hebbgraph_server import create_app
    from hebbgraph_server.indexes import Indexes
    from hebbgraph_server.running import run

    shown_db = masked(parse_url(db)) if is_url(db) else db
    with IndexPool(db, max_open=settings.open_namespaces, **options) as pool:
        hint = "" if pool.namespaces() else "; it is new and empty"
        run(
            create_app(Indexes(pool, namespace), settings),
            settings,
            log_level=log_level,
            log_format=log_format.value,
            on_start=lambda url: err.print(f"serving {escape(shown_db)} on {url}{hint}"),
        )
