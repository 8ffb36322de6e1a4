"""HebbianClient: the methods of HebbianIndex over HTTP.

::

    with HebbianClient("http://127.0.0.1:4321", token=os.environ["HEBBGRAPH_TOKEN"]) as index:
        recall = index.recall("Who built the Petrel?", k=5)
        index.reinforce(recall, cited=[recall.hits[0].chunk.id])

It needs the core alone. ``hebbgraph serve`` runs the server.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import logging
import reprlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from hebbgraph.arguments import known_names
from hebbgraph.calling import in_thread
from hebbgraph.errors import ClosedIndexError, HebbgraphError, ParameterError
from hebbgraph.hebbian_index import MOVED, HebbianIndex, MovedMethod, public_members
from hebbgraph.ingest import AcceptedChunk, ChunkLike, Intake, OnError
from hebbgraph.plain_values import plain
from hebbgraph.records import (
    AddReport,
    Chunk,
    Feedback,
    ForgetPreview,
    Forgetting,
)
from hebbgraph.settings import Settings
from pydantic import BaseModel, TypeAdapter

from hebbgraph_server.http_client import HttpClient
from hebbgraph_server.methods import ROOMS, method_of, returned_by

if TYPE_CHECKING:
    from hebbgraph.ingest import OnProgress

__all__ = ["HebbianClient"]

logger = logging.getLogger(__name__)

_Read: TypeAlias = Callable[[bytes], Any]

#: Approximate size of the chunks of one request, which the server parses in a few ms.
_PAGE_CHARACTERS = 250_000


class HebbianClient(HebbianIndex):
    """An index that ``hebbgraph serve`` serves; it can replace a HebbianIndex, also in adapters.

    Methods have the same arguments, return values and errors. All that needs the index in this
    process raises ParameterError: ``backup``, ``to_networkx``, ``parts``, a custom filter,
    strategy, tagger or embedder.

    Parameters
    ----------
    url : str
        Of the server, such as ``"http://127.0.0.1:4321"``.
    token : str, optional
        Needed if the server has tokens.
    namespace : str
    timeout_seconds : float
        Limit of each wait for the server.

    Notes
    -----
    Safe to use from many threads. Async methods run in threads.

    Raises
    ------
    AccessError
        From methods: the server refuses the token, or its role or namespace is not enough.
    ConnectionLostError
        From methods: the server cannot be reached or stops answering.
    TooManyRequestsError
        From methods: the server defers a request several times.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:4321",
        *,
        token: str | None = None,
        namespace: str = "default",
        timeout_seconds: float = 60.0,
    ) -> None:
        self._http = HttpClient(url, token=token, timeout_seconds=timeout_seconds)
        self._namespace = namespace
        self._closed = False

    @property
    def namespace(self) -> str:
        """The namespace that this object reads and writes."""
        return self._namespace

    @functools.cached_property
    def settings(self) -> Settings:
        """The settings of the served index; the default where one is a callable of the server."""
        settings = {}
        for name, value in self._ask("properties", None, _field("settings")).items():
            with contextlib.suppress(ValueError):
                settings[name] = getattr(Settings.model_validate({name: value}), name)
        return Settings().model_copy(update=settings)

    def keep_recalls(self) -> None:
        """Do nothing: a server keeps its recalls."""

    @property
    def embeds(self) -> bool:
        """Whether the server has an embedder for this index."""
        return bool(self._ask("properties", None, _field("embeds")))

    @property
    def repairs(self) -> tuple[str, ...]:
        """What the server has rebuilt since it opened the index, because it was damaged."""
        return tuple(self._ask("properties", None, _field("repairs")))

    def add(
        self,
        chunks: Iterable[ChunkLike],
        *,
        on_error: OnError = "raise",
        strict: bool = False,
        workers: int | None = None,
        show_progress: bool = False,
        on_progress: OnProgress = None,
    ) -> AddReport:
        """Add chunks; a chunk whose id exists replaces the old one.

        Like :meth:`HebbianIndex.add`, without ``workers``. Chunks are checked here and sent in
        several requests, each a commit of its own.
        """
        from hebbgraph.ingest import progress

        if workers is not None:
            raise ParameterError(
                "workers build where the index is: run hebbgraph build on the server's machine"
            )
        if isinstance(chunks, Chunk | str | bytes | Mapping) or not isinstance(chunks, Iterable):
            raise ParameterError(f"add takes an iterable of chunks, got {chunks!r:.80}")
        intake = Intake(strict=strict, on_error=on_error)
        accepted: Iterable[AcceptedChunk] = intake.take(chunks)
        total = None
        if isinstance(chunks, Sequence):
            accepted = list(accepted)  # check all before sending any
            total = len(accepted)
        report, sent = AddReport(), 0
        started = time.perf_counter()
        with progress(show_progress, on_progress) as tell:
            for page in _pages(accepted):
                body = {
                    "chunks": [item.chunk.model_dump(mode="json") for item in page],
                    "on_error": on_error,
                    "strict": strict,
                }
                try:
                    page_report: AddReport = self._ask("add", body, AddReport.model_validate_json)
                except HebbgraphError as error:
                    error.add_note(f"committed before, in chunks: {report.added + report.replaced}")
                    raise
                report = _merged(report, page_report, page)
                sent += len(page)
                tell(sent, total)
        intake.tell()
        failed = sorted((*intake.failed, *report.failed), key=lambda failure: failure.position)
        return report.model_copy(
            update={
                "cleaned": intake.cleaned,
                "failed": tuple(failed),
                "seconds": time.perf_counter() - started,
            }
        )

    def _ask(self, name: str, body: Mapping[str, Any] | None, read: _Read) -> Any:
        """Call a method of the server; return its answer, parsed by ``read``."""
        if self._closed:
            raise ClosedIndexError(f"{self!r} is closed; make another one")
        return self._http.ask(name, body, namespace=self._namespace, read=read)

    def close(self) -> None:
        """Close the connections; the index stays open on the server."""
        self._closed = True
        self._http.close()

    def __repr__(self) -> str:
        return f"HebbianClient({self._http.url!r}, namespace={self._namespace!r})"


def _pages(accepted: Iterable[AcceptedChunk]) -> Iterator[list[AcceptedChunk]]:
    """Yield chunks in pages for one request each; no page is empty."""
    page: list[AcceptedChunk] = []
    size = 0
    for item in accepted:
        page.append(item)
        size += len(item.chunk.text) + 200
        if size >= _PAGE_CHARACTERS:
            yield page
            page, size = [], 0
    if page:
        yield page


def _merged(report: AddReport, more: AddReport, page: Sequence[AcceptedChunk]) -> AddReport:
    """Add one request's report to another; positions count all chunks."""
    failed = [
        failure.model_copy(update={"position": page[failure.position].position})
        for failure in more.failed
    ]
    tagging = report.tagging if more.tagging is None else more.tagging
    if report.tagging is not None and more.tagging is not None:
        tagging = report.tagging + more.tagging
    counts = ("added", "replaced", "unchanged", "deleted", "batches")
    return report.model_copy(
        update={name: getattr(report, name) + getattr(more, name) for name in counts}
        | {
            "generation": more.generation,
            "failed": (*report.failed, *failed),
            "tagging": tagging,
        }
    )


def _field(name: str) -> _Read:
    return lambda content: json.loads(content)[name]


def _forgotten(content: bytes) -> int | ForgetPreview:
    answer = json.loads(content)
    if unknown := answer.get("unknown"):
        logger.warning("forget: no such feedback is known by %s", reprlib.repr(unknown))
    if answer["preview"] is not None:
        return ForgetPreview.model_validate(answer["preview"])
    return int(answer["forgotten"])


#: Methods that need the index itself, or files beside it. The server answers all others.
_NOT_SERVED = (
    "backup",
    "drop_namespace",
    "export_feedback",
    "import_feedback",
    "reembed",
    "retag",
    "to_networkx",
)
_OF_INSPECT = ("documents", "explain", "stats")


def _reader(name: str) -> _Read:
    """Return a parser for a method's answer: a record, or the value of its one field."""
    if name == "forget":
        return _forgotten
    kind = returned_by(method_of(name))
    if kind is None:
        return lambda content: None
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind.model_validate_json
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    return lambda content: adapter.validate_python(next(iter(json.loads(content).values())))


#: Arguments whose defaults are more careful on the server.
_ALWAYS: Mapping[str, dict[str, Any]] = {"forget": {"dry_run": False}}


def _asking(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that sends its arguments to the server, by name."""
    signature, read = inspect.signature(method), _reader(name)
    is_get = len(signature.parameters) == 1 and name not in ("compact", "make_namespace")

    @known_names
    @functools.wraps(method)
    def call(self: HebbianClient, *args: Any, **kwargs: Any) -> Any:
        arguments = signature.bind(self, *args, **kwargs).arguments
        if arguments.get("steps"):
            raise ParameterError(
                "steps are objects of this process, and a served index cannot run them; "
                "leave them out, or open the index here"
            )
        body = _ALWAYS.get(name, {}) | {
            key: _plain(key, value)
            for key, value in arguments.items()
            if key != "self" and not _is_default(value, signature.parameters[key].default)
        }
        return self._ask(name, None if is_get else body, read)

    return call


def _is_default(value: Any, default: Any) -> bool:
    """Return whether to omit an argument: older servers may not know it."""
    return value == default and (default is None or default == () or isinstance(default, str))


def _plain(name: str, value: Any) -> Any:
    """Return an argument as JSON; raise ParameterError if it cannot be."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Feedback | Forgetting):
        return value.id
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, datetime) and name in ("since", "until"):
        return value.timestamp()
    if callable(getattr(value, "tolist", None)):  # NumPy
        return value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, bytes | Mapping | set | frozenset):
        return [_plain(name, item) for item in value]
    try:
        return plain(value, name)
    except ValueError as error:
        raise ParameterError(
            f"{name} is sent to the server as JSON: {error}; or use the index itself"
        ) from error


def _refusing(name: str) -> Callable[..., Any]:
    """Return a method that raises ParameterError."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise ParameterError(
            f"{name} is not served; use HebbianIndex or the command line where the index is"
        )

    refuse.__name__, refuse.__doc__ = name, "Not served."
    return refuse


def _of_the_client(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of ``client.tags`` and the like that calls one of the client."""

    @functools.wraps(call)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call(self.client, *args, **kwargs)

    return method


def _served_room(room: str, kind: type) -> property:
    """Return ``client.tags``, ``client.log`` and the like, whose methods call the client's."""

    def open_room(self: Any, client: HebbianClient) -> None:
        self.client = client

    members: dict[str, Any] = {"__init__": open_room, "__doc__": kind.__doc__}
    for name, (its_room, new_name) in MOVED.items():
        if its_room == room:
            members[new_name] = _of_the_client(getattr(HebbianClient, name))
            members[f"a{new_name}"] = _of_the_client(getattr(HebbianClient, f"a{name}"))
    for name in _OF_INSPECT if room == "inspect" else ():
        members[name] = _of_the_client(_asking(name, getattr(kind, name)))
        members[f"a{name}"] = in_thread(members[name])
    if room == "tags":  # client.tags(...), as over HTTP
        members["__call__"] = _of_the_client(HebbianClient.tags)
    return property(type(kind.__name__, (), members), doc=kind.__doc__)


def _complete() -> None:
    """Give HebbianClient all other public members of HebbianIndex."""
    written = vars(HebbianClient)
    public: dict[str, Any] = {
        name: value
        for name, value in public_members().items()
        if not (name in ROOMS or isinstance(value, MovedMethod))
    }
    public |= {name: getattr(ROOMS[room], method) for name, (room, method) in MOVED.items()}
    twins = {name for name, value in public.items() if inspect.iscoroutinefunction(value)}
    for name, value in public.items():
        if name in written or name in twins:
            continue
        member: Any = _refusing(name)
        if isinstance(value, property):
            member = property(member, doc="Not served.")
        elif isinstance(value, classmethod | staticmethod):
            member = staticmethod(member)
        elif name not in _NOT_SERVED:
            member = _asking(name, value)
        setattr(HebbianClient, name, member)
    for name in {*twins, *(f"a{name}" for name in MOVED)}:
        setattr(HebbianClient, name, in_thread(getattr(HebbianClient, name[1:])))
    for room, kind in ROOMS.items():
        setattr(HebbianClient, room, _served_room(room, kind))


_complete()
