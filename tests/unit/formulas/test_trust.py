"""How far memory is trusted: what its own exams say of it holds."""

import numpy as np
import pytest

from hebbgraph.formulas.trust import KINDS, Exams, Trust, fit_trust, ndcg


def exams(rng: np.random.Generator, *, helps: float, n: int = 64, width: int = 8) -> Exams:
    """Exams whose memory points to the cited chunk in a share of them, else to another one."""
    features = np.zeros((n, width, len(KINDS) + 2))
    features[..., 0] = np.sort(rng.random((n, width)))[:, ::-1]
    cited = np.zeros((n, width), np.bool_)
    cited[np.arange(n), rng.integers(0, 3, n)] = True
    pointed = np.where(rng.random(n) < helps, cited.argmax(1), rng.integers(0, width, n))
    features[np.arange(n), pointed, 1] = rng.random(n)
    features[..., -1] = np.where(features[..., 1] > 0, -1.0, 0.0)
    untaught = features.copy()
    untaught[cited, 1:] = 0.0
    return Exams(features, untaught, cited, np.ones_like(cited), np.ones(n))


def gained(held: Exams, features: np.ndarray, trust: Trust) -> float:
    after = features[..., 0] + features[..., 1:] @ np.r_[trust.gains, trust.handicap]
    values = [ndcg(scores, held.cited, held.present) for scores in (features[..., 0], after)]
    return float(np.mean(values[1] - values[0]))


@pytest.mark.parametrize("helps", [0.0, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(5))
def test_memory_loses_no_exam_whether_its_chunk_was_taught_or_not(seed: int, helps: float) -> None:
    held = exams(np.random.default_rng(seed), helps=helps)
    trust = fit_trust(held)
    assert gained(held, held.untaught, trust) >= -0.0021
    assert gained(held, held.features, trust) >= -0.0021


def test_memory_that_helps_is_trusted() -> None:
    held = exams(np.random.default_rng(0), helps=1.0)
    trust = fit_trust(held)
    assert trust.gains[0] > 0.5
    assert gained(held, held.features, trust) > 0.1


def choices(*, gained: int, lost: int, undecided: int = 0) -> Exams:
    """Exams of two candidates: memory puts the cited one first, or second, or says nothing."""
    n = gained + lost + undecided
    features = np.zeros((n, 2, len(KINDS) + 2))
    cited = np.zeros((n, 2), np.bool_)
    features[:, 0, 0], features[:, 1, 0] = 0.5, 0.4
    features[: gained + lost, 1, 1] = 1.0
    cited[:gained, 1] = True
    cited[gained:, 0] = True
    return Exams(features, features, cited, np.ones_like(cited), np.ones(n))


@pytest.mark.parametrize(
    ("held", "least", "most"),
    [
        (choices(gained=60, lost=4), 0.4, 1.0),
        (choices(gained=36, lost=28), 0.02, 0.2),
        (choices(gained=64, lost=60), 0.0, 0.0),
        (choices(gained=2, lost=1, undecided=10), 0.4, 1.0),
        (choices(gained=0, lost=0, undecided=64), 0.4, 1.0),
    ],
    ids=["it helps", "it may help", "it helps as often as not", "few exams", "it changes nothing"],
)
def test_memory_counts_as_far_as_exams_are_sure_that_it_helps(
    held: Exams, least: float, most: float
) -> None:
    assert least <= fit_trust(held).gains[0] <= most
