from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hebbgraph import Chunk, ParameterError
from hebbgraph.models import model_name, wrap_model
from hebbgraph.taggers import LLMCues, LLMTagger

ANSWER = '{"passages": [{"number": 1, "tags": ["Ida Moss"]}]}'
CHUNK = Chunk(text="Built by Ida Moss.")


def test_a_langchain_chat_model() -> None:
    models = pytest.importorskip("langchain_core.language_models.fake_chat_models")
    messages = pytest.importorskip("langchain_core.messages")
    usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    message = messages.AIMessage(content=[{"type": "text", "text": ANSWER}], usage_metadata=usage)
    tagger = LLMTagger(models.GenericFakeChatModel(messages=iter([message])))
    tags, report = tagger.tag_chunks([CHUNK])
    assert tags == [("ida moss",)]
    assert (report.input_tokens, report.output_tokens, report.calls) == (7, 3, 1)


def test_a_langchain_llm() -> None:
    models = pytest.importorskip("langchain_core.language_models")
    assert LLMTagger(models.FakeListLLM(responses=[ANSWER]))(CHUNK) == ("ida moss",)


def test_a_llama_index_llm() -> None:
    llms = pytest.importorskip("llama_index.core.llms")

    class Scripted(llms.CustomLLM):  # type: ignore[misc, name-defined]
        @property
        def metadata(self) -> Any:
            return llms.LLMMetadata(model_name="scripted-1")

        def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            usage = SimpleNamespace(prompt_tokens=11, completion_tokens=5)
            return llms.CompletionResponse(text=ANSWER, raw=SimpleNamespace(usage=usage))

        def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            raise NotImplementedError

    tagger = LLMTagger(Scripted())
    tags, report = tagger.tag_chunks([CHUNK])
    assert tags == [("ida moss",)]
    assert (report.input_tokens, report.output_tokens) == (11, 5)
    assert tagger.model_name == "scripted-1"


def test_a_callable_and_what_is_none() -> None:
    assert wrap_model(lambda prompt: prompt[::-1])("abc").text == "cba"
    assert model_name(LLMTagger(len)) == "builtins.len"
    with pytest.raises(ParameterError, match="LangChain chat model"):
        LLMTagger("gpt")
    with pytest.raises(TypeError, match="int, not with text"):
        wrap_model(len)("abc")


def test_what_changes_the_answer_changes_the_name() -> None:
    names = {
        LLMTagger(len, **options).name  # type: ignore[arg-type]
        for options in (
            {},
            {"tags_per_chunk": 3},
            {"domain": "law"},
            {"vocabulary": ["clause"]},
            {"from_text": False},
            {"name": "other"},
        )
    }
    assert len(names) == 6
    assert LLMTagger(len).name == LLMTagger(len, concurrency=9, retries=0).name


@pytest.mark.parametrize(
    "options",
    [
        {"tags_per_chunk": 0},
        {"chunks_per_call": 0},
        {"concurrency": 0},
        {"retries": -1},
        {"timeout_seconds": 0.0},
        {"requests_per_minute": 0.0},
        {"vocabulary": ["?"]},
        {"vocabulary": [f"word{i}" for i in range(2001)]},
    ],
)
def test_parameters_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        LLMTagger(len, **options)


def test_cues_are_data() -> None:
    cues = LLMCues(lambda prompt: '{"concepts": ["Ida Moss", 5, "' + "x" * 500 + '"]}', max_cues=1)
    assert cues("Who?") == ["Ida Moss"]
    with pytest.raises(ValueError, match="no JSON"):
        LLMCues(lambda prompt: "I cannot")("Who?")
