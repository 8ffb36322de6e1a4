"""Judges of whether two terms belong together: a chat model, or a rule."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hebbgraph.errors import ParameterError
from hebbgraph.models import wrap_model

from hebbgraph_papers.bio_rag.network import EdgeJudge, TermNetwork

__all__ = ["ask_judge", "chance_judge"]

_LIFT = 3.0
_PROMPT = """Below are pairs of terms that occur together in some texts. For each pair decide
whether the two are related in meaning, so that somebody who looks for one may want to read
about the other. Answer with a JSON list of the numbers of the related pairs, nothing else.

{pairs}"""


def ask_judge(model: Any) -> EdgeJudge:
    """Return a judge that asks a chat model.

    Parameters
    ----------
    model : object
        A model of LangChain (``invoke``) or LlamaIndex (``complete``), or a function from
        prompt to answer.

    Raises
    ------
    ParameterError
        If it is none of these. The judge raises it if the answer is no list of numbers.

    Examples
    --------
    >>> ask_judge(lambda prompt: "[1]")([("helix", "strand"), ("helix", "first")])
    [True, False]
    """
    ask = wrap_model(model)

    def judge(pairs: Sequence[tuple[str, str]]) -> list[bool]:
        lines = [f"{at}. {first} – {second}" for at, (first, second) in enumerate(pairs, 1)]
        answer = ask(_PROMPT.format(pairs="\n".join(lines))).text
        start, end = answer.find("["), answer.rfind("]")
        try:
            related = {int(number) for number in json.loads(answer[start : end + 1])}
        except (ValueError, TypeError) as error:
            raise ParameterError(
                f"expected a JSON list of numbers from the model, got {answer[:80]!r}"
            ) from error
        return [at in related for at in range(1, len(pairs) + 1)]

    return judge


def chance_judge(network: TermNetwork, *, lift: float = _LIFT) -> EdgeJudge:
    """Return a judge for which terms belong together if they co-occur more than by chance.

    Parameters
    ----------
    network : TermNetwork
    lift : float
        Co-occurrences over those of independent terms, at least.
    """
    documents: dict[str, set[int]] = {}
    for document, terms in enumerate(network.holdings):
        for term in terms:
            documents.setdefault(term, set()).add(document)
    n = len(network.holdings)

    def judge(pairs: Sequence[tuple[str, str]]) -> list[bool]:
        sets = [(documents[first], documents[second]) for first, second in pairs]
        return [len(left & right) * n >= lift * len(left) * len(right) for left, right in sets]

    return judge
