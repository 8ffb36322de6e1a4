"""Spreading activation in plain dictionaries, one edge at a time; slow and obvious.

The formula is that of :mod:`hebbgraph.formulas.activation`; nothing is shared with it but
the parameters.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from hebbgraph.formulas.spreading_step import SpreadingParameters

_TIES = 4


def naive_spread(
    rows: Sequence[Sequence[int]],
    titles: Sequence[set[int]],
    cues: Sequence[int],
    evidence: Mapping[int, float],
    elsewhere: float,
    p: SpreadingParameters,
    *,
    allowed: Callable[[int], bool] = lambda _: True,
    incidental: Collection[int] = (),
    cue_trust: Mapping[int, float] | None = None,
    held: float = 1.0,
) -> dict[int, float]:
    """Return the score of every candidate and of every chunk that was reached."""
    n = len(rows)
    holders: dict[int, list[int]] = defaultdict(list)
    for chunk, row in enumerate(rows):
        for tag in row:
            holders[tag].append(chunk)
    cut = min(max(p.hub_share * n, p.hub_floor), p.hub_cap)

    def df(tag: int) -> int:
        return len(holders.get(tag, ()))

    def passes(tag: int) -> bool:
        return 0 < df(tag) <= cut

    def specificity(tag: int) -> float:
        return math.log1p(n / df(tag)) ** 2

    def f(chunk: int) -> float:
        return evidence.get(chunk, elsewhere)

    known_cues = sorted({tag for tag in cues if passes(tag)})
    evidence = {chunk: value for chunk, value in evidence.items() if allowed(chunk)}
    cue_trust = cue_trust or {}
    credit: dict[int, float] = defaultdict(float)
    named_by = [0.0]

    def to_chunks(
        ahead: dict[int, list[float]],
        back: dict[int, list[float]],
        to_mentions: bool,
    ) -> tuple[dict[int, float], dict[int, float]]:
        """Pass (trusted, plain) mass on tags to chunks; the cues pass none to mentions."""
        named = max(named_by)
        counts = named + (1.0 - named) * p.unnamed_credit if to_mentions else 1.0
        trusted: dict[int, float] = defaultdict(float)
        plain: dict[int, float] = defaultdict(float)
        for tag in {*ahead, *back}:
            ahead_trusted, ahead_plain = ahead.get(tag, [0.0, 0.0])
            back_trusted, back_plain = back.get(tag, [0.0, 0.0])
            here = [c for c in holders.get(tag, ()) if allowed(c)]
            entitled = sum(f(c) for c in here if tag in titles[c])
            mentioning = sum(f(c) for c in here if tag not in titles[c])
            namesakes = sum(tag in titles[c] for c in here)
            for c in here:
                if tag in titles[c]:
                    trust = 1.0 if to_mentions else cue_trust.get(tag, 1.0)
                    if not to_mentions:
                        named_by.append(trust)
                    share = (
                        trust
                        * p.title_salience
                        * f(c)
                        / (p.title_salience * entitled + mentioning + p.leak)
                        / namesakes
                    )
                    trusted[c] += share * ahead_trusted
                    plain[c] += share * ahead_plain
                    credit[c] += counts * share * (ahead_trusted + ahead_plain)
                else:
                    share = f(c) / (mentioning + p.leak)
                    trusted[c] += share * back_trusted
                    plain[c] += share * back_plain
                    credit[c] += counts * share * (back_trusted + back_plain)
                    if to_mentions:
                        share = f(c) / (p.title_salience * entitled + mentioning + p.leak)
                        trusted[c] += share * ahead_trusted
                        credit[c] += counts * p.mention_credit * share * ahead_trusted
        return trusted, plain

    # Layer 0.
    share = p.cue_share if known_cues else 0.0
    total = sum(specificity(tag) for tag in known_cues)
    trusted, plain = to_chunks(
        {tag: [share * specificity(tag) / total, 0.0] for tag in known_cues}, {}, False
    )
    certainty = 1.0 - p.doubt * max(named_by) * (1.0 - held)
    best = sorted(evidence, key=lambda c: (-evidence[c], c))
    last = evidence[best[min(p.n_seeds, len(best)) - 1]] if best else 0.0
    seeds = [c for c in best if evidence[c] >= last][: p.n_seeds * _TIES]
    seeds = [c for c in seeds if evidence[best[0]] > 0]
    start = {c: (evidence[c] / evidence[best[0]]) ** p.sharpness for c in seeds}
    for c, weight in start.items():
        mass = (1.0 - share) * weight / sum(start.values())
        of_title = [cue_trust.get(tag, 1.0) for tag in titles[c] & set(known_cues)]
        trust = max(of_title, default=0.0)
        trusted[c] += trust * mass
        plain[c] += (1.0 - trust) * mass

    for _ in range(p.n_steps):
        mass = {c: trusted[c] + plain[c] for c in {*trusted, *plain}}
        ahead: dict[int, list[float]] = {}
        back: dict[int, list[float]] = {}
        for c in mass:
            weight = {
                tag: specificity(tag) * (p.inhibition if tag in known_cues else 1.0)
                for tag in rows[c]
                if passes(tag) and df(tag) > 1
            }
            order = sorted(weight, key=lambda tag: -weight[tag])  # stable: equals by place
            if len(order) > p.tags_per_chunk:
                limit = weight[order[p.tags_per_chunk - 1]]
                order = [t for t in order if weight[t] >= limit][: p.tags_per_chunk * _TIES]
            whole = sum(weight[tag] for tag in order) or 1.0
            for tag in order:
                if tag in incidental:
                    continue
                side = back if tag in titles[c] else ahead
                pair = side.setdefault(tag, [0.0, 0.0])
                pair[0] += trusted[c] * weight[tag] / whole
                pair[1] += plain[c] * weight[tag] / whole
        trusted, plain = to_chunks(ahead, back, True)

    scores = {}
    for c in {*evidence, *(c for c, amount in credit.items() if amount > 0)}:
        direct = certainty * f(c) ** p.evidence_power
        arrived = p.graph_weight * credit[c] / (credit[c] + p.half_saturation)
        scores[c] = 1.0 - (1.0 - direct) * (1.0 - arrived)
    return scores
