"""Where a server listens, whom it answers, and its limits."""

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
    """A folder on this machine that is read into a namespace, as ``hebbgraph index`` does it.

    Attributes
    ----------
    path : Path
    base : Path, optional
        Documents are named by their paths relative to it; else by their whole paths.
    namespace : str
        No other namespace sees a file of it.
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
        Where it listens. Anywhere but on the loopback address takes tokens.
    tokens : tuple of Token
        Without any, whoever reaches it may do everything.
    allowed_hosts : frozenset of str
        Names by which clients may address it, besides ``localhost`` and IP addresses. Behind a
        proxy, the public name.
    allowed_origins : frozenset of str
        Web pages of other origins that may call it, such as ``https://wiki.example.org``.
    max_body_bytes : int
        Size of one request.
    body_seconds : float
        How long the whole body of a request may take to arrive.
    requests_per_minute : float, optional
        By one token (one address, where there are none); None for no limit.
    max_k : int
        Hits of one recall.
    open_namespaces : int
        Kept open at the same time; the one not used for longest is closed.
    model : Model, optional
        Answers questions from passages; see ``hebbgraph serve --llm``.
    folder : Folder, optional
        Files that ``read_folder`` reads again; see ``hebbgraph serve --folder``.
    learn_from_use : bool
        Whether it teaches, a little, that an agent reads a chunk that it recalled, and that
        somebody opens one on the page, or copies from it.
    answers_at_once : int
        Questions that the model is asked at the same time; more are told to wait (429).
    readers, writers : int
        Threads that answer and that write.
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
    # More threads than processors would only make the event loop wait for the interpreter's lock.
    readers: int = Field(default_factory=lambda: max(2, os.cpu_count() or 1), ge=1)
    writers: int = Field(default=2, ge=1)

    def folder_of(self, namespace: str) -> Folder | None:
        """Return the folder that is read into a namespace."""
        mine = self.folder is not None and self.folder.namespace == namespace
        return self.folder if mine else None

    def check(self) -> None:
        """Raise ParameterError if it would listen to the network without a token."""
        if self.model is not None:
            self.model.check()
        if not self.tokens and not is_loopback(self.host):
            raise ParameterError(
                f"listening on {self.host} without a token would let everyone who reaches it read "
                "and write; give --tokens FILE or set HEBBGRAPH_TOKEN, or listen on 127.0.0.1"
            )


def is_loopback(host: str) -> bool:
    """Tell whether an address is this machine's own.

    Examples
    --------
    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
