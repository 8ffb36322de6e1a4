"""Retrieval metrics, one pure function each, of one ranking against its judgements.

Throughout, ``ranked`` is the retrieved chunk ids, best first; a repeated id counts at
its first place only. ``relevant`` maps a chunk id to its grade; ids with a positive
grade are relevant, all others are not. ``k`` is at least 1. Every value lies in [0, 1].
The mean over questions is left to the caller, who needs the single values to compare
two systems on the same questions (:mod:`hebbgraph.formulas.bootstrap`).
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Mapping, Sequence

import regex
from hebbgraph.errors import ParameterError

__all__ = [
    "all_relevant_at_k",
    "answer_in_context",
    "context_tokens",
    "hit_at_k",
    "ndcg_at_k",
    "normalize_answer",
    "precision_at_k",
    "recall_at_k",
    "reciprocal_rank",
]

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_TOKEN = regex.compile(
    rf"[{_UNSPACED}]"
    rf"|[[\p{{L}}\p{{M}}]--[{_UNSPACED}]]{{1,8}}"
    r"|\p{N}{1,3}"
    r"|[^\s\p{L}\p{M}\p{N}]",
    regex.VERSION1,
)
_ARTICLES = regex.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def recall_at_k(ranked: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """Share of the relevant chunks that are among the first ``k`` (R@k).

    Examples
    --------
    >>> recall_at_k(["a", "x", "b"], {"a": 1, "b": 1}, 2)
    0.5
    """
    gold = _gold(relevant)
    return len(gold.intersection(_first(ranked, k))) / len(gold)


def all_relevant_at_k(ranked: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """1 if every relevant chunk is among the first ``k``, else 0 (all-gold@k).

    What a question that needs two chunks asks for: one of them answers nothing.

    Examples
    --------
    >>> all_relevant_at_k(["a", "x", "b"], {"a": 1, "b": 1}, 2)
    0.0
    >>> all_relevant_at_k(["a", "x", "b"], {"a": 1, "b": 1}, 3)
    1.0
    """
    return float(_gold(relevant).issubset(_first(ranked, k)))


def hit_at_k(ranked: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """1 if any relevant chunk is among the first ``k``, else 0 (hit@k, success@k).

    Examples
    --------
    >>> hit_at_k(["x", "a"], {"a": 1, "b": 1}, 2)
    1.0
    """
    return float(not _gold(relevant).isdisjoint(_first(ranked, k)))


def precision_at_k(ranked: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """Share of relevant chunks in the first ``k``; missing ones count as not relevant (P@k).

    Examples
    --------
    >>> precision_at_k(["a", "x"], {"a": 1, "b": 1}, 4)
    0.25
    """
    return len(_gold(relevant).intersection(_first(ranked, k))) / k


def reciprocal_rank(ranked: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """One over the rank of the first relevant chunk, 0 if none is in the first ``k``.

    Its mean over questions is MRR [1]_.

    Examples
    --------
    >>> reciprocal_rank(["x", "a", "b"], {"a": 1, "b": 1}, 10)
    0.5

    References
    ----------
    .. [1] Voorhees (1999), The TREC-8 Question Answering Track Report.
    """
    gold = _gold(relevant)
    ranks = (rank for rank, chunk_id in enumerate(_first(ranked, k), 1) if chunk_id in gold)
    return 1 / next(ranks, math.inf)


def ndcg_at_k(ranked: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    r"""Discounted cumulative gain of the first ``k`` over that of the best order (nDCG@k).

    .. math:: \sum_{i=1}^{k} g_i / \log_2(i + 1)

    with the grade itself as gain, as in [1]_ and trec_eval (Burges' variant takes
    :math:`2^g - 1`).

    Examples
    --------
    >>> ndcg_at_k(["b", "a"], {"a": 2, "b": 1}, 10)  # (1/1 + 2/1.585) / (2/1 + 1/1.585)
    0.8597...

    References
    ----------
    .. [1] Järvelin and Kekäläinen (2002), Cumulated gain-based evaluation of IR techniques,
       ACM TOIS 20(4).
    """
    _gold(relevant)
    grades = sorted((grade for grade in relevant.values() if grade > 0), reverse=True)
    gains = (max(relevant.get(chunk_id, 0), 0) for chunk_id in _first(ranked, k))
    return _dcg(gains) / _dcg(grades[:k])


def normalize_answer(text: str) -> str:
    """Lower case, no punctuation, no articles, single spaces, as SQuAD's script does [1]_.

    Examples
    --------
    >>> normalize_answer("The  U.S. Navy!")
    'us navy'

    References
    ----------
    .. [1] Rajpurkar et al. (2016), SQuAD: 100,000+ Questions for Machine Comprehension of
       Text, EMNLP.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def answer_in_context(answers: Iterable[str], texts: Iterable[str]) -> float:
    """1 if one of the texts holds one of the answers as whole words, else 0.

    Both are normalised first; an answer of which nothing is left is not looked for.

    Examples
    --------
    >>> answer_in_context(["Ada Lovelace"], ["It was the poet's daughter, ada lovelace."])
    1.0
    >>> answer_in_context(["35"], ["In 1935."])
    0.0
    """
    wanted = [f" {words} " for answer in answers if (words := normalize_answer(answer))]
    if not wanted:
        return 0.0
    padded = (f" {normalize_answer(text)} " for text in texts)
    return float(any(words in text for text in padded for words in wanted))


def context_tokens(texts: Iterable[str]) -> int:
    """Count, without a tokenizer, the tokens that a model would read; an approximation.

    Pieces of at most eight letters, pieces of at most three digits, single characters of
    scripts that put no spaces between words, and single other signs. On English prose
    the count lies between 1 % below and 6 % above that of BERT's WordPiece.

    Examples
    --------
    >>> context_tokens(["Hebb wrote it in 1949."])  # Hebb wrote it in 194 9 .
    7
    """
    return sum(sum(1 for _ in _TOKEN.finditer(text)) for text in texts)


def _gold(relevant: Mapping[str, int]) -> set[str]:
    gold = {chunk_id for chunk_id, grade in relevant.items() if grade > 0}
    if not gold:
        raise ParameterError("a question needs at least one relevant chunk, got none")
    return gold


def _first(ranked: Sequence[str], k: int) -> list[str]:
    """Return the first ``k`` ids, a repeated one at its first place only."""
    if k < 1:
        raise ParameterError(f"k must be at least 1, got {k!r}")
    return list(dict.fromkeys(ranked))[:k]


def _dcg(gains: Iterable[int]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
