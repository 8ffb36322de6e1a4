"""A client of a server, over httpx; answers are the JSON that docs/http.md describes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import httpx

__all__ = ["Client", "ServerError"]


class ServerError(Exception):
    """The server refused a request, or failed.

    ``status`` is that of HTTP, 0 if no answer came; ``error`` its kind, ``field`` what to mend.
    """

    def __init__(self, status: int, error: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.field = field


class Client:
    """A namespace of a server at a URL; by default the namespace that the token sees."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        namespace: str | None = None,
        timeout: float = 90.0,
    ) -> None:
        self.url = url.rstrip("/")
        self.namespace = namespace
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=f"{self.url}/v1", headers=headers, timeout=timeout)

    def recall(self, question: str, k: int = 10, **options: Any) -> Any:
        """Ask; options are ``where``, ``compare``, ``keep``, ``id``, ``answer``."""
        return self._send("POST", "/recalls", {"question": question, "k": k, **options})

    def reinforce(
        self,
        recall: str | Mapping[str, Any] | None = None,
        cited: Iterable[str] = (),
        rejected: Iterable[str] = (),
        **options: Any,
    ) -> Any:
        """Teach which passages answer a question, by its recall or the id of that.

        Options are ``answer``, ``rating``, ``shown``, ``actor``, ``trusted``, ``reason``.
        """
        id_ = recall["id"] if isinstance(recall, Mapping) else recall
        body = {"recall": id_, "cited": list(cited), "rejected": list(rejected), **options}
        return self._send("POST", "/lessons", body)

    def lessons(self, **chosen: Any) -> Any:
        """List lessons by ``actor``, ``chunk``, ``recall``, ``since``, ``until``, newest first."""
        return self._send("GET", "/lessons", parameters=chosen)["lessons"]

    def forget(self, lesson: str | None = None, *, dry_run: bool = False, **chosen: Any) -> Any:
        """Take a lesson back; or those of an ``actor``, ``chunk``, or time; or ``everything``."""
        if lesson is not None:
            return self._send("DELETE", f"/lessons/{quote(lesson, safe='')}")["forgotten"]
        return self._send("POST", "/lessons/forget", {**chosen, "dry_run": dry_run})["forgotten"]

    def add(self, chunks: Iterable[Mapping[str, Any]]) -> Any:
        """Add chunks, as JSON objects."""
        return self._send("POST", "/chunks", {"chunks": list(map(dict, chunks))})

    def get(self, chunk: str) -> Any:
        """Return a passage by its id."""
        return self._send("GET", f"/chunks/{quote(chunk, safe='')}")

    def delete(self, ids: Iterable[str] | None = None, **options: Any) -> Any:
        """Delete chunks by id or ``where``; ``dry_run`` only counts."""
        body = {"ids": None if ids is None else list(ids), **options}
        return self._send("POST", "/chunks/delete", body)

    def upload(self, file: str | Path | bytes, place: str = "", *, preview: bool = False) -> Any:
        """Upload a file, or bytes with a ``place``; it replaces the document of its place."""
        if not isinstance(file, bytes):
            place, file = place or Path(file).name, Path(file).read_bytes()
        return self._send("POST", "/documents", file, {"place": place, "preview": preview})

    def documents(self, find: str = "", limit: int = 1_000) -> Any:
        """List documents whose place or title holds some words."""
        parameters = {"find": find, "limit": limit}
        return self._send("GET", "/documents", parameters=parameters)["documents"]

    def delete_document(self, place: str, *, dry_run: bool = False) -> Any:
        """Delete a document."""
        return self._send("DELETE", "/documents", None, {"place": place, "dry_run": dry_run})

    def tag(self, tag: str, k: int = 20) -> Any:
        """Return what is known about a tag."""
        return self._send("GET", f"/tags/{quote(tag, safe='')}", parameters={"k": k})

    def session(self) -> Any:
        """Return who asks, and what is there."""
        return self._send("GET", "/session")

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r}, namespace={self.namespace!r})"

    def _send(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | bytes | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Any:
        chosen = {"namespace": self.namespace, **(parameters or {})}
        query = {name: value for name, value in chosen.items() if value is not None}
        options: dict[str, Any] = {} if body is None else {"json": body}
        if isinstance(body, bytes):
            headers = {"Content-Type": "application/octet-stream"}
            options = {"content": body, "headers": headers}
        try:
            response = self._http.request(method, path, params=query, **options)
            answer = response.json()
        except httpx.HTTPError as error:
            text = f"no answer from {self.url}: {error or type(error).__name__}"
            raise ServerError(0, "no_answer", text) from error
        except ValueError:
            answer = {"message": "unexpected response; is this a hebbgraph server?"}
        if response.is_success and "error" not in answer:
            return answer
        kind, message = answer.get("error", "failed"), str(answer.get("message", answer))
        raise ServerError(response.status_code, kind, message, answer.get("field"))
