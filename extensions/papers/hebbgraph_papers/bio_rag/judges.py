"""Who says which terms belong together: a chat model, or a rule in its place."""

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
    """Make a judge of a chat model.

    Parameters
    ----------
    model : object
        Of LangChain (``invoke``), of LlamaIndex (``complete``), or a function from the
        prompt to the answer.

    Raises
    ------
    ParameterError
        If it is none of these, or answers something else than a list of numbers.

    Examples
    --------
    >>> ask_judge(lambda prompt: "[1]")([("helix", "strand"), ("helix", "first")])
    [True, False]
    """
    ask = wrap_model(model)

    def judge(pairs: Sequence[tuple[str, str]]) -> list[bool]:
        lines = [f"{at}. {one} – {other}" for at, (one, other) in enumerate(pairs, 1)]
        answer = ask(_PROMPT.format(pairs="\n".join(lines))).text
        start, end = answer.find("["), answer.rfind("]")
        try:
            related = {int(number) for number in json.loads(answer[start : end + 1])}
        except (ValueError, TypeError) as error:
            raise ParameterError(
                f"the model was asked for a JSON list of numbers and said {answer[:80]!r}"
            ) from error
        return [at in related for at in range(1, len(pairs) + 1)]

    return judge


def chance_judge(network: TermNetwork, *, lift: float = _LIFT) -> EdgeJudge:
    """Stand in for a model: two terms belong together if they meet more than by chance.

    Parameters
    ----------
    network : TermNetwork
    lift : float
        In how many times as many documents as independent terms would.
    """
    places: dict[str, set[int]] = {}
    for at, held in enumerate(network.holdings):
        for term in held:
            places.setdefault(term, set()).add(at)
    n = len(network.holdings)

    def judge_pairs(some: Sequence[tuple[str, str]]) -> list[bool]:
        return [
            len(places[one] & places[other]) * n >= lift * len(places[one]) * len(places[other])
            for one, other in some
        ]

    return judge_pairs
