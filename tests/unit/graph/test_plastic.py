"""What is read of raw weights, worked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.graph.plastic import (
    PooledEdges,
    RowPool,
    Rows,
    actor_scales,
    as_activation,
    bounded_rows,
    expectation,
    pooled,
    target_scale,
)
from hebbgraph.recall.view import EdgeSet, FewEdges

NONE = np.empty(0, np.int64)


def test_the_application_is_trusted_and_others_are_capped():
    scales = actor_scales(np.array([5000.0, 10.0, 1000.0]), at_least=20, share=0.1)
    assert scales.tolist() == pytest.approx([1.0, 1.0, 0.501])


def test_flooding_does_not_raise_the_cap_of_the_flooder():
    few, many = (
        actor_scales(np.array([100.0, n]), at_least=20, share=0.1)[1] * n for n in (50.0, 5000.0)
    )
    assert few == many == 20


def test_pooling_equals_folding_by_one_actor():
    # 0.5, then half of what is left: 0.75.
    _, weight = pooled(np.array([3, 3]), np.array([0.5, 0.5]))
    assert weight.tolist() == [0.75]


def test_inhibition_of_one_counts_against_praise_of_another():
    _, weight = pooled(np.array([3, 3]), np.array([0.5, -0.2]))
    assert weight.tolist() == pytest.approx([0.3])


def test_what_leaves_a_node_is_bounded_in_number_and_sum():
    owner = np.array([0] * 6 + [2])
    rows = Rows(owner, np.arange(7), np.full(7, 0.5))
    found = bounded_rows(rows, 3, min_weight=0.02, fan_out=4, out_strength=1.0)
    assert found.owner.tolist() == [0, 0, 0, 0, 2]
    assert found.targets.tolist() == [0, 1, 2, 3, 6]
    assert found.weights.tolist() == [0.25] * 4 + [0.5]


def test_nodes_may_keep_different_numbers_of_edges():
    rows = Rows(np.array([0, 0, 1, 1]), np.arange(4), np.array([0.1, 0.2, 0.3, 0.2]))
    found = bounded_rows(rows, 2, min_weight=0.0, fan_out=np.array([1, 2]), out_strength=1.0)
    assert found.targets.tolist() == [1, 2, 3]


def test_negative_and_weak_weights_do_not_pass():
    rows = Rows(np.zeros(3, np.int64), np.arange(3), np.array([-0.3, 0.01, 0.0]))
    found = bounded_rows(rows, 1, min_weight=0.0, fan_out=4, out_strength=1.0)
    assert found.targets.tolist() == [1]


def test_often_cited_chunks_are_reached_more_weakly():
    assert target_scale(np.array([0.0, 90.0]), in_credit=10).tolist() == pytest.approx([1, 1 / 3])


def test_the_prior_outweighs_queries_that_are_hardly_alike():
    near, far = (
        expectation(np.array([likeness]), likeness, prior=0.3)[0] for likeness in (0.9, 0.1)
    )
    assert near == pytest.approx(0.75)
    assert far == pytest.approx(0.25)


def test_activation_of_a_chance_reads_as_the_chance():
    # Spreading reads x as x / (x + 0.05).
    x = as_activation(np.array([0.2, 0.7]), gain=0.05, at_most=9.0)
    assert (x / (x + 0.05)).tolist() == pytest.approx([0.2, 0.7])


def test_rows_are_replaced_and_dropped():
    pool = RowPool(4)
    pool.put(NONE, np.array([2, 1, 2, -1]), np.arange(4), np.full(4, 0.5))
    assert [column.tolist() for column in pool.of(np.array([0, 2, 3, 1]))] == [
        [1, 1, 2, 3],
        [0, 2, 3, 1],
        [0.5] * 4,
    ]
    pool.put(np.array([2, -1]), np.array([2]), np.array([9]), np.array([0.25]))
    assert [pool.row(source) for source in range(4)] == [[], [(1, 0.5)], [(9, 0.25)], []]
    pool.clear()
    assert len(pool.of(np.arange(4))[0]) == 0


def test_a_pool_of_numbers_that_come_later_grows():
    pool = RowPool(0)
    pool.grow(2)
    pool.put(NONE, np.array([1]), np.array([7]), np.array([0.5]))
    pool.grow(3)
    assert [pool.row(source) for source in range(3)] == [[], [(7, 0.5)], []]


def one_edge_each(n):
    """From each of n sources one edge to the chunk of its number, n tenths strong."""
    pool = RowPool(n)
    pool.put(NONE, np.arange(n), np.arange(n), np.arange(n) / 10)
    return pool


def passed(edges, tags, chunks=(), depth=1):
    tags, chunks = np.array(tags, np.int64), np.array(chunks, np.int64)
    found = edges.into_chunks(tags, np.ones(len(tags)), chunks, np.ones(len(chunks)), depth)
    return [column.tolist() for column in found]


def everywhere(targets):
    return np.ones(len(targets))


def edges_of(pool, shift, *, cues=(), gate=everywhere, **others):
    return PooledEdges(
        hops=FewEdges({0: [(1, 0.5)]}),
        pool=pool,
        shift=shift,
        cues=np.array(cues, np.int64),
        gate=gate,
        **{"tag_gain": 1.0, "chunk_gain": 1.0, **others},
    )


def test_a_step_follows_the_edges_over_which_most_passes():
    def gate(targets):
        return np.where(targets == 4, 0.1, 1.0)

    edges = edges_of(one_edge_each(5), 5, gate=gate, tag_gain=0.5, limit=2)
    owner, targets, mass = passed(edges, range(5))
    assert owner == targets == [2, 3]
    assert mass == pytest.approx([0.1, 0.15])


def test_what_is_too_little_is_not_passed_on():
    assert passed(edges_of(one_edge_each(4), 4, least=0.1), [1, 2])[1] == [2]


def test_a_tag_has_another_row_while_it_is_a_cue():
    # Two tags; as cues they are numbers 2 and 3; chunk 0 is the last number, 4.
    edges = edges_of(one_edge_each(5), 2, cues=[1])
    assert passed(edges, [0, 1])[1] == [3]
    assert passed(edges, [0, 1], [0])[:2] == [[1, -1], [3, 4]]


def test_other_edges_are_followed_beside_those_of_the_pool():
    others = EdgeSet.from_arrays(np.array([0]), np.array([7]), np.array([0.25]))
    edges = edges_of(one_edge_each(3), 1, chunk_to_chunk=others)
    assert passed(edges, [], [0]) == [[-1, -1], [2, 7], [0.2, 0.25]]


def test_learned_edges_end_after_some_steps_and_others_do_not():
    alias = EdgeSet.from_arrays(np.array([0]), np.array([3]), np.array([0.25]))
    edges = edges_of(one_edge_each(3), 3, tag_to_tag=alias, n_steps=2)
    tags = np.array([1, 0])
    # Hops are followed from the cues alone.
    found = [edges.between_tags(tags, depth)[1].tolist() for depth in (0, 1, 2)]
    assert found == [[1, 3], [3], [3]]
    assert [passed(edges, [1, 2], depth=depth)[1] for depth in (0, 1, 2)] == [[1, 2], [1, 2], []]


@given(st.lists(st.integers(0, 9), unique=True, max_size=10), st.sets(st.integers(0, 9)))
def test_few_tags_and_many_are_looked_up_alike(tags, cues):
    pool = RowPool(20)
    sources = np.arange(-30, 30) % 20
    pool.put(NONE, sources, np.arange(60) % 7, np.arange(60) / 60)
    edges = edges_of(pool, 10, cues=sorted(cues))
    few, many = edges._of_few(np.array(tags, np.int64)), edges._of_many(np.array(tags, int), NONE)
    assert [column.tolist() for column in few] == [column.tolist() for column in many]
