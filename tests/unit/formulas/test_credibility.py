"""How far actors are believed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.formulas.claims import Votes, contradicted, settle
from hebbgraph.formulas.credibility import allowances, beliefs, judge, records


def test_a_new_name_is_judged_by_the_other_new_names():
    def newcomer(n: int) -> float:
        """Return how far a name is believed that comes after so many who lied once."""
        record, events = (np.array([0.0, *(n * [one]), 0.0]) for one in (-1.0, 1.0))
        return float(beliefs(record, events)[-1])

    assert newcomer(20) < 0.01 < 0.8 < newcomer(0)
    # Of one or two that err little follows: by hand, 16 · 2 · .79 / (2 · .79 + 8) is 2.6.
    assert newcomer(2) == pytest.approx(1 / (1 + np.exp(-3 + 2.64)), abs=0.005)


def test_whoever_is_known_is_judged_by_his_own_record():
    record = np.array([0.0, 5.0, *(40 * [-1.5])])
    events = np.array([0.0, 300.0, *(40 * [1.0])])
    found = beliefs(record, events)
    assert found[1] > 0.99
    assert (found[2:] < 0.02).all()


def test_flooding_does_not_raise_the_allowance_of_the_flooder():
    few, many = (
        allowances(np.array([100.0, n]), np.zeros(2), at_least=20, share=0.1)[1] * n
        for n in (5000.0, 500_000.0)
    )
    assert few == pytest.approx(many, rel=0.01) == pytest.approx(20, rel=0.01)


def test_rotating_names_have_one_allowance():
    one, many = (
        allowances(np.array([0.0] + n * [200 / n]), np.zeros(n + 1), at_least=20, share=0.1)
        for n in (1, 200)
    )
    # A fifth of a first lesson is its own; the rest is what 200 lessons of one would be.
    assert many[1:].sum() < 0.25 * 200 + one[1] * 200


def test_lessons_that_agree_earn_room():
    assert allowances(np.array([0.0, 500]), np.array([0.0, 250]), at_least=20, share=0.1)[1] == 1


def votes(said, *, agrees=0.0, openness=1.0):
    """Return lessons of (actor, need, what they cite, what they reject)."""
    rows = [
        (need, chunk, lesson, cites)
        for lesson, (_, need, cited, rejected) in enumerate(said)
        for chunks, cites in ((cited, True), (rejected, False))
        for chunk in chunks
    ]
    need, chunk, lesson, cites = (np.array(column) for column in zip(*rows, strict=True))
    n = len(said)
    actor, opened = np.array([one[0] for one in said]), np.full(n, openness)
    return Votes(need, chunk, lesson, cites, actor, np.full(n, agrees), opened)


def worth(said, **options):
    n_actors = 1 + max(one[0] for one in said)
    found = judge(votes(said, **options), n_actors, at_least=20, share=0.1)
    return found.shares


#: Two honest people agree on eight needs.
HONEST = [(actor, need, [need], []) for need in range(8) for actor in (1, 2)]


def test_where_people_disagree_the_side_that_others_agree_with_elsewhere_counts():
    fans = [(actor, 9, [99], []) for actor in (3, 4)]
    honest = [(actor, 9, [9], [99]) for actor in (1, 2)]
    found = worth(HONEST + fans + honest)
    assert found[:16] == pytest.approx(1.0)  # nobody disputes these
    assert found[-4:-2] == pytest.approx(0.0, abs=0.1)
    assert found[-2:] == pytest.approx(1.0, abs=0.1)


def test_a_record_holds_what_search_is_sure_of_and_is_not_bought_back_by_what_is_easy():
    lies, easy = [-1.4] * 5, [0.5] * 20
    # By hand: .3 comes back with each denial, but never before the first one.
    assert records(np.ones(5, int), np.array(lies), np.zeros(2))[1] == pytest.approx(-1.4 - 4 * 1.1)
    for said in (lies + easy, easy + lies, [x for lie in lies for x in (lie, *easy[:4])]):
        assert records(np.ones(len(said), int), np.array(said), np.zeros(2))[1] == pytest.approx(
            -5.8
        )
    # Who denies search where it is unsure has nothing held against him, however long he does.
    assert records(np.ones(900, int), np.full(900, -0.2), np.zeros(2))[1] == pytest.approx(-0.2)


def sinks(said, strength):
    found = votes(said)
    return settle(found, np.array(strength))[1].round(2).tolist()


def test_one_rejection_sinks_a_fifth_and_several_or_the_trusted_one_sink_a_chunk():
    assert sinks([(1, 9, [], [9])], [0, 1.0]) == [0.19]
    assert sinks([(n, 9, [], [9]) for n in (1, 2, 3, 4)], [0, 1.0, 1.0, 1.0, 1.0])[0] == 0.82
    assert sinks([(0, 9, [], [9])], [1000.0]) == [1.0]
    # Those who cite the chunk hold it up.
    assert sinks([(1, 9, [], [9]), (2, 9, [9], [])], [0, 1.0, 1.0]) == [0.11, 0.0]


def test_the_latest_word_replaces_the_earlier_one_on_the_same_chunk():
    said = [(1, 9, [9], []), (2, 9, [9], []), (1, 9, [], [9]), (1, 8, [9], [])]
    found = votes(said)
    claim = found.actor[found.lesson], found.need, found.chunk
    assert contradicted(found.cites, *claim).tolist() == [True, False, False, False]


def test_many_names_that_only_say_the_same_are_no_majority():
    crowd = [(actor, 9, [99], []) for actor in range(3, 13)]
    found = worth(HONEST + crowd + [(1, 9, [9], []), (2, 9, [9], [])])
    assert found[16] < 1 / 3 < 2 / 3 < found[-1]


def test_search_does_not_judge_those_for_whom_others_vouch():
    """They reject what search is sure of; so does one for whom nobody vouches."""
    said = [*HONEST, *((actor, 9 + n, [9 + n], []) for n in range(12) for actor in (1, 2, 5))]
    against = np.array([0.0] * 16 + [-1.0] * 36)
    found = judge(votes(said, agrees=against), 6, at_least=100, share=0.1).weights
    alone = judge(votes(said[18::3], agrees=-1.0), 6, at_least=100, share=0.1).weights
    assert found[1] > 0.85 > 0.1 > alone[5]


def test_what_the_application_vouches_for_wins_against_any_number():
    crowd = [(actor, 9, [99], []) for actor in range(1, 40)]
    found = worth([*crowd, (0, 9, [], [99])])
    assert found[0] < 0.001 < 0.999 < found[-1]


def test_a_newcomer_alone_sinks_little_and_several_sink_a_chunk():
    alone, *_ = worth([(1, 9, [], [9])])
    several = worth([(actor, 9, [], [9]) for actor in range(1, 5)])
    assert alone < 0.35 < 2 < several.sum()
    against_a_citation = worth([(1, 9, [], [9]), (2, 9, [9], [])])
    assert against_a_citation[0] < 0.35 < 0.6 < against_a_citation[1]


def test_whoever_says_it_again_says_nothing_new():
    once = worth([(1, 9, [9], []), (2, 9, [8], [])])
    often = worth([*(5 * [(1, 9, [9], [])]), (2, 9, [8], [])])
    assert once == pytest.approx(0.5, abs=0.01)
    assert often[-2:] == pytest.approx(0.5, abs=0.01)


def test_to_say_it_again_costs_nothing_either():
    said = [(1, need, [need], []) for need in range(10)]
    agrees = np.array([-0.4] * 10)
    once = judge(votes(said, agrees=agrees), 2, at_least=10, share=0.1)
    often = judge(votes(said * 20, agrees=np.tile(agrees, 20)), 2, at_least=10, share=0.1)
    assert often.weights[1] == pytest.approx(once.weights[1])
    assert often.overrules[1] == pytest.approx(once.overrules[1])


def test_many_lies_are_made_up_for_by_no_easy_question():
    easy = [(1, need, [need], []) for need in range(60)]
    lies = [(1, need, [need], []) for need in range(60, 90)]
    agrees = np.array([0.1] * 60 + [-0.8] * 30)
    found = judge(votes(easy + lies, agrees=agrees), 2, at_least=100, share=0.1).weights
    assert found[1] < 0.05


@given(
    st.lists(
        st.tuples(st.floats(-6, 6), st.integers(0, 10_000), st.integers(0, 10_000)), min_size=1
    )
)
def test_factors_are_shares_and_the_trusted_one_is_whole(actors):
    record, events, earned = np.array(actors, dtype=np.float64).T
    for found in (
        beliefs(record, events),
        allowances(events, np.minimum(earned, events), at_least=20, share=0.1),
    ):
        assert ((found >= 0) & (found <= 1)).all()
        assert found[0] == 1.0


@pytest.mark.parametrize("flood", [0, 1_000, 3_000])
def test_a_name_that_floods_the_log_excuses_no_other_liar(flood: int) -> None:
    honest, lies = 300, 30
    actor = np.array([1 + n % 10 for n in range(honest)] + [11] * lies + [12] * flood)
    agrees = np.array([0.3] * honest + [-1.5] * lies + [-2.5] * flood)
    n = len(actor)
    need = np.concatenate((np.arange(honest) % 60, np.arange(n - honest) + 60))
    said = np.arange(n)
    votes = Votes(need, need, said, np.ones(n, bool), actor, agrees, np.full(n, 0.5))
    assert judge(votes, 14, at_least=20, share=0.1).weights[11] < 0.05


def believed_among(agreements: list[list[float]], needs: list[list[int]]) -> list[float]:
    """Return how far actors are believed who agree with search by so much, each on its needs."""
    said = [
        (1 + who, need, [1000 * who + need], []) for who, mine in enumerate(needs) for need in mine
    ]
    agrees = np.array([value for mine in agreements for value in mine])
    n = 1 + len(agreements)
    found = judge(votes(said, agrees=agrees, openness=0.0), n, at_least=1000, share=0.1)
    return found.weights[1:].tolist()


def test_nobody_is_to_blame_where_all_contradict_a_poor_search():
    poor, rich = [-0.6] * 40 + [0.1] * 40, [-0.1] * 40 + [0.3] * 40
    needs = [list(range(80 * who, 80 * who + 80)) for who in range(6)]
    assert min(believed_among([poor] * 6, needs)) > 0.6
    # Whoever does so alone among people who confirm search is not believed.
    *others, alone = believed_among([rich] * 5 + [poor], needs)
    assert min(others) > 0.9
    assert alone < 0.01


@pytest.mark.parametrize("same", [True, False], ids=["the same questions", "their own questions"])
def test_names_that_lie_together_do_not_excuse_each_other(same: bool) -> None:
    lies, rich = [-1.5] * 20, [-0.1] * 20 + [0.3] * 20
    needs = [list(range(40 * who, 40 * who + 40)) for who in range(5)]
    for who in range(8):
        first = 1000 + (0 if same else 20 * who)
        needs.append(list(range(first, first + 20)))
    *_, best_liar = sorted(believed_among([rich] * 5 + [lies] * 8, needs)[5:])
    assert best_liar < 0.05


@pytest.mark.parametrize("seed", range(20))
def test_lessons_are_judged_after_others_as_they_are_among_them(seed):
    """Where search is mostly confirmed, it is relied on alike; the questions differ."""
    random = np.random.default_rng(seed)
    n, n_before = 90, 60
    actor = np.where(np.arange(n) < n_before, random.integers(0, 4, n), random.integers(0, 7, n))
    need = random.integers(0, 12, n) + np.where(np.arange(n) < n_before, 0, 12)
    agrees = np.where(random.random(n) < 0.3, -random.random(n), 1.0)
    found = Votes(
        need,
        3 * need + random.integers(0, 2, n),
        np.arange(n),
        random.random(n) < 0.8,
        actor,
        agrees,
        random.random(n),
    )

    def part(of, n_actors, before=None):
        columns = (column[of] for column in found)
        chosen = Votes(*columns)._replace(lesson=np.arange(len(found.need[of])))
        return judge(chosen, n_actors, at_least=8, share=0.1, before=before)

    whole = judge(found, 8, at_least=8, share=0.1)
    earlier = part(slice(n_before), 5)
    later = part(slice(n_before, None), 8, earlier.standing)
    for name in ("weights", "strength", "overrules"):
        assert getattr(later, name) == pytest.approx(getattr(whole, name)), name
    for name in ("shares", "spared"):
        assert getattr(later, name) == pytest.approx(getattr(whole, name)[n_before:]), name
    for name, sums in later.standing._asdict().items():
        # How far a word is heard depends a little on what others say later.
        most_off = 0.3 if name in ("confirmed", "denied") else 1e-6
        assert sums == pytest.approx(getattr(whole.standing, name), abs=most_off), name


def test_earlier_lessons_take_sides_and_count_once():
    said = [(1, 9, [9], []), (2, 9, [], [9])]
    first = judge(votes(said[:1], agrees=-1.0), 2, at_least=8, share=0.1)
    both = votes(said, agrees=-1.0)
    later = judge(both, 4, at_least=8, share=0.1, before=first.standing, n_before=1)
    assert later.standing.n_lessons.tolist() == [0, 1, 1, 0]
    assert later.standing.n_corrections.tolist() == [0, 1, 0, 0]
    among_them = judge(both, 4, at_least=8, share=0.1)
    assert later.shares == pytest.approx(among_them.shares, abs=0.005)
    assert later.shares[0] < first.shares[0] == 1.0
    again = votes([*said[:1] * 2], agrees=-1.0)
    repeated = judge(again, 2, at_least=8, share=0.1, before=first.standing, n_before=1)
    assert repeated.standing.n_new.tolist() == [0, 1]
    assert repeated.standing.record == pytest.approx(first.standing.record)
