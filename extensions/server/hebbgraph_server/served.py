"""Routes whose body and answer follow from the signature of a method of the index."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.limits import MAX_ID, MAX_K, MAX_TAG
from hebbgraph.records import AnswerRecord, Recall, TagCorrection
from pydantic import BaseModel, Field, create_model
from starlette.responses import Response

from hebbgraph_server.bodies import Body, Chunks, Id, Ids, Tag, Turns, Where
from hebbgraph_server.methods import home_of, method_of, returned_by
from hebbgraph_server.threads import Pool
from hebbgraph_server.visit import Visit

__all__ = ["served"]

#: The type of an argument, by its name.
_TYPES: dict[str, Any] = {
    "actor": Id | None,
    "chunk": Id | None,
    "chunk_id": Id,
    "chunks": Chunks,
    "cited": Ids,
    "containing": str,
    "conversation": Id,
    "correction": TagCorrection | Id,
    "delete_missing": bool,
    "document_id": Id | None,
    "document_ids": Ids,
    "erase": bool,
    "dry_run": bool,
    "history": Turns,
    "ids": Ids,
    "k": int,
    "kind": str,
    "limit": int,
    "min_weight": float | None,
    "name": Id,
    "outdated": dict[str, str] | None,
    "rating": dict[str, float] | float | None,
    "reason": dict[str, str] | str | None,
    "rejected": Ids | None,
    "shown": Ids | None,
    "trusted": bool,
    "on_error": Literal["raise", "skip"],
    "query": str,
    "questions": int,
    "recall": Recall | Id,
    "rebuild": bool,
    "recall_id": Id,
    "record": AnswerRecord,
    "repair": bool,
    "since": float | None,
    "strict": bool,
    "tag": Tag,
    "unnamed": bool,
    "until": float | None,
    "where": Where,
}
#: Exceptions, by method and argument.
_OTHER_TYPES: dict[tuple[str, str], Any] = {
    ("delete", "ids"): Ids | None,
    ("lessons", "recall"): Id | None,
}
#: Arguments whose defaults or limits differ over HTTP.
_FIELDS: dict[tuple[str, str], Any] = {
    ("documents", "containing"): Field("", max_length=MAX_ID),
    ("documents", "limit"): Field(100, ge=1, le=10_000),
    ("lesson_report", "k"): Field(5, ge=1, le=MAX_K),
    ("lesson_report", "questions"): Field(200, ge=1, le=1_000),
    ("neighborhood", "limit"): Field(500, ge=1, le=2_000),
    ("refresh", "document_ids"): [],
    ("reinforce", "cited"): [],
    ("reinforce", "kind"): Field("cited", max_length=64),
    ("tags", "containing"): Field("", max_length=MAX_TAG),
    ("tags", "limit"): Field(100, ge=1, le=10_000),
    ("trace", "limit"): Field(2_000, ge=1, le=20_000),
}


#: Checks the arguments of a request, and may change them.
Check = Callable[[dict[str, Any], Visit], None]


def served(
    name: str,
    field: str | None = None,
    *,
    pool: Pool | Callable[[dict[str, Any]], Pool] = "read",
    create: bool = False,
    check: Check = lambda arguments, visit: None,
) -> Callable[..., Awaitable[Response]]:
    """Return an endpoint that calls the method of this name.

    Parameters
    ----------
    name : str
    field : str, optional
        The field of the answer that holds the return value, if that is no record. Its value is
        true if the method returns nothing.
    pool, create
        See :meth:`Visit.run`.
    check : callable, optional
    """
    room, method_name = home_of(name)
    method = method_of(name)
    title = "".join(map(str.capitalize, name.split("_")))
    returned: Any = returned_by(method)
    answers: type[BaseModel] = returned
    if field is not None:
        kind = {None: Literal[True], set[str]: list[str]}.get(returned, returned)
        kinds: dict[str, Any] = {field: (kind, ...)}
        answers = create_model(f"{title}Answer", __doc__=f"What ``{name}`` returns.", **kinds)
    takes = _request(name, title, method)

    async def endpoint(*body_and_visit: Any) -> Response:
        *bodies, visit = body_and_visit
        arguments = {key: getattr(body, key) for body in bodies for key in takes.model_fields}
        check(arguments, visit)

        def work(index: HebbianIndex) -> BaseModel:
            home = index if room is None else getattr(index, room)
            value = getattr(home, method_name)(**arguments)
            if field is None:
                return value  # type: ignore[no-any-return]
            if returned is None:
                value = True
            elif isinstance(value, set):
                value = sorted(value)
            return answers.model_construct(**{field: value})  # ours: needs no validation

        chosen = pool(arguments) if callable(pool) else pool
        return await visit.answer(work, pool=chosen, create=create)  # type: ignore[no-any-return]

    endpoint.__name__ = name
    endpoint.__doc__ = (inspect.getdoc(method) or "").partition("\n\n")[0]
    endpoint.__annotations__ = {"answer": answers} | ({"body": takes} if takes.model_fields else {})
    return endpoint


def _request(name: str, title: str, method: Callable[..., Any]) -> type[Body]:
    """Return the model of a request: the method's arguments that can travel as JSON."""
    fields: dict[str, Any] = {}
    for key, parameter in inspect.signature(method).parameters.items():
        if key in _TYPES:
            default = ... if parameter.default is parameter.empty else parameter.default
            kind = _OTHER_TYPES.get((name, key), _TYPES[key])
            fields[key] = (kind, _FIELDS.get((name, key), default))
    return create_model(f"{title}Request", __base__=Body, __doc__=f"See ``{name}``.", **fields)
