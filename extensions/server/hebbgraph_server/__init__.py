"""A hebbgraph index behind a URL: a page, an HTTP API, tools for agents, and a client.

``hebbgraph_server.app.create_app(index)`` returns an ASGI app; the client takes httpx alone.
"""

from hebbgraph_server.client import Client, ServerError

__all__ = ["Client", "ServerError"]
