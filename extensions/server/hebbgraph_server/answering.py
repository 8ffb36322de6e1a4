"""An answer by a language model from the passages of a recall, with citations.

Any server that speaks OpenAI's chat completions will do. The model is shown the passages under keys
that no document can forge, and what its answer cites is read as everywhere else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx
from hebbgraph.citations import CITATION_INSTRUCTION, Formatter, read_citations
from hebbgraph.citations.cited import MAX_ANSWER_CHARACTERS
from hebbgraph.errors import ModelError, ParameterError
from hebbgraph.limits import MAX_ID
from hebbgraph.records import Chunk
from pydantic import BaseModel, ConfigDict, Field, SecretStr

__all__ = ["Answer", "AnswerRequest", "Model"]

logger = logging.getLogger(__name__)

_FORMATTER = Formatter(max_characters=4_000)
#: Of what a model's server says when it refuses.
_QUOTED = 300


class AnswerRequest(BaseModel):
    """A recent recall, and how many of its passages the model is shown."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    recall_id: str = Field(max_length=MAX_ID)
    k: int = Field(default=10, ge=1, le=50)


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

    async def answer(self, question: str, chunks: Sequence[Chunk]) -> Answer:
        """Answer a question from passages.

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
        text = await self._completed(messages)
        cited = read_citations(text, rendered, question=question)
        return Answer(
            text=text,
            cited=list(cited.ids),
            shown=[chunk.id for chunk in chunks],
            keys=dict(rendered.keys),
        )

    async def _completed(self, messages: list[dict[str, str]]) -> str:
        headers = {"Authorization": f"Bearer {self.key.get_secret_value()}"} if self.key else {}
        try:
            async with asyncio.timeout(self.seconds), httpx.AsyncClient(timeout=None) as client:
                response = await client.post(
                    f"{self.url.rstrip('/')}/chat/completions",
                    headers=headers,
                    json={"model": self.name, "messages": messages},
                )
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
        if response.status_code != httpx.codes.OK:
            said_there = response.text  # which may quote the key: for the log alone
            if self.key is not None:
                said_there = said_there.replace(self.key.get_secret_value(), "***")
            logger.warning("the model answered %d: %s", response.status_code, said_there[:_QUOTED])
            raise ModelError(
                f"the model's server answered {response.status_code}; the log of this server says "
                "why"
            )
        try:
            said: Any = response.json()["choices"][0]["message"]["content"]
        except (ValueError, LookupError, TypeError) as error:
            raise ModelError(
                "the model's server did not answer as OpenAI's chat completions do; is the URL "
                "that of the API, such as http://localhost:11434/v1?"
            ) from error
        if not isinstance(said, str) or not said.strip():
            raise ModelError(f"the model {self.name!r} answered without a word")
        return said[:MAX_ANSWER_CHARACTERS]
