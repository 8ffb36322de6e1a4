r"""Earlier turns of a conversation: how much each of them counts for a question.

A turn counts for what the question leaves unsaid, and as far as both are about one thing. With
``m`` the question's known words in units of the rarest one (the sum of their ``log(1 + N / df)``
over ``log(1 + N)``), ``exp(-m)`` is what it leaves unsaid. Question and turn agree as far as a
chunk answers both:

.. math:: a = \frac{\max_c (q_c + t_c) - \max(\max_c q_c, \max_c t_c)}
              {\min(\max_c q_c, \max_c t_c)}

where ``q`` and ``t`` are the BM25 of the question's and of the turn's words. A turn weighs
``.5 * .6**age * (u + (1 - u) * a**2)`` for ``u = exp(-m)``: beside a question that says enough,
a turn about something else weighs next to nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from hebbgraph.derived.parts import Derived
from hebbgraph.errors import ParameterError
from hebbgraph.limits import MAX_TURN
from hebbgraph.records import Turn
from hebbgraph.text.query import query_terms, usable_question

__all__ = ["TURN_TERMS", "check_history", "in_full", "weigh_turns"]

#: Of the last turn, and of each one before in comparison with the next.
_WEIGHT, _DECAY = 0.5, 0.6
#: Older turns would weigh less than .07.
_TURNS = 4
#: A turn that weighs less is left out.
_LEAST = 0.05
#: A turn that weighs less is not put before the question for those who take it as one text.
_LEAST_IN_FULL = 0.2
#: Terms that a turn has at most.
TURN_TERMS = 64


def check_history(history: Iterable[str]) -> list[str]:
    """Return the turns that may count, oldest first; raise ParameterError for what is no turn."""
    if isinstance(history, str) or not isinstance(history, Iterable):
        raise ParameterError(
            f"history is a sequence of str, oldest first, got {type(history).__name__}"
        )
    usable = []
    for number, turn in enumerate(history, 1):
        if not isinstance(turn, str):
            raise ParameterError(f"turn {number} of history must be a str, got {turn!r:.80}")
        if text := usable_question(turn[:MAX_TURN])[0].strip():
            usable.append(text)
            del usable[:-_TURNS]
    return usable


def weigh_turns(
    derived: Derived, query: str, turns_before: Sequence[str], language: str
) -> tuple[Turn, ...]:
    """Return the turns that count, of those that :func:`check_history` let pass.

    The caller holds the derived parts; the language is that of the stemmer.
    """
    if (
        turns_before and turns_before[-1] == query.strip()
    ):  # callers often pass the question with its history
        turns_before = turns_before[:-1]
    asked = list(query_terms(query, language))
    unsaid = _unsaid(derived, asked)
    best = _best(derived, Counter(asked))
    turns = []
    for age, text in enumerate(reversed(turns_before)):
        terms = list(query_terms(text, language, limit=TURN_TERMS))
        agreement = _agreement(derived, asked, best, terms)
        weight = _WEIGHT * _DECAY**age * (unsaid + (1.0 - unsaid) * agreement**2)
        if weight >= _LEAST:
            turns.append(Turn(text=text, weight=weight))
    return tuple(reversed(turns))


def in_full(query: str, turns: Sequence[Turn]) -> str:
    """Return the question with what it relies on before it, for those who take one text."""
    return "\n".join([*(turn.text for turn in turns if turn.weight >= _LEAST_IN_FULL), query])


def _unsaid(derived: Derived, terms: Sequence[str]) -> float:
    n, df = max(derived.graph.n_chunks, 1), derived.lexical.document_frequency
    known = (count for term in terms if (count := df(term)))
    return math.exp(-sum(math.log1p(n / count) for count in known) / math.log1p(n))


def _agreement(derived: Derived, asked: Sequence[str], best: float, terms: Sequence[str]) -> float:
    alone = _best(derived, Counter(terms))
    if not (best and alone):
        return 0.0
    both = _best(derived, Counter(asked) + Counter(terms))
    return min(max(both - max(best, alone), 0.0) / min(best, alone), 1.0)


def _best(derived: Derived, weights: Counter[str]) -> float:
    _, scores = derived.lexical.search(weights, 1)
    return float(scores.max(initial=0.0))
