"""One process that serves an index: an HTTP API under ``/v1``, MCP, and the page.

========================  ==================================================================
``client.py``             an index that another process serves
``http_client.py``        its requests and answers
``settings.py``           where it listens, and its limits
``access.py``             tokens: roles, namespaces, actors
``guard.py``              what every request passes: Host, Origin, token, sizes, rates
``problems.py``           errors as RFC 9457 problems
``indexes.py``            the open namespaces
``threads.py``            the index's blocking calls, off the event loop
``folders.py``            a folder that is read again
``tables.py``             the tables of the page, as JSON and CSV
``moving.py``             namespaces as a whole: delete, export, import
``tasks.py``              work that goes on after its request was answered
``visit.py``              one request: who asks, of which namespace, in which thread
``bodies.py``             what requests and answers carry
``fields.py``             kinds of fields that several requests have
``methods.py``            the methods that are served under their names
``served.py``             routes that follow from a method's signature
``reading.py``            routes of the role ``read``
``answering.py``          a model that answers from passages
``teaching.py``           routes of the role ``teach``
``writing.py``            routes of the role ``write``
``routes.py``             the table of all routes and the role that each one needs
``mcp_tools.py``          the index as tools for agents (MCP)
``observing.py``          Prometheus metrics
``spans.py``              a recall as a span of OpenTelemetry
``health.py``             whether the index behind the server answers
``describing.py``         the API as a page that people read
``app.py``                puts it together
``running.py``            runs it under uvicorn
``commands.py``           ``hebbgraph serve`` and ``hebbgraph mcp``
``page/``                 the web page, static files
========================  ==================================================================

The client takes nothing but the core, the server the extra: ``pip install "hebbgraph[server]"``.
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
    """Load the names of the server when they are asked for."""
    if name not in _SERVER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for module in ("fastapi", "mcp", "prometheus_client", "uvicorn"):
        require(module, extra="server", purpose="hebbgraph serve")
    return getattr(import_module(f"{__name__}.{_SERVER[name]}"), name)
