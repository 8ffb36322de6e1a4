"""Metrics of one ranking: usebench's, and those of its text as context for a model.

The caller takes the mean over questions, since it needs single values to compare two systems on
the same questions (:mod:`hebbgraph.formulas.bootstrap`).
"""

from __future__ import annotations

import string
from collections.abc import Iterable

import regex
from usebench.metrics import (
    all_relevant_at_k,
    hit_at_k,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
)

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

    Both are normalised first; answers that become empty are ignored.

    Examples
    --------
    >>> answer_in_context(["Ada Lovelace"], ["It was the poet's daughter, ada lovelace."])
    1.0
    >>> answer_in_context(["35"], ["In 1935."])
    0.0
    """
    phrases = [f" {words} " for answer in answers if (words := normalize_answer(answer))]
    if not phrases:
        return 0.0
    padded = (f" {normalize_answer(text)} " for text in texts)
    return float(any(words in text for text in padded for words in phrases))


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
