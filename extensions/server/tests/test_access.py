"""Who may ask what: the authorisation matrix, route by route, and web pages of others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

from hebbgraph import ParameterError
from starlette.testclient import TestClient

from hebbgraph_server import Role, ServerSettings, Token
from hebbgraph_server.access import read_tokens, token_of
from hebbgraph_server.routes import ROUTES, Route

Serve = Callable[..., TestClient]

#: A body that each route accepts; whether it then finds something does not matter here.
BODIES: dict[str, Any] = {
    "/recall": {"query": "Who built the Petrel?"},
    "/in_full": {"query": "And in winter?", "history": []},
    "/find_recall": {"recall_id": "r"},
    "/explain": {"recall": "r", "chunk_id": "c"},
    "/get": {"ids": []},
    "/holds": {"ids": []},
    "/ids": {},
    "/reinforce": {"recall": "r", "cited": ["c"]},
    "/add": {"chunks": []},
    "/refresh": {"chunks": []},
    "/make_namespace": {},
    "/put_document": {"document_id": "d", "chunks": []},
    "/documents": {},
    "/read_folder": {},
    "/drop_namespace": {"name": "n"},
    "/import": {"lines": []},
    "/put_file": {"name": "d.md", "content": "SXQgbGFzdHMu"},
    "/delete": {"ids": []},
    "/colonies": {},
    "/keep_answer": {"record": {"outcome": "learned"}},
    "/find_answer": {"name": "run"},
    "/earlier_recalls": {"conversation": "c"},
    "/correct_tags": {"kind": "mute", "tags": "nothing"},
    "/undo_tag_correction": {"correction": "c"},
    "/undo_forget": {"forgetting": "f"},
    "/prune": {},
    "/find_feedback": {"ids": []},
    "/lessons": {},
    "/lesson_report": {},
    "/forget": {"feedback": "f"},
    "/trace": {"recall": "r"},
    "/tags": {"containing": "moss"},
    "/neighborhood": {"tag": "moss"},
    "/doctor": {},
    "/compact": {},
    "/answer": {"recall": "r"},
}
#: With a token that acts as nobody in particular, these take more than the table says.
MORE = {"/lessons": Role.WRITE, "/forgotten": Role.WRITE, "/undo_forget": Role.WRITE}


def secret(name: str) -> str:
    return f"secret-of-{name}-0123456789"


def tokens() -> tuple[Token, ...]:
    """A token for each role and choice of namespaces."""
    return tuple(
        token_of(
            secret(f"{role.name}-{place}"), name=f"{role.name}-{place}", role=role, namespaces=names
        )
        for role in Role
        for place, names in [("all", None), ("default", ["default"]), ("other", ["other"])]
    )


def ask(api: TestClient, route: Route, namespace: str, token: str | None) -> int:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    path = f"/v1{route.path}?namespace={namespace}"
    if route.method == "GET":
        return api.get(path, headers=headers).status_code
    return api.post(path, json=BODIES[route.path], headers=headers).status_code


def test_every_route_by_every_token(serve: Serve) -> None:
    api = serve(tokens=tokens())
    for number, route in enumerate(ROUTES):
        # Each asks from an address of its own: who guesses many tokens has to wait.
        own = (f"10.0.0.{number}", 50_000)
        api = TestClient(api.app, base_url="http://localhost", client=own)
        for namespace in ("default", "other"):
            refused = 200 if route.path == "/health" else 401
            assert ask(api, route, namespace, None) == refused, route
            assert ask(api, route, namespace, "wrong-secret-0123456789") == refused, route
            for role in Role:
                for place in ("all", "default", "other"):
                    status = ask(api, route, namespace, secret(f"{role.name}-{place}"))
                    needed = MORE.get(route.path, route.role)
                    allowed = needed is None or (
                        role.includes(needed) and place in ("all", namespace)
                    )
                    told = (route.path, namespace, role, place, status)
                    assert (status in (200, 404, 422)) if allowed else status == 403, told


def test_a_route_without_a_role_tells_nothing_of_a_namespace() -> None:
    assert {route.path for route in ROUTES if route.role is None} == {
        "/health",
        "/metrics",
        "/namespaces",
    }


def test_namespaces_of_others_are_not_listed(serve: Serve) -> None:
    api = serve(tokens=tokens(), token=secret("READ-other"))
    assert api.get("/v1/namespaces").json() == {"namespaces": ["other"]}
    # Nor does the answer tell a namespace that exists from one that does not.
    existing = api.get("/v1/stats?namespace=default")
    missing = api.get("/v1/stats?namespace=nothing")
    assert existing.status_code == missing.status_code == 403


def test_a_token_teaches_in_its_own_name(serve: Serve) -> None:
    eve = token_of(secret("eve"), name="eve", role="teach", actor="eve")
    api = serve(tokens=(eve,), token=secret("eve"))
    recall = api.post("/v1/recall", json={"query": "Who built the Petrel?"}).json()
    cited = {"recall": recall["id"], "cited": [recall["hits"][0]["chunk"]["id"]]}
    assert api.post("/v1/reinforce", json=cited).json()["actor"] == "eve"
    assert api.post("/v1/reinforce", json=cited | {"actor": "bob"}).status_code == 403
    assert api.post("/v1/reinforce", json=cited | {"trusted": True}).status_code == 403
    credit = {"recall_id": recall["id"], "cited": cited["cited"], "shown": cited["cited"]}
    record = {"outcome": "learned", "names": ["run"], "recalls": [recall], "credits": [credit]}
    kept = api.post("/v1/keep_answer", json={"record": record}).json()
    assert [one["actor"] for one in kept["credits"]] == ["eve"]
    for other in ({"actor": "bob"}, {"actor": "eve", "trusted": True}):
        record["credits"] = [credit | other]
        assert api.post("/v1/keep_answer", json={"record": record}).status_code == 403


def test_taking_back_needs_the_id_the_actor_or_the_role(serve: Serve) -> None:
    eve = token_of(secret("eve"), name="eve", role="teach", actor="eve")
    given = (eve, *tokens())
    api = serve(tokens=given)

    def post(name: str, path: str, **body: Any) -> Any:
        headers = {"Authorization": f"Bearer {secret(name)}"}
        answer = api.post(f"/v1/{path}", json=body, headers=headers)
        return answer.json() if answer.status_code == 200 else answer.status_code

    recall = post("READ-all", "recall", query="Who built the Petrel?")
    first, second = (hit["chunk"]["id"] for hit in recall["hits"][:2])
    bobs = post("TEACH-all", "reinforce", recall=recall["id"], cited=[first], actor="bob")["id"]
    post("eve", "reinforce", recall=recall["id"], cited=[second])
    # Eve takes back her own, whatever she asks for.
    told = post("eve", "forget", feedback=[bobs, "none"], dry_run=False)
    assert told == {"forgotten": 0, "preview": None, "unknown": [bobs, "none"]}
    assert post("TEACH-all", "forget", feedback=[bobs, "none"])["unknown"] == ["none"]
    assert post("eve", "forget", actor="bob") == 403
    assert post("eve", "forget", unnamed=True) == post("eve", "lessons", unnamed=True) == 403
    assert len(post("eve", "forget", everything=True)["preview"]["feedback"]) == 1
    assert post("eve", "forget", everything=True, dry_run=False)["forgotten"] == 1
    assert post("eve", "forget", everything=True, dry_run=False, erase=True) == 403
    # She puts back her own, and nobody else's.
    eves, writing = ({"Authorization": f"Bearer {secret(name)}"} for name in ("eve", "WRITE-all"))
    (hers,) = api.get("/v1/forgotten", headers=eves).json()["forgotten"]
    assert post("eve", "undo_forget", forgetting=hers["id"]) == {"undone": 1}
    assert post("WRITE-all", "forget", everything=True, dry_run=False)["forgotten"] == 2
    (all_,) = api.get("/v1/forgotten", headers=writing).json()["forgotten"]
    assert api.get("/v1/forgotten", headers=eves).json()["forgotten"] == []
    assert post("eve", "undo_forget", forgetting=all_["id"]) == 403
    assert post("TEACH-all", "undo_forget", forgetting=all_["id"]) == 403
    assert post("WRITE-all", "undo_forget", forgetting=all_["id"]) == {"undone": 2}
    assert post("WRITE-all", "undo_forget", forgetting=all_["id"]) == 404
    assert post("eve", "forget", everything=True, dry_run=False)["forgotten"] == 1
    # The application takes back what it can name, and all of it with the role write.
    assert post("TEACH-all", "forget", everything=True, dry_run=False) == 403
    assert post("TEACH-all", "forget", everything=True)["preview"]["actors"] == {"bob": 1}
    assert post("READ-all", "forget", feedback=bobs) == 403
    assert post("TEACH-all", "forget", feedback=bobs, dry_run=False)["forgotten"] == 1
    assert post("WRITE-all", "forget", everything=True, dry_run=False)["forgotten"] == 0


def test_the_network_takes_a_token() -> None:
    with pytest.raises(ParameterError, match="without a token"):
        ServerSettings(host="0.0.0.0").check()
    ServerSettings(host="0.0.0.0", tokens=tokens()).check()
    ServerSettings(host="::1").check()


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.nip.io"])
def test_a_rebound_name_is_refused(api: TestClient, host: str) -> None:
    assert api.get("/v1/stats", headers={"Host": host}).status_code == 421
    assert api.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:4321", "[::1]:4321", "LOCALHOST:1"])
def test_its_own_names_are_fine(api: TestClient, host: str) -> None:
    assert api.get("/v1/health", headers={"Host": host}).status_code == 200


def test_pages_of_others_are_refused(serve: Serve) -> None:
    api = serve(allowed_origins={"https://wiki.example"})
    body = {"json": {"query": "Who?"}}

    def status(**headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return api.post("/v1/recall", headers=named, **body).status_code

    assert status() == status(Origin="http://localhost") == 200
    assert status(Origin="https://wiki.example") == 200
    assert status(Origin="https://evil.example") == status(Origin="null") == 403
    assert status(Origin="http://localhost:81") == 403
    assert status(Sec_Fetch_Site="cross-site") == 403
    form = api.post(
        "/v1/delete", content='{"ids": ["moss"]}', headers={"Content-Type": "text/plain"}
    )
    assert form.status_code == 415


def test_tokens_are_not_guessed_at_speed(serve: Serve) -> None:
    api = serve(tokens=tokens())
    guess = {"Authorization": "Bearer a-guess-0123456789"}
    seen = [api.get("/v1/stats", headers=guess).status_code for _ in range(8)]
    assert seen[:5] == [401] * 5
    assert seen[-1] == 429
    # Who has a token, or has not tried one yet, is not held up by it.
    known = {"Authorization": f"Bearer {secret('READ-all')}"}
    assert api.get("/v1/stats", headers=known).status_code == 200
    assert api.get("/v1/stats").status_code == 401


def test_sizes_and_rates_are_bounded(serve: Serve) -> None:
    api = serve(max_body_bytes=2_000, requests_per_minute=60)  # a burst of five
    large = {"chunks": [{"text": "owl " * 1000}]}
    assert api.post("/v1/add", json=large).status_code == 413

    def chunked() -> Any:
        yield b'{"chunks": ['
        for _ in range(1000):
            yield b'{"text": "owl"},'

    answer = api.post("/v1/add", content=chunked(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    seen = [api.get("/v1/namespaces") for _ in range(5)]
    assert [one.status_code for one in seen] == [200] * 3 + [429] * 2
    assert seen[-1].json()["error"] == "TooManyRequestsError"
    assert int(seen[-1].headers["retry-after"]) >= 1


def test_tokens_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(
        f'[agent]\nsecret = "{secret("agent")}"\nrole = "teach"\nnamespaces = ["papers"]\n'
        f'actor = "agent"\n[boss]\ndigest = "{"ab" * 32}"\nrole = "write"\n'
    )
    agent, boss = read_tokens(file)
    assert (agent.name, agent.role, agent.namespaces) == ("agent", Role.TEACH, {"papers"})
    assert (boss.role, boss.namespaces, boss.actor) == (Role.WRITE, None, None)
    assert secret("agent") not in repr(agent)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "holds no token"),
        ("a =", "no TOML file"),
        ("a = 1", "no table"),
        ('[a]\nrole = "read"', "either secret or digest"),
        ('[a]\nsecret = "short"\nrole = "read"', "at least 16"),
        ('[a]\nsecret = "long enough, it seems"\nrole = "king"', "read, teach, write"),
        ('[a]\nsecret = "long enough, it seems"\nrole = "read"\nnamespace = "x"', "namespace"),
    ],
)
def test_a_wrong_token_file_says_what_is_wrong(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(text)
    with pytest.raises(ParameterError, match=told):
        read_tokens(file)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path)
@pytest.mark.parametrize(
    ("query", "headers", "told"),
    [
        ("?namesapce=other", {}, "has no argument 'namesapce'; did you mean 'namespace'?"),
        ("?namespace=other&k=3", {}, "has no argument 'k'; it takes namespace"),
        ("?Namespace=other", {}, "did you mean 'namespace'?"),
        ("?namespace=default&namespace=other", {}, "namespace is given more than once"),
        ("", {"X-Hebbgraph-Namespace": "other"}, "no header 'x-hebbgraph-namespace'"),
        ("", {"Hebbgraph-Actor": "anna"}, "no header 'hebbgraph-actor'"),
        ("", {"X-HebbgraphNamespace": "other"}, "no header 'x-hebbgraphnamespace'"),
    ],
)
def test_no_route_ignores_a_name_that_it_does_not_know(
    api: TestClient, route: Route, query: str, headers: dict[str, str], told: str
) -> None:
    path = f"/v1{route.path}{query}".replace("{table}", "corrections.csv")
    if route.method == "GET":
        answer = api.get(path, headers=headers)
    else:
        answer = api.post(path, json=BODIES.get(route.path, {}), headers=headers)
    assert answer.status_code == 422
    assert told in answer.json()["detail"]


def test_a_misspelt_namespace_deletes_nothing(api: TestClient) -> None:
    before = api.get("/v1/stats").json()["chunks"]
    held = api.post("/v1/ids", json={}).json()["ids"]
    answer = api.post("/v1/delete?namesapce=other", json={"ids": held})
    assert answer.status_code == 422
    assert api.get("/v1/stats").json()["chunks"] == before


def test_a_namespace_that_does_not_exist_is_named_with_those_that_the_caller_sees(
    serve: Serve,
) -> None:
    names = ["default", "defualt"]
    token = token_of(secret("some"), name="some", role=Role.WRITE, namespaces=names)
    api = serve(tokens=(*tokens(), token))
    for name, told in (
        ("some", "there is no namespace 'defualt', only 'default'. "),
        ("WRITE-all", "there is no namespace 'defualt', only 'default', 'other'. "),
    ):
        headers = {"Authorization": f"Bearer {secret(name)}"}
        for path in ("recall", "delete", "stats"):
            url, body = f"/v1/{path}?namespace=defualt", BODIES.get(f"/{path}")
            method = "POST" if body else "GET"
            answer = api.request(method, url, json=body, headers=headers)
            assert answer.status_code == 404
            assert answer.json()["error"] == "NamespaceNotFoundError"
            assert told in answer.json()["detail"]
    assert "defualt" not in api.get("/v1/namespaces", headers=headers).json()["namespaces"]
