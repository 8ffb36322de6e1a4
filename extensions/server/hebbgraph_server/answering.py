"""An answer by a language model from the passages of a recall, with citations.

Any server that speaks OpenAI's chat completions will do. The model is shown the passages under keys
that no document can forge, and what its answer cites is read as everywhere else.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
from hebbgraph.citations import CITATION_INSTRUCTION, Formatter, read_citations
from hebbgraph.citations.cited import MAX_ANSWER_CHARACTERS
from hebbgraph.errors import ModelError, ParameterError
from hebbgraph.limits import MAX_ID
from hebbgraph.records import Chunk
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from hebbgraph_server.fields import Body
from hebbgraph_server.problems import problem_of

__all__ = ["Answer", "AnswerPart", "AnswerRequest", "Model", "as_it_comes"]

logger = logging.getLogger(__name__)

_FORMATTER = Formatter(max_characters=4_000)
#: Of what a model's server says when it refuses.
_QUOTED = 300


class AnswerRequest(Body):
    """A recent recall, and how many of its passages the model is shown."""

    recall_id: str = Field(max_length=MAX_ID)
    k: int = Field(default=10, ge=1, le=50)


class AnswerPart(Body):
    """A line of a streamed answer, before the last: some more of the text."""

    text: str


class Answer(BaseModel):
    """An answer by a model.

    ``cited`` are the chunks that it cites, in its order, and ``shown`` those that it was shown.
    Keys stand in its text in square brackets; ``keys`` tells which chunk each one means.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    cited: list[str]
    shown: list[str]
    keys: dict[str, str]


@dataclass(frozen=True)
class Model:
    """A model behind a URL.

    Parameters
    ----------
    url : str
        Where the API begins, such as ``http://localhost:11434/v1``.
    name : str
        The model's name there.
    key : SecretStr, optional
        Sent as a bearer token.
    seconds : float
        How long an answer may take.
    """

    url: str
    name: str
    key: SecretStr | None = None
    seconds: float = 60.0

    def check(self) -> None:
        """Raise ParameterError unless it has a URL and a name."""
        if not self.url.startswith(("http://", "https://")):
            raise ParameterError(
                f"--llm takes a URL like http://localhost:11434/v1, got {self.url!r}"
            )
        if not self.name:
            raise ParameterError("--llm takes --llm-model, too: the name of the model there")

    async def answer(
        self,
        question: str,
        chunks: Sequence[Chunk],
        tell: Callable[[str], None] | None = None,
    ) -> Answer:
        """Answer a question from passages; ``tell`` is called with parts of the text as they come.

        Raises
        ------
        ModelError
            If the model cannot be reached, takes too long, refuses, or says nothing.
        """
        rendered = _FORMATTER.render(chunks)
        messages = [
            {"role": "system", "content": CITATION_INSTRUCTION},
            {"role": "user", "content": f"{rendered.text}\n\nQuestion: {question}"},
        ]
        text = await self._completed(messages, tell)
        cited = read_citations(text, rendered, question=question)
        return Answer(
            text=text,
            cited=list(cited.ids),
            shown=[chunk.id for chunk in chunks],
            keys=dict(rendered.keys),
        )

    async def _completed(
        self, messages: list[dict[str, str]], tell: Callable[[str], None] | None
    ) -> str:
        headers = {"Authorization": f"Bearer {self.key.get_secret_value()}"} if self.key else {}
        body = {"model": self.name, "messages": messages}
        try:
            async with (
                asyncio.timeout(self.seconds),
                httpx.AsyncClient(timeout=None) as client,
                client.stream(
                    "POST",
                    f"{self.url.rstrip('/')}/chat/completions",
                    headers=headers,
                    json=body if tell is None else {**body, "stream": True},
                ) as response,
            ):
                said = await self._read(response, tell)
        except TimeoutError:
            raise ModelError(
                f"the model {self.name!r} gave no answer within {self.seconds:g} s; ask again, or "
                "start the server with a longer --llm-seconds"
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ModelError(
                f"the model {self.name!r} cannot be reached ({type(error).__name__}); does its "
                "server run?"
            ) from error
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise ModelError(
                "the model's server did not answer as OpenAI's chat completions do; is the URL "
                "that of the API, such as http://localhost:11434/v1?"
            ) from error
        if not isinstance(said, str) or not said.strip():
            raise ModelError(f"the model {self.name!r} answered without a word")
        return said[:MAX_ANSWER_CHARACTERS]

    async def _read(self, response: httpx.Response, tell: Callable[[str], None] | None) -> Any:
        """Return what the model said, whether its server streams or not."""
        if response.status_code != httpx.codes.OK:
            await response.aread()
            said_there = response.text  # which may quote the key: for the log alone
            if self.key is not None:
                said_there = said_there.replace(self.key.get_secret_value(), "***")
            logger.warning("the model answered %d: %s", response.status_code, said_there[:_QUOTED])
            raise ModelError(
                f"the model's server answered {response.status_code}; the log of this server says "
                "why"
            )
        if tell is None or "text/event-stream" not in response.headers.get("content-type", ""):
            await response.aread()
            return response.json()["choices"][0]["message"]["content"]
        said = ""
        async for line in response.aiter_lines():
            if not line.startswith("data:"):  # a comment, or the name of an event
                continue
            data = line.removeprefix("data:").strip()
            if data == "[DONE]" or len(said) > MAX_ANSWER_CHARACTERS:
                break
            if not data:
                continue
            for choice in json.loads(data)["choices"][:1]:  # none with what it cost
                if part := choice["delta"].get("content"):
                    said += part
                    tell(part)
        return said


async def as_it_comes(
    answering: Callable[[Callable[[str], None]], Awaitable[Answer]],
) -> AsyncIterator[bytes]:
    """Yield the lines of a streamed answer; whoever leaves ends it."""
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()

    def tell(part: str) -> None:
        lines.put_nowait(AnswerPart(text=part).model_dump_json().encode())

    answer = asyncio.ensure_future(answering(tell))
    answer.add_done_callback(lambda _: lines.put_nowait(None))
    try:
        while (line := await lines.get()) is not None:
            yield line + b"\n"
        try:
            last = {"answer": answer.result().model_dump()}
        except Exception as error:
            last = {"problem": problem_of(error).model_dump()}
        yield json.dumps(last).encode() + b"\n"
    finally:
        answer.cancel()
