"""Tokens: who may do what, in which namespaces, and in whose name."""

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

#: Below this, a secret could be guessed.
_MIN_SECRET = 16


class Role(IntEnum):
    """What a token allows; each role includes those before it."""

    READ = 1
    TEACH = 2
    WRITE = 3

    def includes(self, other: Role) -> bool:
        """Tell whether a token of this role may do what takes another one.

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
    """Return the SHA-256 of a secret, which is what is kept of it."""
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
        Those that it may see; None for all.
    actor : str, optional
        Feedback given with this token is by this actor, and it can take back no other. Without
        one, a request may name any actor.
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
        """Tell whether it may see a namespace."""
        return self.namespaces is None or namespace in self.namespaces

    def check(self, role: Role, namespace: str) -> None:
        """Raise AccessError unless it allows a role in a namespace."""
        # Of a namespace that is not its own, a token does not even learn that it exists.
        if not self.sees(namespace):
            raise AccessError(f"the token {self.name!r} does not see the namespace {namespace!r}")
        if not (self is EVERYONE or self.role.includes(role)):
            raise AccessError(
                f"this takes a token of the role {role.name.lower()!r}; "
                f"{self.name!r} has {self.role.name.lower()!r}"
            )

    def check_unnamed(self) -> None:
        """Raise AccessError for a token that acts as somebody: this is about all actors."""
        if self.actor is not None:
            raise AccessError(f"{self.name!r} acts as {self.actor!r}; it takes a token without one")

    def actor_of(self, given: str | None) -> str | None:
        """Return the actor to write down; raise AccessError for another's name."""
        if self.actor is None or given in (None, self.actor):
            return self.actor if given is None else given
        raise AccessError(
            f"the token {self.name!r} acts as {self.actor!r}, not as {given!r}; leave actor out"
        )


#: Whoever asks, where no tokens are set: on the loopback address alone.
EVERYONE = Token(name="local", digest="0" * 64, role=Role.WRITE)


class Tokens:
    """The tokens of a server, found by their secret."""

    def __init__(self, tokens: Iterable[Token] = ()) -> None:
        self._by_digest = {token.digest: token for token in tokens}

    def __bool__(self) -> bool:
        return bool(self._by_digest)

    def find(self, authorization: str | None) -> Token | None:
        """Return the token of an ``Authorization`` header; EVERYONE if no tokens are set.

        The secret is hashed before it is looked up, so the time this takes tells nothing of it.
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
        If the secret is short, or a field is wrong.
    """
    if len(secret) < _MIN_SECRET:
        raise ParameterError(
            f"the secret of token {name!r} has {len(secret)} characters, at least {_MIN_SECRET} "
            "fit; `hebbgraph serve --new-token` prints one"
        )
    try:
        return Token(name=name, digest=digest_of(secret), **more)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ParameterError(f"token {name!r}: {field}: {first['msg']}") from None


def read_tokens(file: Path) -> list[Token]:
    """Read tokens from a TOML file: a table each, named like the token.

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
        if secret is not None:
            tokens.append(token_of(str(secret), name=name, **fields))
            continue
        try:
            tokens.append(Token(name=name, **fields))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            raise ParameterError(f"{file}: token {name!r}: {field}: {first['msg']}") from None
    if not tokens:
        raise ParameterError(f"{file} holds no token")
    if len({token.digest for token in tokens}) < len(tokens):
        raise ParameterError(f"{file}: two tokens have the same secret")
    return tokens
