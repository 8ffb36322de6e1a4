"""Cues from a language model: the concepts that a recall should start from."""

from __future__ import annotations

from typing import Any

from hebbgraph.calling import call_with_timeout
from hebbgraph.formulas.parameters import check_positive, check_range
from hebbgraph.models import model_name, wrap_model
from hebbgraph.taggers.output import MAX_TAG_CHARACTERS, parse_concepts
from hebbgraph.taggers.prompt import cue_prompt

__all__ = ["LLMCues"]


class LLMCues:
    """Asks a language model for the concepts of a question. Optional.

    Pass it as ``HebbianIndex.open(..., cue_model=LLMCues(model))``. It is called once per recall,
    outside of any lock, and only known tags of its answer count. If the call fails or times out,
    the recall uses the cues that the question names, and says so in its notes.

    Parameters
    ----------
    model : object
        As for :class:`~hebbgraph.taggers.LLMTagger`.
    max_cues : int, at least 1
    timeout_seconds : float, positive

    Examples
    --------
    >>> LLMCues(lambda prompt: '{"concepts": ["Ida Moss"]}')("Who made the Petrel?")
    ['Ida Moss']
    """

    def __init__(self, model: Any, *, max_cues: int = 8, timeout_seconds: float = 20.0) -> None:
        self._ask = wrap_model(model)
        self.model_name = model_name(model)
        self.max_cues = max_cues
        self.timeout_seconds = timeout_seconds
        check_range(self, ("max_cues",), 1)
        check_positive(self, ("timeout_seconds",))

    def __call__(self, query: str, /) -> list[str]:
        """Return the concepts of a question.

        Raises
        ------
        Exception
            Anything the model raises; StalledError; GarbledAnswerError.
        """
        prompt = cue_prompt(query, count=self.max_cues)
        answer = call_with_timeout(self.timeout_seconds, lambda: self._ask(prompt))
        concepts = parse_concepts(answer.text)
        return [name for name in concepts if len(name) <= MAX_TAG_CHARACTERS][: self.max_cues]
