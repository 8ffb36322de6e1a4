"""Language models of any framework as functions from prompt to answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic_core import to_json

from hebbgraph.errors import ParameterError

__all__ = ["Answer", "Ask", "model_name", "wrap_model"]

_NAMES = ("model_name", "model", "model_id", "deployment_name")


class Answer(NamedTuple):
    """The text of an answer, and its token counts; 0 if the model reports none."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0


Ask = Callable[[str], Answer]


def wrap_model(model: Any) -> Ask:
    """Wrap a model in a function from prompt to answer.

    Parameters
    ----------
    model : object
        An object with ``invoke`` (LangChain: chat models, LLMs, runnables) or ``complete``
        (LlamaIndex: any LLM), or a callable from str to str.

    Raises
    ------
    ParameterError
        If it is none of these.

    Examples
    --------
    >>> wrap_model(str.upper)("tags, please").text
    'TAGS, PLEASE'
    """
    if callable(invoke := getattr(model, "invoke", None)):
        return lambda prompt: _from_langchain(invoke(prompt))
    if callable(complete := getattr(model, "complete", None)):
        return lambda prompt: _from_llama_index(complete(prompt))
    if callable(model):
        return lambda prompt: Answer(_text(model(prompt)))
    raise ParameterError(
        "model must be a LangChain chat model (invoke), a LlamaIndex LLM (complete) or a "
        f"callable from str to str, got {type(model).__name__}"
    )


def model_name(model: Any) -> str:
    """Return the name under which a model's answers are stored.

    It is the model's name if an attribute, or LlamaIndex's ``metadata``, has it, otherwise
    the name of the function or class.

    Examples
    --------
    >>> class Chat:
    ...     model_name = "small-1"
    >>> model_name(Chat()), model_name(len)
    ('small-1', 'builtins.len')
    """
    for owner in (model, getattr(model, "metadata", None)):
        for attribute in _NAMES:
            value = getattr(owner, attribute, None)
            if isinstance(value, str) and value:
                return value
    named = model if hasattr(model, "__qualname__") else type(model)
    return f"{named.__module__}.{named.__qualname__}"


def _from_langchain(message: Any) -> Answer:
    usage = _mapping(getattr(message, "usage_metadata", None))
    return Answer(
        _text(getattr(message, "content", message)),
        _count(usage, "input_tokens"),
        _count(usage, "output_tokens"),
    )


def _from_llama_index(response: Any) -> Answer:
    usage = _mapping(getattr(response, "additional_kwargs", None))
    if not _count(usage, "prompt_tokens"):
        raw = getattr(response, "raw", None)
        usage = _mapping(
            raw.get("usage") if isinstance(raw, Mapping) else getattr(raw, "usage", None)
        )
    return Answer(
        _text(getattr(response, "text", response)),
        _count(usage, "prompt_tokens", "input_tokens"),
        _count(usage, "completion_tokens", "output_tokens"),
    )


def _text(content: Any) -> str:
    """Return the text of a message, its text blocks joined, or a structured answer as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping | BaseModel):
        return to_json(content).decode()
    if isinstance(content, list):
        blocks = (
            block.get("text", "") if isinstance(block, Mapping) else block for block in content
        )
        return "".join(block for block in blocks if isinstance(block, str))
    raise TypeError(f"the model answered with {type(content).__name__}, not with text")


def _mapping(usage: Any) -> Mapping[str, Any]:
    if isinstance(usage, Mapping):
        return usage
    return vars(usage) if hasattr(usage, "__dict__") else {}


def _count(usage: Mapping[str, Any], *names: str) -> int:
    return next((usage[name] for name in names if isinstance(usage.get(name), int)), 0)
