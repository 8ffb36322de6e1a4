"""How far lessons are trusted, fitted to exams made by hand."""

import numpy as np

from hebbgraph.formulas.fitting import (
    KINDS,
    Exams,
    Trust,
    fit_shares,
    fit_trust,
    score_under,
    scores_of,
)

_N = 40


def _exams(scores=(0.5, 0.4), **likeness):
    """Return equal exams: the second of two chunks is cited; (wrong, right) by kind."""
    features = np.zeros((_N, 2, len(KINDS) + 2))
    features[:, :, 0] = scores
    for kind, values in likeness.items():
        features[:, :, 1 + KINDS.index(kind)] = values
    features[:, 1, -1] = -1.0  # others have taught the cited chunk
    untaught = features.copy()
    untaught[:, 1, 1:] = 0.0
    cited = np.tile([False, True], (_N, 1))
    return Exams(features, untaught, cited, np.ones_like(cited))


def test_what_exams_do_not_tell_stays_as_it_was():
    trust = fit_trust(_exams(words=(0.0, 1.0)))
    assert (trust.gain, trust.path, trust.exams) == (1.0, Trust().path, _N)


def test_kind_of_likeness_that_misleads_is_turned_off():
    trust = fit_trust(_exams(words=(0.0, 0.4), path=(1.0, 0.0)))
    assert trust.gain >= 1.0
    assert trust.path == 0.0


def test_lessons_that_only_mislead_are_turned_off():
    assert fit_trust(_exams((0.4, 0.5), words=(1.0, 0.0))).gain == 0.0


def test_few_exams_change_nothing():
    exams = Exams(*(part[:5] for part in _exams(words=(1.0, 0.0))))
    assert fit_trust(exams) == Trust(exams=5)


def test_share_starts_where_it_is_expected_and_citations_move_it():
    found = np.array(50 * [[[1.0, 0.2, 0.0], [0.2, 1.0, 0.0]]])
    cited, present = np.tile([False, True], (50, 1)), np.ones((50, 2), bool)
    assert fit_shares(found[:5], cited[:5], present[:5], 0.25) == (0.25, 1.0)
    assert 0.25 < fit_shares(found, cited, present, 0.25)[0] < fit_shares(found, cited, present)[0]


def test_shares_under_which_more_citations_rank_lower_are_not_taken():
    """Fifteen hopeless exams grow likelier with each step; the others are right up to .6."""
    right, hopeless = [[0.97, 0.52, 0.0], [1.0, 0.5, 0.0]], [[1.0, 0.5, 0.0], [0.0, 0.49, 0.0]]
    cited, present = np.tile([False, True], (50, 1)), np.ones((50, 2), bool)
    for share, is_right in ((0.55, True), (0.65, False)):
        assert (np.diff(score_under(np.array(right), share, 1.0)) > 0) == is_right
    assert fit_shares(np.array(35 * [right] + 15 * [hopeless]), cited, present)[0] <= 0.6
    assert fit_shares(np.array(50 * [hopeless]), cited, present)[0] > 0.7


def test_what_nothing_found_is_not_among_the_first():
    plain, taught = scores_of(_exams(scores=(0.0, 0.0), words=(0.0, 0.4)), Trust())
    assert (plain.max(), taught.min()) == (0.0, 1.0)
