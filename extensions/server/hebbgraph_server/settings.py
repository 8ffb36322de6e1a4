"""Settings of a server: what it serves, where, to whom, and its limits."""

import ipaddress
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from hebbgraph.errors import ParameterError
from hebbgraph_server.tokens import Token


class ServerSettings(BaseModel):
    """Settings of a server; ``hebbgraph serve --help`` explains those that it can set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: Directory or URL of the index; the namespace of requests that name none; the corpus's name.
    index: str = "memory.hebb"
    namespace: str = "default"
    name: str = "memory"
    host: str = "127.0.0.1"
    port: int = Field(default=4321, ge=0, le=65535)
    #: Without any, all who reach the server may do everything.
    tokens: tuple[Token, ...] = ()
    #: Names of the server besides ``localhost`` and IP addresses; origins of other web pages.
    allowed_hosts: frozenset[str] = frozenset()
    allowed_origins: frozenset[str] = frozenset()
    #: A folder of files that was indexed into ``namespace`` and can be read again.
    folder: str | None = None
    #: A sentence-transformers model, by name or path.
    embedder: str | None = None
    keep_questions: bool = True
    #: Names that must say the same if nobody vouches for them, in namespaces that the server makes.
    quorum: int = Field(default=2, ge=1)
    #: Size of a request and of a file, and seconds until its body must have arrived.
    max_body_bytes: int = Field(default=8_000_000, ge=1024)
    max_file_bytes: int = Field(default=50_000_000, ge=1024)
    body_seconds: float = Field(default=60.0, gt=0)
    #: For each token, or each address if there are none; None for no limit.
    requests_per_minute: float | None = Field(default=6_000.0, gt=0)
    #: Namespaces that are kept open.
    open_namespaces: int = Field(default=64, ge=1)
    #: Processes, and seconds for running requests to end after SIGTERM.
    workers: int = Field(default=1, ge=1, le=64)
    drain_seconds: int = Field(default=30, ge=1)
    log_level: Literal["debug", "info", "warning", "error"] = "warning"

    def check(self) -> None:
        """Raise ParameterError if the server would listen to the network without a token."""
        if not self.tokens and not _is_loopback(self.host):
            raise ParameterError(
                f"on {self.host} without a token, everyone who reaches the server could read and "
                "write; give --tokens FILE or --token read, or listen on 127.0.0.1"
            )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
