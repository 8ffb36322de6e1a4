"""Judgements: which chunks somebody cites, rejects, rates or calls outdated, and why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hebbgraph.errors import FeedbackError, ParameterError
from hebbgraph.records.feedback import judgement_text

__all__ = ["Judgements", "check_ratings", "chunk_ids", "judgements_of"]

_LONGEST_REASON = 200


class Judgements(NamedTuple):
    """Ids of chunks, how good they are, why, and what holds now in place of rejected ones."""

    cited: list[str]
    rejected: list[str]
    ratings: dict[str, float]
    reasons: dict[str, str]
    outdated: dict[str, str]

    def signed(self) -> tuple[list[str], list[str]]:
        """Return cited and rejected ids with all that is said of each, for a digest."""

        def sign(id_: str) -> str:
            rating, reason = self.ratings.get(id_), self.reasons.get(id_)
            return judgement_text(id_, rating, reason, self.outdated.get(id_))

        return [sign(id_) for id_ in self.cited], [sign(id_) for id_ in self.rejected]


def judgements_of(
    cited: Iterable[str],
    rejected: Iterable[str] | None,
    rating: Mapping[str, float] | float | None,
    reason: Mapping[str, str] | str | None,
    outdated: Mapping[str, str] | None = None,
) -> Judgements:
    """Check the arguments of ``reinforce``, and bring them into one form.

    An outdated chunk is rejected, and the one that holds in its place is cited. A chunk rated
    above 0 is cited, one rated below is rejected.

    Raises
    ------
    FeedbackError, ParameterError

    Examples
    --------
    >>> judgements_of(["a"], None, {"b": 0.5, "c": -1.0, "d": 0.0}, {"c": "outdated"})[:3]
    (['a', 'b'], ['c'], {'b': 0.5, 'c': -1.0})
    >>> judgements_of(["a"], None, -0.5, None)[:3]
    ([], ['a'], {'a': -0.5})
    >>> judgements_of([], None, None, None, {"old": "new"})[:2]
    (['new'], ['old'])
    """
    replaced = _outdated(outdated)
    good = chunk_ids("cited", (*chunk_ids("cited", cited), *replaced.values()))
    bad = chunk_ids("rejected", (*chunk_ids("rejected", rejected or ()), *replaced))
    if both := sorted(set(good) & set(bad)):
        raise FeedbackError(
            f"chunk {both[0]!r} is both cited and rejected; what is outdated counts as rejected, "
            "and what holds now as cited"
        )
    if rating is None or isinstance(rating, Mapping):
        ratings = dict(rating or {})
        check_ratings(ratings)
        for id_ in good:
            if ratings.get(id_, 1) <= 0:
                raise FeedbackError(f"chunk {id_!r} is cited and rated {ratings[id_]:g}")
    else:
        _check_rating(rating)
        if not good and not bad:
            raise FeedbackError(
                f"rating={rating!r} is for chunks that are cited or rejected: name some by "
                "cited=[...], or rate each by its id: rating={id: number}"
            )
        ratings = dict.fromkeys(good, rating) | dict.fromkeys(bad, -abs(rating))
        good = good if rating > 0 else []
    for id_ in bad:
        if ratings.get(id_, -1) >= 0:
            raise FeedbackError(f"chunk {id_!r} is rejected and rated {ratings[id_]:g}")
    ratings = {id_: float(value) for id_, value in ratings.items() if value}
    good = list(dict.fromkeys((*good, *(id_ for id_, value in ratings.items() if value > 0))))
    bad = list(dict.fromkeys((*bad, *(id_ for id_, value in ratings.items() if value < 0))))
    if not good and not bad:
        raise FeedbackError(
            "nothing was cited, nothing rejected and nothing rated other than 0, so there is "
            "nothing to learn"
        )
    for new in replaced.values():
        if new not in good:
            raise FeedbackError(f"chunk {new!r} is said to hold now, and is not rated above 0")
    reasons = dict.fromkeys(replaced, "outdated") | _reasons(reason, [*good, *bad])
    return Judgements(good, bad, ratings, reasons, replaced)


def _outdated(outdated: Mapping[str, str] | None) -> dict[str, str]:
    if outdated is None:
        return {}
    if not isinstance(outdated, Mapping):
        raise ParameterError(
            "outdated says which chunk holds now, for each one that no longer does, such as "
            f'{{"old": "new"}}; got {type(outdated).__name__}'
        )
    if not outdated:
        raise ParameterError("outdated names no chunk; leave it out")
    chunk_ids("outdated", [*outdated, *outdated.values()])
    for old, new in outdated.items():
        if old == new:
            raise FeedbackError(
                f"outdated says that {old!r} holds now in place of itself; name the chunk that does"
            )
    return dict(outdated)


def check_ratings(ratings: Mapping[str, object], where: str = "") -> None:
    """Raise if a rating is no number in [-1, 1]."""
    for id_, rating in ratings.items():
        if not isinstance(id_, str):
            raise ParameterError(f"{where}rating takes chunk ids that are str, got {id_!r:.80}")
        _check_rating(rating, where, f" of chunk {id_!r:.80}")


def _check_rating(rating: object, where: str = "", whose: str = "") -> None:
    is_number = isinstance(rating, int | float) and not isinstance(rating, bool)
    if not (is_number and math.isfinite(rating) and -1 <= rating <= 1):  # type: ignore[arg-type,operator]
        raise FeedbackError(
            f"{where}a rating lies in [-1, 1], from wrong to right; got {rating!r:.80}{whose}"
        )


def _reasons(reason: Mapping[str, str] | str | None, ids: list[str]) -> dict[str, str]:
    if reason is None:
        return {}
    if not isinstance(reason, str | Mapping):
        raise ParameterError(
            f"reason is a str, or a str for each chunk id, got {type(reason).__name__}"
        )
    reasons = dict.fromkeys(ids, reason) if isinstance(reason, str) else dict(reason)
    for id_, text in reasons.items():
        if id_ not in ids:
            raise FeedbackError(f"a reason for {id_!r:.80}, which is not cited, rejected or rated")
        if not (isinstance(text, str) and text.strip() and text.isprintable()):
            raise ParameterError(f"a reason is a printable str, got {text!r:.80}")
        if len(text) > _LONGEST_REASON:
            raise ParameterError(
                f"a reason has at most {_LONGEST_REASON} characters, got {len(text)}"
            )
    return reasons


def chunk_ids(name: str, ids: Iterable[str]) -> list[str]:
    """Return ids, each once; ``name`` is the argument's, for messages."""
    if isinstance(ids, str):
        raise ParameterError(f"{name} takes a sequence of chunk ids, got one str; put it in a list")
    if not isinstance(ids, Iterable):
        raise ParameterError(f"{name} takes a sequence of chunk ids, got {type(ids).__name__}")
    ids = list(ids)
    for id_ in ids:
        if not isinstance(id_, str):
            raise ParameterError(
                f"{name} takes ids of chunks, such as hit.chunk.id; got {type(id_).__name__}"
            )
    return list(dict.fromkeys(ids))
