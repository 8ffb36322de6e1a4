"""Tokens: the role, namespaces and actor of a request."""

from __future__ import annotations

import hashlib
import secrets
import tomllib
from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path
from typing import Any

from hebbgraph.errors import AccessError, ParameterError
from hebbgraph.limits import MAX_ID
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

__all__ = ["EVERYONE", "Role", "Token", "Tokens", "new_secret", "read_tokens"]

#: A shorter secret could be guessed.
_MIN_SECRET = 16


class Role(IntEnum):
    """What a token allows. Each role includes the ones before it."""

    READ = 1
    TEACH = 2
    WRITE = 3

    def includes(self, other: Role) -> bool:
        """Return whether this role allows what the other does.

        Examples
        --------
        >>> [Role.TEACH.includes(role) for role in Role]
        [True, True, False]
        """
        return self >= other


def new_secret() -> str:
    """Return a new secret for a token: 256 random bits."""
    return secrets.token_urlsafe(32)


def digest_of(secret: str) -> str:
    """Return the SHA-256 of a secret; the server keeps no more of it."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


class Token(BaseModel):
    """What one bearer token allows.

    Attributes
    ----------
    name : str
        For logs and metrics; the secret appears in neither.
    digest : str
        SHA-256 of the secret, as 64 hex digits.
    role : Role
    namespaces : frozenset of str, optional
        The visible namespaces; None for all.
    actor : str, optional
        The actor of all feedback given with this token, and the only one whose feedback it can
        take back. Without it, a request may name any actor.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=64, pattern="^[A-Za-z0-9_.-]+$")
    digest: str = Field(pattern="^[0-9a-f]{64}$", repr=False)
    role: Role
    namespaces: frozenset[str] | None = None
    actor: str | None = Field(default=None, min_length=1, max_length=MAX_ID)

    @field_validator("role", mode="before")
    @classmethod
    def _role_by_name(cls, value: object) -> object:
        if isinstance(value, str):
            known = {role.name.lower(): role for role in Role}
            if value not in known:
                raise ValueError(f"a role is one of {', '.join(known)}, got {value!r}")
            return known[value]
        return value

    def sees(self, namespace: str) -> bool:
        """Return whether the token may see a namespace."""
        return self.namespaces is None or namespace in self.namespaces

    def check(self, role: Role, namespace: str) -> None:
        """Raise AccessError unless the token has a role in a namespace."""
        # A token does not even learn whether other namespaces exist.
        if not self.sees(namespace):
            raise AccessError(f"the token {self.name!r} does not see the namespace {namespace!r}")
        if not (self is EVERYONE or self.role.includes(role)):
            raise AccessError(
                f"this takes a token of the role {role.name.lower()!r}; "
                f"{self.name!r} has {self.role.name.lower()!r}"
            )

    def check_unnamed(self) -> None:
        """Raise AccessError for a token with an actor: this concerns all actors."""
        if self.actor is not None:
            raise AccessError(f"{self.name!r} acts as {self.actor!r}; it takes a token without one")

    def actor_of(self, requested: str | None) -> str | None:
        """Return the actor of a request; raise AccessError if the token may not act as that."""
        if self.actor is None or requested in (None, self.actor):
            return self.actor if requested is None else requested
        raise AccessError(
            f"the token {self.name!r} acts as {self.actor!r}, not as {requested!r}; leave actor out"
        )


#: The caller where no tokens are set, which only the loopback address allows.
EVERYONE = Token(name="local", digest="0" * 64, role=Role.WRITE)


class Tokens:
    """The tokens of a server, found by their secret."""

    def __init__(self, tokens: Iterable[Token] = ()) -> None:
        self._by_digest = {token.digest: token for token in tokens}

    def __bool__(self) -> bool:
        return bool(self._by_digest)

    def find(self, authorization: str | None) -> Token | None:
        """Return the token of an ``Authorization`` header; EVERYONE if no tokens are set.

        The secret is hashed before the look-up, so timing reveals nothing about it.
        """
        if not self._by_digest:
            return EVERYONE
        scheme, _, secret = (authorization or "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        return self._by_digest.get(digest_of(secret.strip()))


def token_of(secret: str, *, name: str = "token", **more: Any) -> Token:
    """Return a token with this secret.

    Raises
    ------
    ParameterError
        If the secret is short, or a field is invalid.
    """
    if len(secret) < _MIN_SECRET:
        raise ParameterError(
            f"the secret of token {name!r} has {len(secret)} characters, not at least "
            f"{_MIN_SECRET}; `hebbgraph serve --new-token` prints one"
        )
    return _token(name=name, digest=digest_of(secret), **more)


def _token(name: str, **fields: Any) -> Token:
    """Return a token; raise ParameterError without quoting the invalid value."""
    try:
        return Token(name=name, **fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise ParameterError(f"token {name!r}: {field}: {first['msg']}") from None


def read_tokens(file: Path) -> list[Token]:
    """Read tokens from a TOML file, a table for each.

    ::

        [agent]
        secret = "…"              # or digest = "…", its SHA-256
        role = "teach"            # read, teach or write
        namespaces = ["papers"]   # all, if left out
        actor = "agent"           # any, if left out

    Raises
    ------
    ParameterError
    """
    try:
        tables = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ParameterError(f"{file} is no TOML file of tokens: {error}") from error
    tokens = []
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ParameterError(f"{file}: {name!r} is no table; write [{name}] above its fields")
        fields = dict(table)
        secret = fields.pop("secret", None)
        if (secret is None) is ("digest" not in fields):
            raise ParameterError(f"{file}: token {name!r} takes either secret or digest")
        try:
            tokens.append(
                _token(name, **fields)
                if secret is None
                else token_of(str(secret), name=name, **fields)
            )
        except ParameterError as error:
            raise ParameterError(f"{file}: {error}") from None
    if not tokens:
        raise ParameterError(f"{file} holds no token")
    if len({token.digest for token in tokens}) < len(tokens):
        raise ParameterError(f"{file}: two tokens have the same secret")
    return tokens
