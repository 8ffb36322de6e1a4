"""One process that serves an index: an HTTP API under ``/v1``, MCP, and the page.

========================  ==================================================================
``settings.py``           where it listens, and its limits
``access.py``             tokens: roles, namespaces, actors
``guard.py``              what every request passes: Host, Origin, token, sizes, rates
``problems.py``           errors as RFC 9457 problems
``indexes.py``            the open namespaces
``threads.py``            the index's blocking calls, off the event loop
``visit.py``              one request: who asks, of which namespace, in which thread
``bodies.py``             what requests and answers carry
``reading.py``            routes of the role ``read``
``teaching.py``           routes of the role ``teach``
``writing.py``            routes of the role ``write``
``routes.py``             the table of all routes and the role that each one needs
``mcp_tools.py``          the index as tools for agents (MCP)
``observing.py``          Prometheus metrics
``health.py``             whether the index behind the server answers
``app.py``                puts it together
``running.py``            runs it under uvicorn
``page/``                 the web page, static files
========================  ==================================================================

It needs the extra ``server``: ``pip install "hebbgraph[server]"``.
"""

from __future__ import annotations

from hebbgraph.extras import require

for _module in ("fastapi", "mcp", "prometheus_client", "uvicorn"):
    require(_module, extra="server", purpose="hebbgraph serve")

from hebbgraph.server.access import Role, Token  # noqa: E402
from hebbgraph.server.app import create_app  # noqa: E402
from hebbgraph.server.settings import ServerSettings  # noqa: E402

__all__ = ["Role", "ServerSettings", "Token", "create_app"]
