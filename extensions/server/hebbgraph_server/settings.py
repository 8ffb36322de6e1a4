"""Settings of a server: address, tokens and limits."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path

from hebbgraph.errors import ParameterError
from hebbgraph.limits import MAX_K
from pydantic import BaseModel, ConfigDict, Field

from hebbgraph_server.access import Token
from hebbgraph_server.answering import Model

__all__ = ["DEFAULT_PORT", "Folder", "ServerSettings", "is_loopback"]

DEFAULT_PORT = 4321


class Folder(BaseModel):
    """A folder on this machine that the server reads into a namespace, as ``hebbgraph index`` does.

    Attributes
    ----------
    path : Path
    base : Path, optional
        Documents are named by their paths relative to it; by default, by absolute paths.
    namespace : str
        The only namespace that sees its files.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path
    base: Path | None = None
    namespace: str = "default"


class ServerSettings(BaseModel):
    """Settings of a server.

    Attributes
    ----------
    host, port
        The address to listen on. All but the loopback address need tokens.
    tokens : tuple of Token
        Without any, all who reach the server may do everything.
    allowed_hosts : frozenset of str
        Names of the server, besides ``localhost`` and IP addresses; behind a proxy, the public one.
    allowed_origins : frozenset of str
        Other origins whose web pages may send requests, such as ``https://wiki.example.org``.
    max_body_bytes : int
        Size of a request.
    body_seconds : float
        Time for the whole body of a request to arrive.
    requests_per_minute : float, optional
        For each token, or each address if there are none; None for no limit.
    max_k : int
        Hits of a recall.
    open_namespaces : int
        Namespaces kept open; the least recently used is closed.
    model : Model, optional
        Answers questions from passages; see ``hebbgraph serve --llm``.
    folder : Folder, optional
        Files for ``read_folder``; see ``hebbgraph serve --folder``.
    learn_from_use : bool
        Whether a chunk gains a little when an agent reads on in it after a recall, or when
        somebody opens it on the page or copies from it.
    answers_at_once : int
        Concurrent requests to the model; further ones get 429.
    readers, writers : int
        Threads for recalls and for commits.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = "127.0.0.1"
    port: int = Field(default=DEFAULT_PORT, ge=0, le=65535)
    tokens: tuple[Token, ...] = ()
    allowed_hosts: frozenset[str] = frozenset()
    allowed_origins: frozenset[str] = frozenset()
    max_body_bytes: int = Field(default=8_000_000, ge=1024)
    body_seconds: float = Field(default=60.0, gt=0)
    requests_per_minute: float | None = Field(default=6_000.0, gt=0)
    max_k: int = Field(default=1_000, ge=1, le=MAX_K)
    open_namespaces: int = Field(default=32, ge=1)
    model: Model | None = None
    folder: Folder | None = None
    learn_from_use: bool = False
    answers_at_once: int = Field(default=8, ge=1)
    # With more threads than processors, the event loop waits for the interpreter's lock.
    readers: int = Field(default_factory=lambda: max(2, os.cpu_count() or 1), ge=1)
    writers: int = Field(default=2, ge=1)

    def folder_of(self, namespace: str) -> Folder | None:
        """Return the folder of a namespace, if it has one."""
        return self.folder if self.folder and self.folder.namespace == namespace else None

    def check(self) -> None:
        """Raise ParameterError if the server would listen to the network without a token."""
        if self.model is not None:
            self.model.check()
        if not self.tokens and not is_loopback(self.host):
            raise ParameterError(
                f"on {self.host} without a token, everyone who reaches the server could read and "
                "write; give --tokens FILE or set HEBBGRAPH_TOKEN, or listen on 127.0.0.1"
            )


def is_loopback(host: str) -> bool:
    """Return whether an address is the loopback address.

    Examples
    --------
    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
