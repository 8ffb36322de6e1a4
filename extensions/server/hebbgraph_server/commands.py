"""The commands ``hebbgraph serve`` and ``hebbgraph mcp``, for the core's command line."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hebbgraph_server.tokens import Token

_SECRET = "HEBBGRAPH_TOKEN"
_ROLES = ("read", "teach", "write", "admin")


def add_commands(subparsers: Any) -> None:
    """Add both commands to the parser of the command line; each sets ``run``."""
    _add_serve(subparsers.add_parser("serve", help="Serve an index: a page, an API, MCP."))
    _add_mcp(subparsers.add_parser("mcp", help="Serve an index to one agent (MCP)."))


def _add_index(parser: argparse.ArgumentParser) -> None:
    default = os.environ.get("HEBBGRAPH_DB", "memory.hebb")
    parser.add_argument("index", nargs="?", default=default, metavar="INDEX", help="or a URL")
    parser.add_argument("--namespace", help="by default the only one, or default")
    parser.add_argument("--embedder", metavar="MODEL", help="a sentence-transformers model")


def _add_serve(parser: argparse.ArgumentParser) -> None:
    _add_index(parser)
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="all but the loopback address need a token")
    add("--port", type=int, default=4321, help="0 picks a free port")
    add("--workers", type=int, default=1, help="processes")
    add("--open", action="store_true", help="open the page in a browser")
    add("--name", help="what the page calls the corpus")
    add("--folder", metavar="DIR", help="files that the page can read again")
    add("--tokens", type=Path, metavar="FILE", help=f"tokens, as TOML; or one admin in {_SECRET}")
    text = "make a token for this start and print it; repeatable"
    add("--token", action="append", default=[], choices=_ROLES, help=text)
    add("--allowed-host", dest="allowed_hosts", action="append", default=[], metavar="NAME")
    add("--allowed-origin", dest="allowed_origins", action="append", default=[], help="a proxy URL")
    text = "keep no text of questions with lessons"
    add("--no-questions", dest="keep_questions", action="store_false", help=text)
    add("--quorum", type=int, default=2, help="names that must agree if nobody vouches for them")
    add("--log-level", default="warning", choices=("debug", "info", "warning", "error"))
    parser.set_defaults(run=serve)


def _add_mcp(parser: argparse.ArgumentParser) -> None:
    _add_index(parser)
    parser.add_argument("--read-only", action="store_true", help="the agent may ask, not cite")
    parser.add_argument("--actor", help="in whose name it cites; by default agent")
    parser.set_defaults(run=mcp)


def serve(arguments: argparse.Namespace) -> int:
    """Serve an index until interrupted."""
    from pydantic import ValidationError

    from hebbgraph.errors import ParameterError
    from hebbgraph_server.running import run
    from hebbgraph_server.settings import ServerSettings

    tokens, secrets = _tokens(arguments)
    name = Path(arguments.index).stem if "://" not in arguments.index else "memory"
    given = vars(arguments)
    named = {key: given[key] for key in ServerSettings.model_fields.keys() & given}
    named |= {"tokens": tokens, "name": arguments.name or name}
    named["namespace"], exists = _namespace(arguments)
    if arguments.folder and not Path(arguments.folder).is_dir():
        raise ParameterError(f"--folder: there is no folder {arguments.folder}")
    try:
        settings = ServerSettings.model_validate(named)
    except ValidationError as error:
        first = error.errors()[0]
        raise ParameterError(f"--{first['loc'][0]}: {first['msg']}") from error

    def announce(url: str) -> None:
        for role, secret in secrets:
            print(f"token ({role}): {secret}", file=sys.stderr)  # noqa: T201
        if not exists:
            print(f"made a new, empty index: {arguments.index}", file=sys.stderr)  # noqa: T201
        print(f"serving {name} on {url}", file=sys.stderr, flush=True)  # noqa: T201

    opens = f"#token={secrets[-1][1]}" if secrets else ""
    run(settings, on_start=announce, opens=opens if arguments.open else None)
    return 0


def _tokens(arguments: argparse.Namespace) -> tuple[tuple[Token, ...], list[tuple[str, str]]]:
    """Return the tokens of file, environment and options; and the secrets that were made."""
    from hebbgraph_server.tokens import make_token, read_tokens

    tokens = list(read_tokens(arguments.tokens)) if arguments.tokens else []
    if secret := os.environ.get(_SECRET):
        tokens.append(make_token("environment", secret=secret, role="admin")[0])
    secrets = []
    for number, role in enumerate(arguments.token, start=1):
        fields = {"role": "read", "teach": True} if role == "teach" else {"role": role}
        token, secret = make_token(f"{role}-{number}", **fields)
        tokens.append(token)
        secrets.append((role, secret))
    return tuple(tokens), secrets


def _namespace(arguments: argparse.Namespace) -> tuple[str, bool]:
    """Return the namespace to open, ``default`` unless there are others only; and if it exists."""
    from hebbgraph.store import namespaces_at

    names = namespaces_at(arguments.index)
    first = "default" if "default" in names or not names else names[0]
    return arguments.namespace or first, (arguments.namespace or first) in names


def mcp(arguments: argparse.Namespace) -> int:
    """Serve an index to one agent over standard input and output."""
    from hebbgraph import HebbianIndex, SentenceTransformerEmbedder
    from hebbgraph.errors import NotFoundError
    from hebbgraph_server.mcp_tools import run_stdio

    namespace, exists = _namespace(arguments)
    if not exists:
        hint = f"`hebbgraph index PATH --db {arguments.index}` makes one"
        raise NotFoundError(f"there is no namespace {namespace!r} at {arguments.index}; {hint}")
    model = arguments.embedder and SentenceTransformerEmbedder(arguments.embedder)
    options = {"embedder": model or None, "read_only": arguments.read_only}
    index = HebbianIndex.open(arguments.index, namespace=namespace, **options)
    run_stdio(index, teach=not arguments.read_only, actor=arguments.actor)
    return 0
