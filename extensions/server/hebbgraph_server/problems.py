"""Errors as RFC 9457 problems.

``error`` names the exception: :class:`hebbgraph_server.client.HebbianClient` raises the same one.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from hebbgraph.errors import (
    AccessError,
    ClosedIndexError,
    ConnectionLostError,
    DiskFullError,
    EmbeddingError,
    HebbgraphError,
    IndexLockedError,
    MissingExtraError,
    ModelError,
    NotFoundError,
    ReadOnlyIndexError,
    SettingsMismatchError,
    StorageError,
    TextSourceError,
    TooManyRequestsError,
)
from pydantic import BaseModel, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

__all__ = ["PROBLEM_JSON", "Problem", "answer_of", "handlers", "kind_of", "problem", "problem_of"]

logger = logging.getLogger(__name__)

PROBLEM_JSON = "application/problem+json"

#: The first match counts; all other errors are faults of the request.
_STATUS: tuple[tuple[type[HebbgraphError], int], ...] = (
    (AccessError, 403),
    (NotFoundError, 404),
    (SettingsMismatchError, 409),
    (ReadOnlyIndexError, 409),
    (MissingExtraError, 501),
    (EmbeddingError, 502),
    (ModelError, 502),
    (TextSourceError, 502),
    (TooManyRequestsError, 429),
    (ClosedIndexError, 503),
    (IndexLockedError, 503),
    (ConnectionLostError, 503),
    (DiskFullError, 507),
    (StorageError, 500),
    (HebbgraphError, 422),
)
_RETRY_SECONDS = 1
_OBJECT = re.compile(r"a valid dictionary( or instance of \w+)?")
_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}
#: Errors that a retry does not mend.
_PERMANENT = frozenset({"DamagedIndexError"})


class Problem(BaseModel):
    """An error, by RFC 9457."""

    type: str = Field(description="urn:hebbgraph: with the name of the error")
    title: str = Field(description="the status in words")
    status: int
    detail: str = Field(description="what arrived, what fits, what to do")
    error: str = Field(description="the exception that the Python API raises")


def problem(status: int, error: str, detail: str) -> Problem:
    """Return a problem."""
    return Problem(
        type=f"urn:hebbgraph:{error}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail.encode("utf-8", "replace").decode(),  # it may quote half a surrogate pair
        error=error,
    )


def problem_of(error: Exception) -> Problem:
    """Return the problem of an exception; details of unknown exceptions go to the log alone."""
    if isinstance(error, HebbgraphError):
        status = next(status for kind, status in _STATUS if isinstance(error, kind))
        notes = getattr(error, "__notes__", ())
        return problem(status, type(error).__name__, "; ".join([str(error), *notes]))
    if isinstance(error, RequestValidationError | ValidationError):
        return problem(422, "ParameterError", _first_fault(error))
    if isinstance(error, HTTPException):
        kind = "NotFoundError" if error.status_code == HTTPStatus.NOT_FOUND else "ParameterError"
        return problem(error.status_code, kind, str(error.detail))
    logger.error("a request failed: %s", type(error).__name__, exc_info=error)
    return problem(500, "HebbgraphError", "the server failed; its log says more")


def _first_fault(error: RequestValidationError | ValidationError) -> str:
    """Describe the first fault without quoting text from the request, which may be secret."""
    first: Mapping[str, Any] = error.errors()[0]
    where = ".".join(map(str, first["loc"])) or "the request"
    if first["type"] == "missing":
        return f"{where} is missing; give it"
    value = first["input"]
    got = str(value) if type(value) in (int, float) else kind_of(value)
    message = _OBJECT.sub("an object", first["msg"].removeprefix("Value error, "))
    return f"{where}: {message[:1].lower()}{message[1:]}, got {got:.80}"


def kind_of(value: object) -> str:
    """Return the JSON type of a value, in words."""
    return _KINDS.get(type(value), "something else")


def response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Return a problem as a response."""
    is_temporary = problem.status in (429, 503) and problem.error not in _PERMANENT
    defaults = {"Retry-After": str(_RETRY_SECONDS)} if is_temporary else {}
    if problem.status == HTTPStatus.UNAUTHORIZED:
        defaults["WWW-Authenticate"] = "Bearer"
    return JSONResponse(
        problem.model_dump(),
        status_code=problem.status,
        headers={**defaults, **(headers or {})},
        media_type=PROBLEM_JSON,
    )


def answer_of(error: Exception) -> Response:
    """Return the response to a request that raised an exception."""
    headers = error.headers if isinstance(error, HTTPException) else None
    return response(problem_of(error), headers)


async def _answer(request: Request, error: Exception) -> Response:
    return answer_of(error)


def handlers() -> dict[int | type[Exception], Any]:
    """Return the exception handlers of the app."""
    kinds = (HebbgraphError, RequestValidationError, ValidationError, HTTPException, Exception)
    return dict.fromkeys(kinds, _answer)
