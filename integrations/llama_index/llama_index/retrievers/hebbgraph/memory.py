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
from llama_index.retrievers.hebbgraph.nodes import chunk_to_node
from llama_index.retrievers.hebbgraph.requests import announce, user_turns

__all__ = ["HebbianMemoryBlock"]

_REMEMBERED_ROLES = (MessageRole.USER, MessageRole.ASSISTANT)
_SESSION = "session_id"


class HebbianMemoryBlock(BaseMemoryBlock[str]):
    """Remembers messages that no longer fit into the prompt.

    Messages that leave the short-term memory are added to an index, a question and its answer as
    one chunk. Those that belong to the latest question come back. The block needs no embedding
    model, and learns: chunks that helped come back sooner.

    Parameters
    ----------
    index : HebbianIndex
        One namespace for each user.
    similarity_top_k : int
        Most earlier exchanges that come back.
    min_score : float, in [0, 1]
        Lowest score of an exchange. At .2, few unrelated exchanges come back. The default is 0,
        since scores in a memory of a few exchanges say little.
    across_sessions : bool
        Whether exchanges of other sessions come back too.
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
    index: HebbianIndex = Field(exclude=True, description="Stores the messages.")
    similarity_top_k: int = Field(default=3, description="Most exchanges that come back.")
    min_score: float = Field(default=0.0, ge=0.0, le=1.0, description="Lowest score of these.")
    across_sessions: bool = Field(default=False, description="Include other sessions.")
    cite: bool = Field(default=False, description="Put keys before exchanges.")

    @field_validator("index", mode="before")
    @classmethod
    def _is_index(cls, value: Any) -> Any:
        if not isinstance(value, HebbianIndex):
            raise ParameterError(
                f"index is a HebbianIndex, got {value!r:.80}; HebbianIndex.open(...) opens one"
            )
        return value

    @field_validator("similarity_top_k")
    @classmethod
    def _is_k(cls, value: int) -> int:
        check_k(value, "similarity_top_k")
        return value

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        session_id: str | None = None,
        **block_kwargs: Any,
    ) -> str:
        """Recall exchanges for the latest question."""
        turns = [turn for turn in user_turns(messages or []) if turn.strip()]
        if not turns:
            return ""
        is_limited = session_id is not None and not self.across_sessions
        recall = await self.index.arecall(
            turns[-1],
            k=self.similarity_top_k,
            where={_SESSION: session_id} if is_limited else None,
            history=turns[:-1],
        )
        return self._text(recall)

    def _text(self, recall: Recall) -> str:
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
        return Formatter(prefix="always").render(sources).text

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Add messages of the user and the assistant, not those of tools."""
        chunks = {chunk["id"]: chunk for chunk in map(_chunk, _exchanges(messages))}
        if chunks:
            await self.index.aadd(list(chunks.values()))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Remove the least relevant exchanges, about ``tokens_to_truncate`` tokens."""
        exchanges = content.split("\n\n")
        removed = 0
        while exchanges and removed < tokens_to_truncate:
            removed += max(1, len(exchanges.pop()) // 4)
        return "\n\n".join(exchanges) or None

    async def aforget(self, session_id: str) -> int:
        """Delete the exchanges of a session; return how many there were."""
        ids = await asyncio.to_thread(self.index.ids, {_SESSION: session_id})
        return await self.index.adelete(ids)


def _exchanges(messages: Sequence[ChatMessage]) -> list[list[ChatMessage]]:
    """Group messages: each message of the user starts an exchange."""
    exchanges: list[list[ChatMessage]] = []
    for message in messages:
        if message.role in _REMEMBERED_ROLES and (message.content or "").strip():
            if message.role == MessageRole.USER or not exchanges:
                exchanges.append([])
            exchanges[-1].append(message)
    return exchanges


def _chunk(exchange: Sequence[ChatMessage]) -> dict[str, Any]:
    text = "\n".join(f"{message.role.value}: {message.content}" for message in exchange)
    sessions = (message.additional_kwargs.get(_SESSION) for message in exchange)
    session = next((str(name) for name in sessions if name is not None), "")
    content = f"{session}\x1f{text}".encode("utf-8", "replace")
    return {
        "id": hashlib.sha256(content).hexdigest()[:32],
        "text": text,
        "metadata": {_SESSION: session},
    }
