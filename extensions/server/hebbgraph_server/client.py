"""An index that another process serves: the methods of HebbianIndex, over HTTP.

::

    with HebbianClient("http://127.0.0.1:4321", token=os.environ["HEBBGRAPH_TOKEN"]) as index:
        recall = index.recall("Who built the Petrel?", k=5)
        index.reinforce(recall, cited=[recall.hits[0].chunk.id])

It needs no more than the core. ``hebbgraph serve`` is the other end.
"""

from __future__ import annotations

import functools
import inspect
import json
import logging
import reprlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from hebbgraph.calling import in_thread
from hebbgraph.errors import ClosedIndexError, HebbgraphError, ParameterError
from hebbgraph.hebbian_index import MOVED, HebbianIndex, Moved, public_members
from hebbgraph.ingest import ChunkLike, Intake, OnError, Taken
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

#: Of the chunks of one request, about: the server parses that while others wait a few ms.
_PAGE_CHARACTERS = 250_000


class HebbianClient(HebbianIndex):
    """An index that ``hebbgraph serve`` holds open; it fits wherever a HebbianIndex does.

    Both adapters take it as they take an index. Methods have the same arguments, answers and
    errors. What needs the index itself (``backup``, ``to_networkx``, ``parts``, a filter or
    strategy of your own, a tagger or embedder) raises ParameterError.

    Parameters
    ----------
    url : str
        Where the server listens, such as ``"http://127.0.0.1:4321"``.
    token : str, optional
        Of the server, if it has tokens.
    namespace : str
    timeout_seconds : float
        How long the server may be silent.

    Notes
    -----
    Safe to use from many threads. Async methods run in threads.

    Raises
    ------
    AccessError
        By methods, if the server refuses the token, or its role or namespace does not suffice.
    ConnectionLostError
        By methods, if the server cannot be reached or goes silent.
    TooManyRequestsError
        By methods, if the server still asks to wait after some waiting.
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
        """The settings that the server opened the index with.

        Where one is a callable of the server's own, its default stands here.
        """
        told = self._ask("properties", None, _field("settings"))
        known = {}
        for name, value in told.items():
            try:
                known[name] = getattr(Settings.model_validate({name: value}), name)
            except ValueError:
                continue
        return Settings().model_copy(update=known)

    def keep_recalls(self) -> None:
        """Do nothing: a server keeps the recalls that it answers with."""

    @property
    def embeds(self) -> bool:
        """Whether the server has an embedder for this index."""
        return bool(self._ask("properties", None, _field("embeds")))

    @property
    def repairs(self) -> tuple[str, ...]:
        """What the server found damaged since it opened the index, and rebuilt."""
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

        As :meth:`HebbianIndex.add`, without ``workers``. Chunks are checked here, and travel in
        several requests, each committed by itself.
        """
        from hebbgraph.ingest import progress

        if workers is not None:
            raise ParameterError(
                "workers build where the index is: run hebbgraph build on the server's machine"
            )
        if isinstance(chunks, Chunk | str | bytes | Mapping) or not isinstance(chunks, Iterable):
            raise ParameterError(f"add takes an iterable of chunks, got {chunks!r:.80}")
        intake = Intake(strict=strict, on_error=on_error)
        accepted: Iterable[Taken] = intake.take(chunks)
        total = None
        if isinstance(chunks, Sequence):
            accepted = list(accepted)  # checked as a whole before anything is sent
            total = len(accepted)
        report, taken = AddReport(), 0
        started = time.perf_counter()
        with progress(show_progress, on_progress) as tell:
            for page in _pages(accepted):
                body = {"chunks": [one.chunk.model_dump(mode="json") for one in page]}
                try:
                    more: AddReport = self._ask(
                        "add",
                        body | {"on_error": on_error, "strict": strict},
                        AddReport.model_validate_json,
                    )
                except HebbgraphError as error:
                    error.add_note(f"committed before, in chunks: {report.added + report.replaced}")
                    raise
                report = _with_page(report, more, page)
                taken += len(page)
                tell(taken, total)
        intake.tell()
        failed = sorted((*intake.failed, *report.failed), key=lambda one: one.position)
        return report.model_copy(
            update={
                "cleaned": intake.cleaned,
                "failed": tuple(failed),
                "seconds": time.perf_counter() - started,
            }
        )

    def _ask(self, name: str, body: Mapping[str, Any] | None, read: _Read) -> Any:
        """Ask the server for what a method returns, and read it."""
        if self._closed:
            raise ClosedIndexError(f"{self!r} is closed; make another one")
        return self._http.ask(name, body, namespace=self._namespace, read=read)

    def close(self) -> None:
        """Close the connections; the index stays as it is."""
        self._closed = True
        self._http.close()

    def __repr__(self) -> str:
        return f"HebbianClient({self._http.url!r}, namespace={self._namespace!r})"


def _pages(taken: Iterable[Taken]) -> Iterator[list[Taken]]:
    """Yield chunks in lists of about the size of a request, none empty."""
    page: list[Taken] = []
    size = 0
    for one in taken:
        page.append(one)
        size += len(one.chunk.text) + 200
        if size >= _PAGE_CHARACTERS:
            yield page
            page, size = [], 0
    if page:
        yield page


def _with_page(report: AddReport, more: AddReport, page: Sequence[Taken]) -> AddReport:
    """Add what one request did; positions are those among all chunks."""
    failed = [
        one.model_copy(update={"position": page[one.position].position}) for one in more.failed
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
    told = json.loads(content)
    if unknown := told.get("unknown"):
        logger.warning("forget: no such feedback is known by %s", reprlib.repr(unknown))
    forgotten: int = told["forgotten"]
    return forgotten if told["preview"] is None else ForgetPreview.model_validate(told["preview"])


#: They take the index itself, or files beside it. All other methods are asked of the server.
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
    """Return what a method makes of the server's answer: a record, or the value of one field."""
    if name == "forget":
        return _forgotten
    kind = returned_by(method_of(name))
    if kind is None:
        return lambda content: None
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind.model_validate_json
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    return lambda content: adapter.validate_python(next(iter(json.loads(content).values())))


#: Where the server's default is more careful than the index's.
_ALWAYS: Mapping[str, dict[str, Any]] = {"forget": {"dry_run": False}}


def _asking(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method that sends its arguments, under their names, to the server."""
    signature, read = inspect.signature(method), _reader(name)
    is_get = len(signature.parameters) == 1 and name not in ("compact", "make_namespace")

    @functools.wraps(method)
    def call(self: HebbianClient, *args: Any, **kwargs: Any) -> Any:
        given = signature.bind(self, *args, **kwargs).arguments
        if given.get("steps"):
            raise ParameterError(
                "steps are objects of this process, and a served index cannot run them; "
                "leave them out, or open the index here"
            )
        body = _ALWAYS.get(name, {}) | {
            key: _plain(key, value)
            for key, value in given.items()
            if key != "self" and not _left_out(value, signature.parameters[key].default)
        }
        return self._ask(name, None if is_get else body, read)

    return call


def _left_out(value: Any, default: Any) -> bool:
    """Tell whether an argument is its empty default: the server may know no such argument."""
    return value == default and (default is None or default == () or isinstance(default, str))


def _plain(name: str, value: Any) -> Any:
    """Return an argument as JSON has it; raise ParameterError if it has no such form."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Feedback | Forgetting):
        return value.id
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, datetime) and name in ("since", "until"):
        return value.timestamp()
    if callable(getattr(value, "tolist", None)):  # of numpy
        return value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, bytes | Mapping | set | frozenset):
        return [_plain(name, one) for one in value]
    try:
        return plain(value, name)
    except ValueError as error:
        raise ParameterError(
            f"{name} travels to a server as JSON: {error}; or use the index itself"
        ) from error


def _refusing(name: str) -> Callable[..., Any]:
    """Make what stands for a method that takes the index itself."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise ParameterError(
            f"{name} is not served; use HebbianIndex, or the command line, where the index lies"
        )

    refuse.__name__, refuse.__doc__ = name, "Not served."
    return refuse


def _of_the_client(call: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method of a room of one of its client."""

    @functools.wraps(call)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call(self.client, *args, **kwargs)

    return method


def _served_room(room: str, kind: type) -> property:
    """Return a room of a client: its methods are the client's, by their names over HTTP."""

    def method(name: str) -> Callable[..., Any]:
        by_name: Callable[..., Any] = getattr(HebbianClient, name)

        @functools.wraps(by_name)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            return by_name(self.client, *args, **kwargs)

        return call

    def open_room(self: Any, client: HebbianClient) -> None:
        self.client = client

    members: dict[str, Any] = {"__init__": open_room, "__doc__": kind.__doc__}
    for name, (of, new_name) in MOVED.items():
        if of == room:
            members |= {new_name: method(name), f"a{new_name}": method(f"a{name}")}
    for name in _OF_INSPECT if room == "inspect" else ():
        members[name] = _of_the_client(_asking(name, getattr(kind, name)))
        members[f"a{name}"] = in_thread(members[name])
    if room == "tags":  # client.tags(...), as over HTTP
        members["__call__"] = method("tags")
    served = type(kind.__name__, (), members)
    return property(served, doc=kind.__doc__)


def _complete() -> None:
    """Give HebbianClient whatever else a HebbianIndex has in public."""
    own = vars(HebbianClient)
    public: dict[str, Any] = {
        name: value
        for name, value in public_members().items()
        if not (name in ROOMS or isinstance(value, Moved))
    }
    public |= {name: getattr(ROOMS[room], method) for name, (room, method) in MOVED.items()}
    twins = {name for name, value in public.items() if inspect.iscoroutinefunction(value)}
    for name, value in public.items():
        if name in own or name in twins:
            continue
        made: Any = _refusing(name)
        if isinstance(value, property):
            made = property(made, doc="Not served.")
        elif isinstance(value, classmethod | staticmethod):
            made = staticmethod(made)
        elif name not in _NOT_SERVED:
            made = _asking(name, value)
        setattr(HebbianClient, name, made)
    for name in {*twins, *(f"a{name}" for name in MOVED)}:
        setattr(HebbianClient, name, in_thread(getattr(HebbianClient, name[1:])))
    for room, kind in ROOMS.items():
        setattr(HebbianClient, room, _served_room(room, kind))


_complete()
