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
        return self.request("POST", "/recalls", {"question": question, "k": k, **options})

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
        return self.request("POST", "/lessons", body)

    def forget(self, lesson: str) -> Any:
        """Take a lesson back."""
        return self.request("DELETE", f"/lessons/{quote(lesson, safe='')}")

    def add(self, chunks: Iterable[Mapping[str, Any]]) -> Any:
        """Add chunks, as JSON objects."""
        return self.request("POST", "/chunks", {"chunks": list(map(dict, chunks))})

    def upload(self, file: str | Path | bytes, place: str = "", *, preview: bool = False) -> Any:
        """Upload a file, or bytes with a ``place``; it replaces the document of its place."""
        if not isinstance(file, bytes):
            place, file = place or Path(file).name, Path(file).read_bytes()
        return self.request("POST", "/documents", file, place=place, preview=preview)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def request(
        self, method: str, path: str, body: Any = None, **parameters: str | float | None
    ) -> Any:
        """Send a request to a path below ``/v1``, such as ``request("GET", "/documents")``."""
        chosen = {"namespace": self.namespace, **parameters}
        query = {name: value for name, value in chosen.items() if value is not None}
        options: dict[str, Any] = {} if body is None else {"json": body}
        if isinstance(body, bytes):
            options = {"content": body, "headers": {"Content-Type": "application/octet-stream"}}
        try:
            response = self._http.request(method, path, params=query, **options)
            answer = {**response.json()}
        except httpx.HTTPError as error:
            text = f"no answer from {self.url}: {error or type(error).__name__}"
            raise ServerError(0, "no_answer", text) from error
        except (TypeError, ValueError):  # a page, or JSON of something else
            answer = {"error": "failed", "message": "unexpected reply; is this a hebbgraph server?"}
        if response.is_success and "error" not in answer:
            return answer
        kind, message = answer.get("error", "failed"), str(answer.get("message", answer))
        raise ServerError(response.status_code, kind, message, answer.get("field"))
