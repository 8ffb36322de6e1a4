"""The commands ``hebbgraph serve`` and ``hebbgraph mcp``, for the core's command line."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hebbgraph_server.tokens import Token

__all__ = ["add_commands"]

_SECRET = "HEBBGRAPH_TOKEN"
_ROLES = ("read", "teach", "write", "admin")


def add_commands(subparsers: Any) -> None:
    """Add both commands to the parser of the command line; each sets ``run``."""
    _add_serve(subparsers.add_parser("serve", help="Serve an index: a page, an API, MCP."))
    _add_mcp(subparsers.add_parser("mcp", help="Serve an index to one agent (MCP)."))


def _add_index(parser: argparse.ArgumentParser) -> None:
    default = os.environ.get("HEBBGRAPH_INDEX", "memory.hebb")
    parser.add_argument("index", nargs="?", default=default, metavar="INDEX", help="or a URL")
    parser.add_argument("--namespace", help="by default the only one, or default")
    parser.add_argument("--embedder", metavar="MODEL", help="a sentence-transformers model")


def _add_serve(parser: argparse.ArgumentParser) -> None:
    _add_index(parser)
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="all but the loopback address need a token")
    add("--port", type=int, default=4321, help="0 takes any that is free")
    add("--workers", type=int, default=1, help="processes")
    add("--open", action="store_true", help="open the page in a browser")
    add("--name", help="what the page calls the corpus")
    add("--folder", metavar="DIR", help="files that the page can read again")
    add("--tokens", type=Path, metavar="FILE", help=f"tokens, as TOML; or one admin in {_SECRET}")
    add(
        "--token",
        action="append",
        default=[],
        choices=_ROLES,
        help="make a token for this start and print it; repeatable",
    )
    add("--allowed-host", action="append", default=[], metavar="NAME", help="a name of the server")
    add("--allowed-origin", action="append", default=[], metavar="URL", help="of other web pages")
    add("--no-questions", action="store_true", help="keep no text of questions with lessons")
    add("--quorum", type=int, default=2, help="names that must agree if nobody vouches for them")
    add("--log-level", default="warning", choices=("debug", "info", "warning", "error"))
    add("--log-format", default="text", choices=("text", "json"))
    parser.set_defaults(run=serve)


def _add_mcp(parser: argparse.ArgumentParser) -> None:
    _add_index(parser)
    parser.add_argument("--read-only", action="store_true", help="the agent may ask, not cite")
    parser.add_argument("--actor", help="in whose name it cites; by default agent")
    parser.set_defaults(run=mcp)


def serve(arguments: argparse.Namespace) -> int:
    """Serve an index until interrupted."""
    from hebbgraph_server.running import run
    from hebbgraph_server.settings import ServerSettings

    tokens, secrets = _tokens(arguments)
    name = Path(arguments.index).stem if "://" not in arguments.index else "memory"
    settings = ServerSettings(
        index=arguments.index,
        namespace=arguments.namespace or _first_namespace(arguments.index),
        name=arguments.name or name,
        host=arguments.host,
        port=arguments.port,
        workers=arguments.workers,
        tokens=tokens,
        allowed_hosts=arguments.allowed_host,
        allowed_origins=arguments.allowed_origin,
        folder=arguments.folder,
        embedder=arguments.embedder,
        keep_questions=not arguments.no_questions,
        quorum=arguments.quorum,
    )

    def announce(url: str) -> None:
        for role, secret in secrets:
            print(f"token ({role}): {secret}", file=sys.stderr)  # noqa: T201
        print(f"serving {name} on {url}", file=sys.stderr, flush=True)  # noqa: T201

    opens = f"#token={secrets[-1][1]}" if secrets else ""
    run(
        settings,
        log_level=arguments.log_level,
        log_format=arguments.log_format,
        on_start=announce,
        opens=opens if arguments.open else None,
    )
    return 0


def _tokens(arguments: argparse.Namespace) -> tuple[tuple[Token, ...], list[tuple[str, str]]]:
    """Return the tokens of file, environment and options; and the secrets that were made."""
    from hebbgraph_server.tokens import make_token, read_tokens

    tokens = list(read_tokens(arguments.tokens)) if arguments.tokens else []
    if secret := os.environ.get(_SECRET):
        tokens.append(make_token("environment", secret=secret, role="admin")[0])
    secrets = []
    for number, role in enumerate(arguments.token, start=1):
        teach = role == "teach"
        fields = {"role": "read" if teach else role, "teach": teach}
        token, secret = make_token(f"{role}-{number}", **fields)
        tokens.append(token)
        secrets.append((role, secret))
    return tuple(tokens), secrets


def _first_namespace(index: str) -> str:
    """Return the namespace to open: ``default``, unless there are others only."""
    from hebbgraph.store import namespaces_at

    names = namespaces_at(index)
    return "default" if "default" in names or not names else names[0]


def mcp(arguments: argparse.Namespace) -> int:
    """Serve an index to one agent over standard input and output."""
    from hebbgraph import HebbianIndex, SentenceTransformerEmbedder
    from hebbgraph_server.mcp_tools import run_stdio

    model = arguments.embedder and SentenceTransformerEmbedder(arguments.embedder)
    namespace = arguments.namespace or _first_namespace(arguments.index)
    read_only = arguments.read_only
    index = HebbianIndex.open(
        arguments.index, namespace=namespace, embedder=model or None, read_only=read_only
    )
    run_stdio(index, teach=not read_only, actor=arguments.actor)
    return 0
