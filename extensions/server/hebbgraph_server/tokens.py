"""Tokens: what the bearer of a secret may do, see, and in whose name."""

from __future__ import annotations

import hashlib
import secrets
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from hebbgraph.errors import ParameterError
from hebbgraph.records.base import MAX_ID

#: A shorter secret could be guessed.
_MIN_SECRET = 16


class Role(StrEnum):
    """What a token allows. Each role includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def includes(self, other: Role) -> bool:
        """Return whether this role allows what the other does."""
        return list(Role).index(self) >= list(Role).index(other)


class Token(BaseModel):
    """What one bearer token allows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: For logs and metrics; the secret appears in neither.
    name: str = Field(min_length=1, max_length=64, pattern="^[A-Za-z0-9_.-]+$")
    #: SHA-256 of the secret, as hex digits; the server keeps no more of it.
    digest: str = Field(pattern="^[0-9a-f]{64}$", repr=False)
    role: Role = Role.READ
    #: Whether a token of the role ``read`` may teach; the others may.
    teach: bool = False
    #: The visible namespaces; None for all.
    namespaces: frozenset[str] | None = None
    #: A metadata filter: only passages that pass it exist for this token.
    filter: dict[str, JsonValue] | None = None
    #: The actor of all its lessons. Whoever gave the token out vouches for that person.
    actor: str | None = Field(default=None, min_length=1, max_length=MAX_ID)

    @model_validator(mode="after")
    def _reads_if_filtered(self) -> Self:
        if self.filter is not None and self.role != Role.READ:
            raise ValueError("only a token with the role read can have a filter")
        return self

    @property
    def may_teach(self) -> bool:
        """Whether lessons of this token are taken."""
        return self.teach or self.role.includes(Role.WRITE)

    @property
    def is_vouched_for(self) -> bool:
        """Whether its lessons count at once, without a second name that says the same."""
        return self.actor is not None or self.role.includes(Role.WRITE)

    def sees(self, namespace: str) -> bool:
        """Return whether the token may see a namespace."""
        return self.namespaces is None or namespace in self.namespaces


#: The caller where no tokens are set, which only the loopback address allows.
LOCAL = Token(name="local", digest="0" * 64, role=Role.ADMIN)


def digest_of(secret: str) -> str:
    """Return the SHA-256 of a secret; looking that up, timing reveals nothing of it."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def make_token(name: str, *, secret: str | None = None, **fields: Any) -> tuple[Token, str]:
    """Return a token, and its secret: 256 new random bits unless one is given."""
    chosen = secrets.token_urlsafe(32) if secret is None else secret
    if len(chosen) < _MIN_SECRET:
        raise ParameterError(
            f"the secret of token {name!r} has {len(chosen)} characters, not at least "
            f"{_MIN_SECRET}; `openssl rand -hex 32` prints one"
        )
    try:
        return Token(name=name, **{"digest": digest_of(chosen), **fields}), chosen
    except ValidationError as error:  # without the value, which may be secret
        first = error.errors(include_url=False, include_input=False)[0]
        field, message = ".".join(map(str, first["loc"])), first["msg"]
        raise ParameterError(f"token {name!r}: {field}: {message}") from None


def read_tokens(file: Path) -> tuple[Token, ...]:
    """Read tokens from a TOML file: a table for each, as the README of this distribution shows.

    Its fields are those of `Token`, with ``secret`` in place of ``digest`` if you like.
    """
    try:
        tables = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ParameterError(f"{file} is not a TOML file of tokens: {error}") from error
    for name, table in tables.items():
        if not isinstance(table, dict) or ("secret" in table) is ("digest" in table):
            text = f"[{name}] must be a table with either secret or digest"
            raise ParameterError(f"{file}: {text}")
    tokens = tuple(make_token(name, **table)[0] for name, table in tables.items())
    if len({token.digest for token in tokens}) < max(len(tokens), 1):
        raise ParameterError(f"{file} holds no token, or two with the same secret")
    return tokens
