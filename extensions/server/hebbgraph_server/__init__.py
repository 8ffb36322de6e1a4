"""Serve an index: an HTTP API under ``/v1``, tools for agents (MCP), and the web page.

========================  ==================================================================
``client.py``             HebbianClient: an index that another process serves
``http_client.py``        the client's requests, retries and errors
``settings.py``           address, tokens and limits
``access.py``             tokens: roles, namespaces, actors
``guard.py``              checks every request: Host, Origin, token, sizes, rates
``problems.py``           errors as RFC 9457 problems
``indexes.py``            the open namespaces
``threads.py``            threads for the index's blocking calls
``visit.py``              one request: its token, namespace and thread
``bodies.py``             bodies of requests and answers
``methods.py``            the methods that are served
``served.py``             routes that follow from a method's signature
``reading.py``            routes of the role ``read``
``teaching.py``           routes of the role ``teach``
``writing.py``            routes of the role ``write``
``moving.py``             delete, export and import namespaces
``folders.py``            read the server's folder again
``tables.py``             the tables of the page as JSON and CSV
``routes.py``             all routes, with the role that each needs
``answering.py``          a language model that answers from passages
``streaming.py``          answers as JSON lines
``tasks.py``              requests that go on behind the response
``mcp_tools.py``          the index as tools for agents (MCP)
``observing.py``          Prometheus metrics, request log
``spans.py``              recalls as OpenTelemetry spans
``health.py``             whether the index answers
``describing.py``         the API as a page
``app.py``                the ASGI app
``running.py``            runs the app under uvicorn
``commands.py``           ``hebbgraph serve`` and ``hebbgraph mcp``
``page/``                 the built web page
========================  ==================================================================

The client needs the core alone; the server needs ``pip install "hebbgraph[server]"``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hebbgraph.extras import require

from hebbgraph_server.client import HebbianClient

if TYPE_CHECKING:
    from hebbgraph_server.access import Role, Token
    from hebbgraph_server.app import create_app
    from hebbgraph_server.settings import ServerSettings

__all__ = ["HebbianClient", "Role", "ServerSettings", "Token", "create_app"]

_SERVER = {"Role": "access", "ServerSettings": "settings", "Token": "access", "create_app": "app"}


def __getattr__(name: str) -> Any:
    """Import the server on first use."""
    if name not in _SERVER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for module in ("fastapi", "mcp", "prometheus_client", "uvicorn"):
        require(module, extra="server", purpose="hebbgraph serve")
    return getattr(import_module(f"{__name__}.{_SERVER[name]}"), name)
