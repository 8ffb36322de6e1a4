"""A hebbgraph index behind a URL: an API, a page, tools for agents, and a client.

>>> from hebbgraph_server import Client
>>> Client("http://127.0.0.1:4321", token="secret-of-a-token")
Client('http://127.0.0.1:4321', namespace=None)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hebbgraph_server.client import Client, ServerError

if TYPE_CHECKING:
    from hebbgraph_server.app import create_app
    from hebbgraph_server.settings import ServerSettings
    from hebbgraph_server.tokens import Role, Token, make_token, read_tokens

__all__ = [
    "Client",
    "Role",
    "ServerError",
    "ServerSettings",
    "Token",
    "create_app",
    "make_token",
    "read_tokens",
]


def __getattr__(name: str) -> Any:
    """Import what takes FastAPI on first use: the client takes httpx alone."""
    from importlib import import_module

    homes = {"create_app": "app", "ServerSettings": "settings"}
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{homes.get(name, 'tokens')}"), name)
