"""A language model answers from the passages of a recall, and cites them.

Any server with OpenAI's chat completions will do. The model sees the passages under keys that no
document can forge; its citations are read as in the adapters.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
from hebbgraph.citations import CITATION_INSTRUCTION, Formatter, read_citations
from hebbgraph.citations.cited import MAX_ANSWER_CHARACTERS
from hebbgraph.errors import ModelError, ParameterError
from hebbgraph.limits import MAX_ID
from hebbgraph.records import Chunk
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from hebbgraph_server.bodies import Body

__all__ = ["Answer", "AnswerPart", "AnswerRequest", "Model"]

logger = logging.getLogger(__name__)

_FORMATTER = Formatter(max_characters=4_000)
#: Characters of the model server's error message that go to the log.
_QUOTED = 300


class AnswerRequest(Body):
    """A recent recall, and the number of its passages that the model sees."""

    recall_id: str = Field(max_length=MAX_ID)
    k: int = Field(default=10, ge=1, le=50)


class AnswerPart(Body):
    """The next part of a streamed answer's text."""

    text: str


class Answer(BaseModel):
    """An answer by a model.

    ``cited`` lists the chunks it cites, in its order, ``shown`` those that it was shown. The text
    cites by keys in square brackets; ``keys`` maps each to its chunk.
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
        Base of the API, such as ``http://localhost:11434/v1``.
    name : str
        The model's name there.
    key : SecretStr, optional
        Sent as a bearer token.
    seconds : float
        Time limit of an answer.
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
        on_text: Callable[[str], object] | None = None,
    ) -> Answer:
        """Answer a question from passages; ``on_text`` is called with each part of the text.

        Raises
        ------
        ModelError
            If the model cannot be reached, takes too long, refuses, or answers nothing.
        """
        rendered = _FORMATTER.render(chunks)
        messages = [
            {"role": "system", "content": CITATION_INSTRUCTION},
            {"role": "user", "content": f"{rendered.text}\n\nQuestion: {question}"},
        ]
        text = await self._completed(messages, on_text)
        cited = read_citations(text, rendered, question=question)
        return Answer(
            text=text,
            cited=list(cited.ids),
            shown=[chunk.id for chunk in chunks],
            keys=dict(rendered.keys),
        )

    async def _completed(
        self, messages: list[dict[str, str]], on_text: Callable[[str], object] | None
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
                    json=body if on_text is None else {**body, "stream": True},
                ) as response,
            ):
                text = await self._read(response, on_text)
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
        if not isinstance(text, str) or not text.strip():
            raise ModelError(f"the model {self.name!r} sent an empty answer")
        return text[:MAX_ANSWER_CHARACTERS]

    async def _read(self, response: httpx.Response, on_text: Callable[[str], object] | None) -> Any:
        """Return the model's text, whether its server streams or not."""
        if response.status_code != httpx.codes.OK:
            await response.aread()
            reason = response.text  # which may quote the key: for the log alone
            if self.key is not None:
                reason = reason.replace(self.key.get_secret_value(), "***")
            logger.warning("the model answered %d: %s", response.status_code, reason[:_QUOTED])
            raise ModelError(
                f"the model's server answered {response.status_code}; the log of this server says "
                "why"
            )
        if on_text is None or "text/event-stream" not in response.headers.get("content-type", ""):
            await response.aread()
            return response.json()["choices"][0]["message"]["content"]
        text = ""
        async for line in response.aiter_lines():
            if not line.startswith("data:"):  # a comment, or the name of an event
                continue
            data = line.removeprefix("data:").strip()
            if data == "[DONE]" or len(text) > MAX_ANSWER_CHARACTERS:
                break
            if not data:
                continue
            for choice in json.loads(data)["choices"][:1]:  # empty in the line with the usage
                if part := choice["delta"].get("content"):
                    text += part
                    on_text(part)
        return text
