"""HebbianClient over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hebbgraph import (
    AccessError,
    Chunk,
    ClosedIndexError,
    ConnectionLostError,
    FeedbackError,
    FilterError,
    HebbianIndex,
    InvalidChunkError,
    NamespaceNotFoundError,
    NotFoundError,
    ParameterError,
    RankStep,
    TooManyRequestsError,
)

from hebbgraph_server.client import HebbianClient

Connect = Callable[..., HebbianClient]
QUESTION = "Where was the builder of the Petrel born?"


class OwnStep(RankStep):
    """Does nothing."""


def test_rank_steps_of_ones_own_are_refused_by_name(connect: Connect) -> None:
    with connect() as client, pytest.raises(ParameterError, match="steps are objects of this"):
        client.recall(QUESTION, steps=[OwnStep()])


def test_it_answers_as_the_index_does(connect: Connect, location: Path) -> None:
    with connect() as client, HebbianIndex.open(location) as index:
        assert isinstance(client, HebbianIndex)
        served, local = client.recall(QUESTION, k=4, id="r"), index.recall(QUESTION, k=4, id="r")
        when = {"created_at": served.created_at}
        assert served == local.model_copy(update=when)
        assert client.explain(served, "bay") == index.explain(local, "bay")
        assert client.find_recall("r") == index.find_recall("r")
        assert client.get(["bay", "none", "moss"]) == index.get(["bay", "none", "moss"])
        assert client.holds({"bay", "none"}) == {"bay"}
        assert client.ids({"kind": "ship"}) == index.ids({"kind": "ship"})
        assert client.stats() == index.stats()
        assert client.settings == index.settings
        assert client.colonies() == index.inspect.colonies()
        assert client.inspect.documents("o") == index.inspect.documents("o")
        assert client.in_full("And in winter?", ["What does mooring cost?"]) == index.in_full(
            "And in winter?", ["What does mooring cost?"]
        )
        assert client.namespaces() == ["default", "other"]
        assert client.embeds is False
        assert client.doctor().ok


def test_it_learns(connect: Connect) -> None:
    with connect() as client:
        recall = client.recall(QUESTION)
        given = client.reinforce(recall, cited=[recall.hits[3].chunk.id], actor="anna")
        assert given.actor == "anna"
        assert client.recall(QUESTION) != recall
        assert client.prune().edges != {}
        assert client.trace(recall).hits[0].rank == 1
        assert client.tags("moss")[0].tag == client.neighborhood("ida moss").tag == "ida moss"
        assert client.forget(given, dry_run=True).feedback == (given.id,)
        assert client.forget(given) == 1  # taken back by its id, it may be judged anew
        client.reinforce(recall, cited=[recall.hits[3].chunk.id], actor="anna")
        assert client.forget(actor="anna", since=datetime(2020, 1, 1, tzinfo=UTC)) == 1
        with pytest.raises(FeedbackError, match="none of that id is kept"):  # it was forgotten, too
            client.reinforce(recall, cited=[recall.hits[3].chunk.id])
        again = client.recall(QUESTION)
        client.reinforce(again, cited=[again.hits[3].chunk.id])
        assert [one.actor for one in client.lessons(unnamed=True)] == [None]
        assert client.forget(unnamed=True) == 1
        assert client.forget(everything=True) == 0


def test_documents_are_replaced_and_namespaces_made(connect: Connect) -> None:
    with connect(namespace="new") as client:
        with pytest.raises(NamespaceNotFoundError, match="no namespace 'new'"):
            client.ids()
        client.make_namespace()
        assert client.ids() == []
        client.add([{"id": n, "text": f"Owl {n}.", "document_id": "owls"} for n in ("1", "2")])
        report = client.refresh([Chunk(id="2", text="Owl 2.", document_id="owls")])
        assert (report.unchanged, report.deleted, client.ids()) == (1, 1, ["2"])


def test_many_chunks_travel_in_several_requests(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hebbgraph_server.client._PAGE_CHARACTERS", 1_000)
    told = []
    chunks: list[Any] = [{"id": str(n), "text": f"Owl {n} hunts."} for n in range(20)]
    chunks[7] = {"id": "7"}
    with connect() as client:
        with pytest.raises(InvalidChunkError, match="position 7"):
            client.add(chunks)
        assert "0" not in client.holds(["0"])  # checked as a whole first
        report = client.add(
            chunks, on_error="skip", on_progress=lambda done, total: told.append((done, total))
        )
        assert (report.added, [one.position for one in report.failed]) == (19, [7])
        assert told == [(5, 19), (10, 19), (15, 19), (19, 19)]
        assert client.add(["Ice\x00trade."]).cleaned == 1
        twice = [{"id": "x", "text": "One."}, {"id": "x", "text": "Another."}]
        assert [one.position for one in client.add(iter(twice), on_error="skip").failed] == [1]


def test_errors_are_those_of_the_index(connect: Connect) -> None:
    with connect() as client:
        with pytest.raises(FilterError, match="unknown operator"):
            client.recall("Who?", where={"year": {"$near": 1}})
        with pytest.raises(NotFoundError, match="no recall 'gone'"):
            client.explain("gone", "bay")
        with pytest.raises(ParameterError, match="recall has no argument 'kk'; did you mean 'k'"):
            client.recall("Who?", kk=3)  # type: ignore[call-arg]
        with pytest.raises(ParameterError, match="of type function, which JSON cannot say"):
            client.recall("Who?", where=lambda chunk: True)
        with pytest.raises(ParameterError, match="backup is not served"):
            client.backup("somewhere")
        with pytest.raises(ParameterError, match="parts is not served"):
            _ = client.parts
    with pytest.raises(ClosedIndexError):
        client.stats()


async def test_async_methods_do_not_block(connect: Connect) -> None:
    async with connect() as client:
        recalls = await asyncio.gather(*(client.arecall(QUESTION, k=2) for _ in range(8)))
        assert len({tuple(hit.chunk.id for hit in recall.hits) for recall in recalls}) == 1
        assert await client.adelete(["knots"]) == 1
        with pytest.raises(ParameterError, match="not served"):
            await client.abackup("somewhere")


def test_a_token_opens_its_namespace_alone(connect: Connect) -> None:
    with connect(role="read", namespaces=["other"], namespace="other") as client:
        assert client.recall("Whose secret?").hits[0].chunk.id == "secret"
        with pytest.raises(AccessError, match="'write'"):
            client.add(["More."])
    with connect(role="read", namespaces=["other"]) as client, pytest.raises(AccessError):
        client.stats()


def test_what_is_not_there_says_so(connect: Connect) -> None:
    with pytest.raises(ConnectionLostError, match="is the server running"):
        HebbianClient("http://127.0.0.1:9", timeout_seconds=2).stats()
    for url in ("localhost:4321", "ftp://x", "http://", "http://a b:x"):
        with pytest.raises(ParameterError):
            HebbianClient(url)
    with pytest.raises(ParameterError, match="token="):
        HebbianClient("http://me:secret@localhost")


def test_it_waits_when_it_is_asked_to(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("hebbgraph_server.http_client.time", SimpleNamespace(sleep=waits.append))
    with connect(requests_per_minute=12.0) as client:
        client.namespaces()
        with pytest.raises(TooManyRequestsError):
            client.namespaces()
    assert waits == [1.0, 1.0, 1.0]


def test_a_restart_of_the_server_goes_unnoticed(connect: Connect) -> None:
    with connect() as client:
        before = client.stats()
        connect.restart(client)  # type: ignore[attr-defined]
        assert client.stats() == before


def test_a_server_that_does_not_know_a_newer_argument_is_not_sent_its_default(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Learners always give ``kind=``, and say "cited" but for what was done."""
    from hebbgraph_server import teaching

    fields = teaching.reinforce.__annotations__["body"].model_fields
    with connect() as client:
        recall = client.recall(QUESTION)
        cited = [recall.hits[0].chunk.id]
        monkeypatch.delitem(fields, "kind")  # as on an older server
        with pytest.raises(ParameterError, match="kind"):
            client.reinforce(recall, cited, kind="opened")
        monkeypatch.undo()
    sent: list[Any] = []
    with connect() as client:
        monkeypatch.setattr(client, "_ask", lambda name, body, read: sent.append(body))
        client.reinforce("r", cited, kind="cited")
        client.reinforce("r", cited, kind="opened")
    assert [body.get("kind") for body in sent] == [None, "opened"]
