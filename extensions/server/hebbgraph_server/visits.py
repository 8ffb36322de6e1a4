"""One request: its token, its namespace, and the thread in which the index answers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Query, Request

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.access import USER, Namespaces, Tenant, actor_of, joined
from hebbgraph.citations.learner import Learner
from hebbgraph.records.base import MAX_ID
from hebbgraph_server.errors import ApiError
from hebbgraph_server.settings import ServerSettings
from hebbgraph_server.tokens import Role, Token

T = TypeVar("T")
Kind: TypeAlias = Literal["ask", "write", "convert"]
#: Threads of one namespace, and of all together, by kind of work. A request waits for a thread of
#: its namespace first, so one tenant's slow uploads or long deletes hold nobody else up.
_THREADS: dict[Kind, tuple[int, int]] = {"ask": (8, 40), "write": (2, 40), "convert": (2, 16)}


class Service:
    """What all requests to one process share."""

    def __init__(self, index: HebbianIndex, settings: ServerSettings) -> None:
        self.index = index
        self.settings = settings
        self._namespaces = Namespaces(index, most=settings.open_namespaces)
        self.learner = Learner(
            lambda namespace: Tenant(self._namespaces, namespace), patience=5.0, on_sigterm=False
        )
        self._all = {kind: CapacityLimiter(most) for kind, (_, most) in _THREADS.items()}
        self._own: WeakValueDictionary[tuple[str, Kind], CapacityLimiter] = WeakValueDictionary()

    async def run(self, namespace: str, work: Callable[[HebbianIndex], T], kind: Kind) -> T:
        """Call a function with an open namespace, in a thread."""

        def call() -> T:
            with self._namespaces.opened(namespace) as index:
                if index is None:
                    raise ApiError(404, "not_found", f"there is no namespace {namespace!r:.80}")
                return work(index)

        own = self._own.setdefault((namespace, kind), CapacityLimiter(_THREADS[kind][0]))
        async with own:
            return await to_thread.run_sync(call, limiter=self._all[kind])

    def folder_of(self, namespace: str) -> str | None:
        """Return the folder that can be read again into a namespace."""
        return self.settings.folder if namespace == self.settings.namespace else None

    def close(self) -> None:
        """Learn what waits, and close what is open."""
        self.learner.close()
        self._namespaces.close()
        self.index.close()


@dataclass(frozen=True)
class Visit:
    """Who asks, and which namespace. What a token is bound to wins over what a request says."""

    service: Service
    token: Token
    namespace: str

    async def run(self, work: Callable[[HebbianIndex], T], kind: Kind = "ask") -> T:
        """Call a function with the namespace, in a thread."""
        return await self.service.run(self.namespace, work, kind)

    def where(self, *asked: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Return the filter of a request, narrowed by that of the token."""
        return dict(joined(part for part in (self.token.filter, *asked) if part) or {}) or None

    def actor(self, asked: str | None) -> str | None:
        """Return in whose name a request speaks."""
        return actor_of(self.token.actor, {USER: asked})

    def trusts(self, asked: bool | None) -> bool:
        """Return whether a lesson counts at once, without a second name that says the same."""
        return self.token.is_vouched_for and asked is not False

    def visible(self, index: HebbianIndex, ids: Iterable[str]) -> list[Chunk]:
        """Return those of some chunks that exist for the token."""
        if self.token.filter is not None:
            ids = index.ids(self.where({"$id": {"$in": list(ids)}}))
        return index.get(list(ids))

    def check(self, role: Role) -> None:
        """Refuse a token without a role."""
        mine = self.token.role
        _require(mine.includes(role), f"this needs a token with the role {role}; yours has {mine}")

    def check_teaches(self) -> None:
        """Refuse a token that may not teach."""
        text = "your token may ask, but not teach; whoever runs the server can allow it"
        _require(self.token.may_teach, text)

    def check_whole(self) -> None:
        """Refuse a token that sees a part of the namespace only."""
        text = "your token sees only a part of the namespace; this describes all of it"
        _require(self.token.filter is None, text)


def _require(allowed: bool, text: str) -> None:
    if not allowed:
        raise ApiError(403, "not_allowed", text)


def visit_of(service: Service, token: Token, asked: str | None) -> Visit:
    """Return the visit of a token to the namespace that it asks for, or that it sees."""
    default = service.settings.namespace
    mine = sorted(token.namespaces or {default})
    if asked is None and not token.sees(default):
        there = [name for name in service.index.namespaces() if name in mine]
        asked = min(there or mine)
    asked = asked or default
    # A token does not even learn whether other namespaces exist.
    _require(token.sees(asked), f"your token does not see {asked!r:.80}; it sees {', '.join(mine)}")
    return Visit(service, token, asked)


def _visiting(role: Role) -> Any:
    async def visit(
        request: Request,
        namespace: Annotated[
            str | None,
            Query(min_length=1, max_length=MAX_ID, description="by default the one you see"),
        ] = None,
    ) -> Visit:
        _check_parameters(request)
        made = visit_of(request.app.state.service, request.state.token, namespace)
        made.check(role)
        return made

    return Depends(visit)


def _check_parameters(request: Request) -> None:
    """Refuse unknown and repeated parameters: a misspelt namespace must not mean the default."""
    known, dependants = set[str](), [request.scope["route"].dependant]
    for dependant in dependants:
        known |= {field.alias for field in dependant.query_params}
        dependants += dependant.dependencies
    given = [name for name, _ in request.query_params.multi_items()]
    for name in given:
        if name not in known or given.count(name) > 1:
            what = "is given twice" if name in known else "is no parameter here"
            text = f"{name!r:.80} {what}; there are {', '.join(sorted(known))}"
            raise ApiError(422, "invalid", text, name[:80])


Reader = Annotated[Visit, _visiting(Role.READ)]
Writer = Annotated[Visit, _visiting(Role.WRITE)]
Admin = Annotated[Visit, _visiting(Role.ADMIN)]
