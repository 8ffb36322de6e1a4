"""Errors as one shape of JSON, in a person's words: ``{"error", "message", "field"}``."""

import logging
import re
from collections.abc import Mapping
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from hebbgraph import errors as core

logger = logging.getLogger(__name__)

_LATER = "try again in a moment"
#: The first match counts. Where the message is None, the error speaks of what the request holds.
_KINDS: tuple[tuple[type[Exception], int, str, str | None], ...] = (
    (core.IndexBusyError, 503, "busy", f"another change takes long; {_LATER}"),
    (core.ConnectionLostError, 503, "busy", f"the database does not answer; {_LATER}"),
    (core.ClosedIndexError, 503, "busy", f"the server is shutting down; {_LATER}"),
    (core.DiskFullError, 507, "disk_full", "the server's disk is full; nothing was stored"),
    (core.ReadOnlyIndexError, 409, "conflict", "the index is read-only"),
    (core.StorageError, 500, "failed", "the index cannot be read; the server's log says more"),
    (RecursionError, 422, "invalid", "the body nests too deep"),
    (core.NotFoundError, 404, "not_found", None),
    (core.ConversionError, 422, "unreadable", None),
    (core.MissingExtraError, 422, "unreadable", None),
    (core.HebbgraphError, 422, "invalid", None),
    (Exception, 500, "failed", "the server failed; its log says more"),
)
_BY_STATUS = {401: "token_unknown", 403: "not_allowed", 404: "not_found", 405: "not_found"}
#: Words of Python in messages of the core and of pydantic, and those of JSON.
_WORDS = {
    r"\ba (?:valid )?dict(?:ionary)?\b(?: or instance of \w+)?": "an object",
    r"\ba (?:valid )?str(?:ing)?\b": "text",
    r"\ba valid (list|integer|number|boolean)\b": r"a \1",
    r"input should be less than or equal to": "at most",
    r"input should be greater than or equal to": "at least",
    r"\bTrue\b": "true",
    r"\bFalse\b": "false",
    r"\bNone\b": "null",
}


class Problem(BaseModel):
    """An error: its kind; what arrived, what fits, what to do; the field or parameter to mend."""

    error: str
    message: str
    field: str | None = None


RESPONSES: dict[int | str, dict[str, Any]] = {"default": {"model": Problem}}


class ApiError(HTTPException):
    """A request that cannot be answered."""

    def __init__(self, status: int, error: str, message: str, field: str | None = None) -> None:
        super().__init__(status, message)
        # It may quote half a surrogate pair, which UTF-8 cannot hold.
        text = message.encode("utf-8", "replace").decode()
        self.problem = Problem(error=error, message=text, field=field)

    def response(self) -> JSONResponse:
        """Return the error as a response."""
        headers = dict(self.headers or {})
        if self.problem.error in ("busy", "too_many"):
            headers["Retry-After"] = "1"
        if self.status_code == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return JSONResponse(self.problem.model_dump(), self.status_code, headers)


def problem_of(error: Exception) -> ApiError:
    """Return what to answer; details of faults of the server go to the log alone."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, RequestValidationError):
        return _first_fault(error)
    if isinstance(error, HTTPException):
        kind = _BY_STATUS.get(error.status_code, "invalid")
        made = ApiError(error.status_code, kind, str(error.detail))
        made.headers = error.headers
        return made
    status, kind, message = next(row[1:] for row in _KINDS if isinstance(error, row[0]))
    if status >= 500:
        logger.error("a request failed: %s", type(error).__name__, exc_info=error)
    return ApiError(status, kind, _in_words(str(error)) if message is None else message)


def _in_words(message: str) -> str:
    """Return a message without spellings of Python."""
    for pattern, word in _WORDS.items():
        message = re.sub(pattern, word, message)
    return message


def _first_fault(error: RequestValidationError) -> ApiError:
    """Describe the first fault, without quoting text of the request, which may be secret."""
    first: Mapping[str, Any] = error.errors()[0]
    field = ".".join(map(str, first["loc"][1:])) or None
    name, message = field or "the body", first["msg"].removeprefix("Value error, ")
    text = _in_words(f"{name}: {message[:1].lower()}{message[1:]}")
    if first["type"] == "missing":
        text = f"{name} is missing"
    elif first["type"] == "extra_forbidden":
        text = f"there is no field {first['loc'][-1]!r:.80} here; /docs lists those there are"
    elif first["type"] == "json_invalid":
        text, field = "the body is not JSON", None
    elif type(first["input"]) in (int, float):
        text += f", got {first['input']}"
    return ApiError(422, "invalid", text, field)


async def _answer(_: Request, error: Exception) -> JSONResponse:
    return problem_of(error).response()


def handlers() -> dict[int | type[Exception], Any]:
    """Return the exception handlers of the app."""
    kinds = (core.HebbgraphError, RequestValidationError, HTTPException, RecursionError, Exception)
    return dict.fromkeys(kinds, _answer)
