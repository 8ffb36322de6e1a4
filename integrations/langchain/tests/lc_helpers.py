"""A small library, a scripted chat model, and an index that writes down what it is taught."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hebbgraph import HebbianIndex, Recall
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

LIBRARY = [
    ("petrel", "Petrel", "The Petrel was built by Ida Moss in the yard at Dunmore."),
    ("moss", "Ida Moss", "Ida Moss was born in Tessel Bay, in the far north."),
    ("bay", "Tessel Bay", "Tessel Bay is known for its tall lighthouse of red stone."),
    ("dunmore", "Dunmore", "Dunmore is a harbour town with a yard for wooden ships."),
    ("lamp", "Lighthouse lamps", "A lighthouse lamp of the old kind burned whale oil."),
    ("heron", "Heron", "The Heron was built by Jon Ash, who never went to sea."),
    ("ash", "Jon Ash", "Jon Ash was born in Dunmore and taught Ida Moss to draw."),
    ("bread", "Bread", "Bread rises when yeast turns sugar into gas."),
]


def make_documents() -> list[Document]:
    return [
        Document(id=id_, page_content=text, metadata={"title": title, "n": number})
        for number, (id_, title, text) in enumerate(LIBRARY)
    ]


@dataclass
class Lesson:
    """One call of ``reinforce``."""

    recall: Recall
    cited: list[str]
    rejected: list[str]
    shown: list[str]
    actor: str | None
    trusted: bool = False
    kind: str = "cited"

    @property
    def id(self) -> str:
        return f"{self.recall.id}:{','.join(self.cited)}"


class RecordingIndex(HebbianIndex):
    """An index that learns, and writes down what it was told."""

    lessons: list[Lesson]

    def reinforce(  # type: ignore[override]
        self,
        recall: Recall | str,
        cited: Iterable[str],
        *,
        rejected: Iterable[str] | None = None,
        shown: Iterable[str] | None = None,
        actor: str | None = None,
        trusted: bool = False,
        kind: str = "cited",
    ) -> Lesson:
        assert isinstance(recall, Recall)
        ids = {hit.chunk.id for hit in recall.hits}
        lesson = Lesson(
            recall, list(cited), list(rejected or ()), list(shown or ()), actor, trusted, kind
        )
        assert ids >= {*lesson.cited, *lesson.rejected, *lesson.shown}
        assert set(lesson.cited) <= set(lesson.shown)
        super().reinforce(
            recall,
            cited,
            rejected=rejected,
            shown=shown,
            actor=actor,
            trusted=trusted,
            kind=kind,
        )
        self.lessons.append(lesson)
        return lesson

    def taught(self) -> list[tuple[str, list[str]]]:
        """(query, cited) of every lesson, in the order of queries."""
        return sorted((lesson.recall.query, lesson.cited) for lesson in self.lessons)


Reply = str | AIMessage | Exception
Script = Callable[[list[BaseMessage]], Reply]


class ScriptedChat(BaseChatModel):
    """A chat model that answers as a function of its prompt tells it to."""

    script: Any
    pause: float = 0.0
    seen: list[list[BaseMessage]] = field(default_factory=list)

    def _reply(self, messages: list[BaseMessage]) -> AIMessage:
        self.seen.append(messages)
        if self.pause:
            time.sleep(self.pause)
        reply = self.script(messages)
        if isinstance(reply, BaseException):
            raise reply
        return reply if isinstance(reply, AIMessage) else AIMessage(reply)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._reply(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        reply = self._reply(messages)
        if reply.tool_calls or not isinstance(reply.content, str):
            yield ChatGenerationChunk(message=AIMessageChunk(**reply.model_dump(exclude={"type"})))
            return
        for word in str(reply.text).split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(word + " "))

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self.bind(**{key: value for key, value in kwargs.items() if key != "tool_choice"})

    @property
    def _llm_type(self) -> str:
        return "scripted"


def prompt_of(messages: Sequence[BaseMessage]) -> str:
    return "\n\n".join(str(message.text) for message in messages)


def key_of(messages: Sequence[BaseMessage], text: str) -> str:
    """The key that stands before a text in a prompt, in brackets; '' if there is none."""
    prompt = prompt_of(messages)
    at = prompt.find(text)
    if at < 0:
        return ""
    header = prompt[:at].rstrip("\n").rsplit("\n", 1)[-1]
    return header[: header.index("]") + 1] if header.startswith("[") else ""


TEXT = {id_: text for id_, _, text in LIBRARY}


def citing(*ids: str, say: str = "It is so", texts: Mapping[str, str] | None = None) -> Script:
    """A script that cites, by the keys in its prompt, those of the chunks that are there."""

    def script(messages: list[BaseMessage]) -> str:
        keys = [key_of(messages, (texts or TEXT)[id_]) for id_ in ids]
        return say + "".join(f" {key}" for key in keys if key)

    return script
