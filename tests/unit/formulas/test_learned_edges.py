"""Rows of learned edges, and what passes over them, worked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.formulas.adjacency import EdgeSet
from hebbgraph.formulas.learned_edges import EdgePool, PooledEdges

NONE = np.empty(0, np.int64)


def test_rows_are_replaced_and_dropped():
    pool = EdgePool(4)
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
    pool = EdgePool(0)
    pool.grow(2)
    pool.put(NONE, np.array([1]), np.array([7]), np.array([0.5]))
    pool.grow(3)
    assert [pool.row(source) for source in range(3)] == [[], [(7, 0.5)], []]


def one_edge_each(n):
    """From each of n sources one edge to the chunk of its number, n tenths strong."""
    pool = EdgePool(n)
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
        hops={0: [(1, 0.5)]},
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
    assert passed(edges_of(one_edge_each(4), 4, min_mass=0.1), [1, 2])[1] == [2]


def test_a_tag_has_another_row_while_it_is_a_cue():
    # Two tags; as cues they are numbers 2 and 3; chunk 0 is the last number, 4.
    edges = edges_of(one_edge_each(5), 2, cues=[1])
    assert passed(edges, [0, 1])[1] == [3]
    assert passed(edges, [0, 1], [0])[:2] == [[1, -1], [3, 4]]


def test_cues_count_by_how_many_of_them_agree_on_a_chunk():
    pool = EdgePool(10)
    # Three tags, which as cues are numbers 3 to 5. Two of them lead to chunk 0, one to chunk 1.
    pool.put(NONE, np.array([3, 4, 4, 3]), np.array([0, 0, 1, 0]), np.array([0.5, 0.5, 0.5, 0.1]))
    owner, targets, mass = passed(edges_of(pool, 3, cues=[0, 1, 2]), [0, 1, 2], depth=0)
    assert (owner, targets) == ([0, 0, 1, 1], [0, 0, 0, 1])
    assert mass == pytest.approx([0.5 * 4 / 9, 0.1 * 4 / 9, 0.5 * 4 / 9, 0.5 / 9])


def test_other_edges_are_followed_beside_those_of_the_pool():
    others = EdgeSet.from_arrays(np.array([0]), np.array([7]), np.array([0.25]))
    edges = edges_of(one_edge_each(3), 1, chunk_to_chunk=others)
    assert passed(edges, [], [0]) == [[-1, -1], [2, 7], [0.2, 0.25]]


def test_learned_edges_end_after_some_steps_and_others_do_not():
    alias = EdgeSet.from_arrays(np.array([0]), np.array([3]), np.array([0.25]))
    edges = edges_of(one_edge_each(3), 3, tag_to_tag=alias, n_steps=2)
    tags = np.array([1, 0])
    # Hops are followed from the cues alone. One of two cues has one: a quarter of its weight.
    assert edges.between_tags(tags, 0)[2].tolist() == pytest.approx([0.125, 0.25])
    found = [edges.between_tags(tags, depth)[1].tolist() for depth in (0, 1, 2)]
    assert found == [[1, 3], [3], [3]]
    assert [passed(edges, [1, 2], depth=depth)[1] for depth in (0, 1, 2)] == [[1, 2], [1, 2], []]


@given(st.lists(st.integers(0, 9), unique=True, min_size=1, max_size=6), st.sets(st.integers(0, 9)))
def test_few_tags_and_many_pass_on_the_same(tags, cues):
    pool = EdgePool(40)
    sources = np.arange(-30, 30) % 20
    pool.put(NONE, sources, np.arange(60) % 7, np.arange(60) / 60)
    edges = edges_of(pool, 10, cues=sorted(cues), gate=lambda chunks: chunks / 7, min_mass=0.01)
    mass = np.arange(1, len(tags) + 1) / 10
    few = edges.into_chunks(np.array(tags), mass, NONE, np.empty(0), 1)
    # A chunk that leads nowhere makes many of them.
    many = edges.into_chunks(np.array(tags), mass, np.array([5]), np.ones(1), 1)
    assert [column.tolist() for column in few[:2]] == [column.tolist() for column in many[:2]]
    assert few[2].tolist() == pytest.approx(many[2].tolist())
