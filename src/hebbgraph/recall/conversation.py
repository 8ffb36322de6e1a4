r"""Earlier turns of a conversation: how much each counts for a question.

A turn counts more the less the question says, and the more both are about the same thing. Let
``m`` be the question's known words in units of the rarest one: the sum of their
``log(1 + N / df)`` over ``log(1 + N)``. Then ``exp(-m)`` is what the question leaves unsaid.
Question and turn agree as far as one chunk answers both:

.. math:: a = \frac{\max_c (q_c + t_c) - \max(\max_c q_c, \max_c t_c)}
              {\min(\max_c q_c, \max_c t_c)}

where ``q`` and ``t`` are the BM25 of the question's and of the turn's words. A turn weighs
``.5 * .6**age * (u + (1 - u) * a**2)`` with ``u = exp(-m)``: if the question says enough, a turn
about something else weighs next to nothing.
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

#: The weight of the last turn, and the factor for each turn before it.
_WEIGHT, _DECAY = 0.5, 0.6
#: Older turns would weigh less than .07.
_TURNS = 4
#: Leave out turns that weigh less.
_LEAST = 0.05
#: Leave turns that weigh less out of :func:`in_full`.
_LEAST_IN_FULL = 0.2
#: At most this many terms of a turn are read.
TURN_TERMS = 64


def check_history(history: Iterable[str]) -> list[str]:
    """Return the turns that may count, oldest first; raise ParameterError if one is no str."""
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
    """Return the turns that count, of those that :func:`check_history` returned.

    The caller has locked the derived parts; ``language`` is that of the stemmer.
    """
    if turns_before and turns_before[-1] == query.strip():
        turns_before = turns_before[:-1]  # callers often pass the question with its history
    query_words = list(query_terms(query, language))
    unsaid = _unsaid(derived, query_words)
    best = _best(derived, Counter(query_words))
    turns = []
    for age, text in enumerate(reversed(turns_before)):
        turn_words = list(query_terms(text, language, limit=TURN_TERMS))
        agreement = _agreement(derived, query_words, best, turn_words)
        weight = _WEIGHT * _DECAY**age * (unsaid + (1.0 - unsaid) * agreement**2)
        if weight >= _LEAST:
            turns.append(Turn(text=text, weight=weight))
    return tuple(reversed(turns))


def in_full(query: str, turns: Sequence[Turn]) -> str:
    """Return the turns that the question relies on and the question, as one text."""
    return "\n".join([*(turn.text for turn in turns if turn.weight >= _LEAST_IN_FULL), query])


def _unsaid(derived: Derived, terms: Sequence[str]) -> float:
    n, df = max(derived.graph.n_chunks, 1), derived.lexical.document_frequency
    counts = (count for term in terms if (count := df(term)))
    return math.exp(-sum(math.log1p(n / count) for count in counts) / math.log1p(n))


def _agreement(
    derived: Derived, query_words: Sequence[str], query_best: float, turn_words: Sequence[str]
) -> float:
    turn_best = _best(derived, Counter(turn_words))
    if not (query_best and turn_best):
        return 0.0
    both = _best(derived, Counter(query_words) + Counter(turn_words))
    low, high = sorted((query_best, turn_best))
    return min(max(both - high, 0.0) / low, 1.0)


def _best(derived: Derived, weights: Counter[str]) -> float:
    _, scores = derived.lexical.search(weights, 1)
    return float(scores.max(initial=0.0))
