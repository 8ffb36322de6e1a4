"""What somebody says of chunks: cited, rejected, rated, and why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hebbgraph.errors import FeedbackError, ParameterError

__all__ = ["Judgements", "check_ratings", "chunk_ids", "said_of"]

_LONGEST_REASON = 200


class Judgements(NamedTuple):
    """Ids of chunks, how good they were, and why."""

    cited: list[str]
    rejected: list[str]
    ratings: dict[str, float]
    reasons: dict[str, str]

    def signed(self) -> tuple[list[str], list[str]]:
        """Return cited and rejected ids, with ratings and reasons: other ones are another word."""

        def one(id_: str) -> str:
            rating, reason = self.ratings.get(id_), self.reasons.get(id_)
            return id_ if rating is None and reason is None else f"{id_}\x1e{rating}\x1e{reason}"

        return [one(id_) for id_ in self.cited], [one(id_) for id_ in self.rejected]


def said_of(
    cited: Iterable[str],
    rejected: Iterable[str] | None,
    rating: Mapping[str, float] | float | None,
    reason: Mapping[str, str] | str | None,
) -> Judgements:
    """Check what somebody says of chunks, and bring it into one form.

    Raises
    ------
    FeedbackError, ParameterError

    Examples
    --------
    >>> said_of(["a"], None, {"b": 0.5, "c": -1.0, "d": 0.0}, {"c": "outdated"})[:3]
    (['a', 'b'], ['c'], {'b': 0.5, 'c': -1.0})
    >>> said_of(["a"], None, -0.5, None)[:3]
    ([], ['a'], {'a': -0.5})
    """
    good, bad = chunk_ids("cited", cited), chunk_ids("rejected", rejected or ())
    if both := sorted(set(good) & set(bad)):
        raise FeedbackError(f"chunk {both[0]!r} is both cited and rejected")
    if isinstance(rating, Mapping):
        ratings = dict(rating)
        check_ratings(ratings)
        if wrong := [id_ for id_ in good if ratings.get(id_, 1) <= 0]:
            raise FeedbackError(f"chunk {wrong[0]!r} is cited and rated {ratings[wrong[0]]:g}")
    elif rating is None:
        ratings = {}
    else:
        check_ratings({"all": rating})
        ratings = dict.fromkeys(good, rating) | dict.fromkeys(bad, -abs(rating))
        good = [id_ for id_ in good if rating > 0]
    if wrong := [id_ for id_ in bad if ratings.get(id_, -1) >= 0]:
        raise FeedbackError(f"chunk {wrong[0]!r} is rejected and rated {ratings[wrong[0]]:g}")
    ratings = {id_: float(one) for id_, one in ratings.items() if one}
    good = list(dict.fromkeys((*good, *(id_ for id_, one in ratings.items() if one > 0))))
    bad = list(dict.fromkeys((*bad, *(id_ for id_, one in ratings.items() if one < 0))))
    if not good and not bad:
        raise FeedbackError(
            "nothing was cited, nothing rejected and nothing rated other than 0, so there is "
            "nothing to learn"
        )
    return Judgements(good, bad, ratings, _reasons(reason, [*good, *bad]))


def check_ratings(ratings: Mapping[str, object], where: str = "") -> None:
    """Raise if a rating is no number in [-1, 1]."""
    for id_, rating in ratings.items():
        if not isinstance(id_, str):
            raise ParameterError(f"{where}rating takes chunk ids that are str, got {id_!r:.80}")
        number = isinstance(rating, int | float) and not isinstance(rating, bool)
        if not (number and math.isfinite(rating) and -1 <= rating <= 1):  # type: ignore[arg-type,operator]
            raise FeedbackError(f"{where}a rating lies in [-1, 1], got {rating!r:.80} of {id_!r}")


def _reasons(reason: Mapping[str, str] | str | None, ids: list[str]) -> dict[str, str]:
    if reason is None:
        return {}
    if not isinstance(reason, str | Mapping):
        raise ParameterError(
            f"reason is a str, or a str for each chunk id, got {type(reason).__name__}"
        )
    reasons = dict.fromkeys(ids, reason) if isinstance(reason, str) else dict(reason)
    for id_, why in reasons.items():
        if id_ not in ids:
            raise FeedbackError(f"a reason for {id_!r:.80}, which is not cited, rejected or rated")
        if not (isinstance(why, str) and why.strip() and why.isprintable()):
            raise ParameterError(f"a reason is a printable str, got {why!r:.80}")
        if len(why) > _LONGEST_REASON:
            raise ParameterError(
                f"a reason has at most {_LONGEST_REASON} characters, got {len(why)}"
            )
    return reasons


def chunk_ids(name: str, ids: Iterable[str]) -> list[str]:
    """Return ids, each once."""
    if isinstance(ids, str):
        raise ParameterError(f"{name} takes a sequence of chunk ids, got one str; put it in a list")
    if not isinstance(ids, Iterable):
        raise ParameterError(f"{name} takes a sequence of chunk ids, got {type(ids).__name__}")
    found = list(ids)
    for id_ in found:
        if not isinstance(id_, str):
            raise ParameterError(
                f"{name} takes ids of chunks, such as hit.chunk.id; got {type(id_).__name__}"
            )
    return list(dict.fromkeys(found))
