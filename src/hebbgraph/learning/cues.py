"""Cues: the words and names of a question, as numbers of 64 bits."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache

__all__ = ["cues_of", "hash_term", "question_number", "tag_cue"]

#: Weight of a name: its words are cues too.
_NAME = 0.3


@lru_cache(maxsize=65_536)
def hash_term(term: str) -> str:
    """Return 16 hex digits for a word: learning only asks whether words are the same."""
    return hashlib.blake2b(term.encode(), digest_size=8).hexdigest()


@lru_cache(maxsize=65_536)
def tag_cue(phrase: str) -> int:
    """Return the cue of a name."""
    digest = hashlib.blake2b(phrase.encode("utf-8", "surrogatepass"), digest_size=8, person=b"tag")
    return int(digest.hexdigest(), 16)


def question_number(words: Iterable[str]) -> int:
    """Return a number that questions share if they have the same words, in any order.

    It is 0 without words: questions of symbols alone are not the same.
    """
    if not (words := sorted(words)):
        return 0
    digest = hashlib.blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest())


def cues_of(
    terms: Iterable[tuple[str, float]], tags: Mapping[str, float]
) -> tuple[list[int], list[float]]:
    """Return the cues of a question, and the weight of each by the corpus.

    Parameters
    ----------
    terms : iterable of (str, float)
        Hashes of its words, and their weights.
    tags : mapping of str to float
        Phrases that it names, and their weights.

    Examples
    --------
    >>> cues_of([("00000000000000ff", 4.0)], {})
    ([255], [2.0])
    """
    cues = {int(term, 16): weight for term, weight in terms}
    cues |= {tag_cue(tag): _NAME**2 * weight for tag, weight in tags.items()}
    return list(cues), [math.sqrt(weight) for weight in cues.values()]
