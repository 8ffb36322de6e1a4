"""Texts and a scripted model, so that the examples run without a network."""

from __future__ import annotations

import re
from typing import Any

from llama_index.core import Document
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_completion_callback

TEXTS = {
    "Petrel": "The Petrel is a lugger that Ida Moss built in the winter of 1889.",
    "Ida Moss": "Ida Moss was born in Tessel Bay, above her father's net loft.",
    "Tessel Bay": "Tessel Bay has a chapel whose organ was made by Casimir Dove.",
    "Casimir Dove": "Casimir Dove learned his trade from the clockmaker Anton Reve.",
    "Anton Reve": "Anton Reve kept bees on the roof of his workshop in Harrow Quay.",
    "Harrow Quay": "Harrow Quay ships salt, and its market is held on Thursdays.",
    "Kestrel Viaduct": "The Kestrel Viaduct is clad in porphyry from Ostrand.",
    "Ostrand": "Ostrand is a quarry town where blue porphyry has been cut since 1702.",
    "Tidewater glaze": "Tidewater glaze turns green if the kiln cools for three days.",
    "Skerrow Light": "Skerrow Light shows two white flashes every eighteen seconds.",
    "Brannoch Teale": "Brannoch Teale plays the viola and maps deep sea trenches.",
    "Grey linnet": "The grey linnet nests in gorse and leaves the coast in October.",
}

#: Words of a question, and words of the source that answers it.
KNOWN = {
    "wrong colour": "the kiln cools",
    "builder of the Petrel": "Ida Moss was born",
    "church music": "organ was made",
    "keep insects": "kept bees",
}


def documents() -> list[Document]:
    """Return documents with lasting ids, so that what is learned about them lasts too."""
    return [
        Document(id_=f"{title}.md", text=f"# {title}\n\n{text}") for title, text in TEXTS.items()
    ]


def answer(prompt: str) -> str:
    """Find the source with the answer and cite its key, as a model would."""
    sources = dict(re.findall(r"^\[(\w+)\][^\n]*\n([^\n]+)", prompt, re.MULTILINE))
    question = max(KNOWN, key=prompt.rfind)
    for key, text in sources.items():
        if question in prompt and KNOWN[question] in text:
            return f"{text} [{key}]"
    return "I do not know."


def agent_step(prompt: str) -> str:
    """Search once, then answer, as a ReAct model would."""
    conversation = prompt.split("## Current Conversation")[-1]
    if "Observation:" in conversation:
        return f"Thought: I can answer.\nAnswer: {answer(conversation)}"
    question = max(KNOWN, key=conversation.rfind)
    return f'Thought: I need sources.\nAction: search\nAction Input: {{"input": "{question}"}}'


class ScriptedLLM(CustomLLM):
    """Answers from the sources in its prompt by a rule."""

    agent: bool = False

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=16_000, num_output=256)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=agent_step(prompt) if self.agent else answer(prompt))

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        text = self.complete(prompt).text
        yield CompletionResponse(text=text, delta=text)


class WordEmbedding(BaseEmbedding):
    """Gives texts with the same words similar vectors."""

    model_name: str = "words-128"

    def _get_text_embedding(self, text: str) -> list[float]:
        vector = [0.0] * 128
        for word in re.findall(r"\w{3,}", text.lower()):
            vector[sum(n * ord(char) for n, char in enumerate(word, 1)) % 128] += 1.0
        return vector

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)
