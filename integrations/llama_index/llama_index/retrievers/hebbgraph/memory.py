"""HebbianMemoryBlock: an index as the long-term memory of agents and chat engines."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock
from pydantic import Field, field_validator

from hebbgraph import HebbianIndex, ParameterError, Recall
from hebbgraph.arguments import check_k
from hebbgraph.citations import Formatter, Source
from llama_index.retrievers.hebbgraph.conversation import turns_of
from llama_index.retrievers.hebbgraph.events import announce
from llama_index.retrievers.hebbgraph.nodes import chunk_to_node

__all__ = ["HebbianMemoryBlock"]

_SPOKEN = (MessageRole.USER, MessageRole.ASSISTANT)
_SESSION = "session_id"


class HebbianMemoryBlock(BaseMemoryBlock[str]):
    """Remembers what was said before the messages that still fit into a prompt.

    What leaves the short-term memory is added to an index, a question with its answer as one
    chunk; what belongs to the latest question comes back. It needs no embedding model, and
    learns: chunks that helped come back sooner.

    Parameters
    ----------
    index : HebbianIndex
        Of the user, or a namespace for each.
    similarity_top_k : int
        At most so many earlier exchanges come back.
    min_score : float, in [0, 1]
        Exchanges with a lower score stay away. At .2, little comes back that has nothing to do
        with the question; a memory of a few exchanges cannot tell, so the default is 0.
    across_sessions : bool
        Whether what was said in other sessions comes back too.
    cite : bool
        Put keys before the exchanges, as a :class:`CitationFormatter` does, so that a
        :class:`CitationLearner` can tell which of them an answer used.
    name, description, priority, accept_short_term_memory
        As for every memory block.

    Examples
    --------
    ::

        memory = Memory.from_defaults(memory_blocks=[HebbianMemoryBlock(index=index)])
        agent.run("What did I say about the mooring?", memory=memory)
    """

    name: str = Field(default="RecalledMessages", description="The name of the memory block.")
    index: HebbianIndex = Field(exclude=True, description="Where messages are kept.")
    similarity_top_k: int = Field(default=3, description="At most so many exchanges come back.")
    min_score: float = Field(default=0.0, ge=0.0, le=1.0, description="With at least this score.")
    across_sessions: bool = Field(default=False, description="Those of other sessions too.")
    cite: bool = Field(default=False, description="Whether to put keys before exchanges.")

    @field_validator("index", mode="before")
    @classmethod
    def _is_an_index(cls, value: Any) -> Any:
        if not isinstance(value, HebbianIndex):
            raise ParameterError(
                f"index is a HebbianIndex, got {value!r:.80}; HebbianIndex.open(...) opens one"
            )
        return value

    @field_validator("similarity_top_k")
    @classmethod
    def _is_a_number_of_hits(cls, value: int) -> int:
        check_k(value, "similarity_top_k")
        return value

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        session_id: str | None = None,
        **block_kwargs: Any,
    ) -> str:
        """Recall what was said earlier about what is being said."""
        turns = [turn for turn in turns_of(messages or []) if turn.strip()]
        if not turns:
            return ""
        apart = session_id is not None and not self.across_sessions
        recall = await self.index.arecall(
            turns[-1],
            k=self.similarity_top_k,
            where={_SESSION: session_id} if apart else None,
            history=turns[:-1],
        )
        return self._told(recall)

    def _told(self, recall: Recall) -> str:
        hits = [
            hit
            for hit in recall.hits
            if hit.score > 0.0 and hit.score >= self.min_score and not hit.lacks_text
        ]
        if not hits:
            return ""
        announce(recall, self.index, [chunk_to_node(hit.chunk) for hit in hits])
        if not self.cite:
            return "\n\n".join(hit.chunk.text for hit in hits)
        sources = [Source(hit.chunk.id, hit.chunk.text) for hit in hits]
        rendered = Formatter(prefix="always").render(sources)
        keys = {id_: key for key, id_ in rendered.keys.items()}
        return "\n\n".join(f"[{keys[source.id]}]\n{source.text}" for source in rendered.sources)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Add messages; what tools said is not kept."""
        chunks = [_chunk(exchange) for exchange in _exchanges(messages)]
        if chunks:
            await self.index.aadd(list({chunk["id"]: chunk for chunk in chunks}.values()))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out the exchanges that fit least, about as many tokens as asked for."""
        told = content.split("\n\n")
        spared = 0
        while told and spared < tokens_to_truncate:
            spared += max(1, len(told.pop()) // 4)
        return "\n\n".join(told) or None

    async def aforget(self, session_id: str) -> int:
        """Delete what was said in a session; return how many exchanges that were."""
        return await self.index.adelete(await asyncio.to_thread(self._ids_of, session_id))

    def _ids_of(self, session_id: str) -> list[str]:
        return self.index.ids({_SESSION: session_id})


def _exchanges(messages: Sequence[ChatMessage]) -> list[list[ChatMessage]]:
    """Cut messages before each of the user's."""
    found: list[list[ChatMessage]] = []
    for message in messages:
        if message.role not in _SPOKEN or not (message.content or "").strip():
            continue
        if message.role == MessageRole.USER or not found:
            found.append([])
        found[-1].append(message)
    return found


def _chunk(exchange: Sequence[ChatMessage]) -> dict[str, Any]:
    text = "\n".join(f"{message.role.value}: {message.content}" for message in exchange)
    session = next(
        (
            str(message.additional_kwargs[_SESSION])
            for message in exchange
            if message.additional_kwargs.get(_SESSION) is not None
        ),
        "",
    )
    content = f"{session}\x1f{text}".encode("utf-8", "replace")
    return {
        "id": hashlib.sha256(content).hexdigest()[:32],
        "text": text,
        "metadata": {_SESSION: session},
    }
