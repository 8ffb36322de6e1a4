"""Links worked by hand: who passes mass to whom, and how much."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from array_view import ArrayView

from hebbgraph.arrays import FloatArray, IntArray
from hebbgraph.formulas.activation import spread
from hebbgraph.formulas.evidence import Evidence
from hebbgraph.formulas.links import LinkParameters, follow_links
from hebbgraph.formulas.spreading_step import SpreadingParameters
from hebbgraph.terms import TermKind

#: No candidate: evidence is that of all other chunks.
_NOBODY = np.empty(0, np.int64), np.empty(0)
A, P, E = TermKind.ADDRESS, TermKind.PAGE, TermKind.EDGE


def flows(
    view: ArrayView, f: list[float], sources: list[int], *, barred: Sequence[int] = ()
) -> dict[int, float]:
    """What flows to each chunk, from sources of mass 1 each."""

    def evidence(chunks: IntArray) -> FloatArray:
        return np.array(f)[chunks]

    result = follow_links(
        view,
        np.array(sources),
        np.ones(len(sources)),
        Evidence(*_NOBODY, evidence),
        LinkParameters(leak=1.0),
        cut=100,
        allowed=lambda chunks: ~np.isin(chunks, barred),
    )
    if result is None:
        return {}
    total: dict[int, float] = {}
    for target, mass in zip(result.targets.tolist(), result.mass.tolist(), strict=True):
        total[target] = total.get(target, 0.0) + mass
    return total


def test_the_two_chunks_of_one_address_with_the_usual_constants() -> None:
    """Chunk 0 links to the address that chunks 1 and 2 share."""
    view = ArrayView([[0], [0], [0]], titles=[set(), {0}, {0}], links={0: A})
    evidence = Evidence(*_NOBODY, lambda chunks: 0.2 * chunks)
    result = follow_links(view, np.array([0]), np.ones(1), evidence, LinkParameters(), cut=9)
    assert result is not None
    assert result.targets.tolist() == [1, 2]
    assert result.mass == pytest.approx([0.4 * 0.04 / 0.25, 0.4 * 0.16 / 0.25])
    assert result.mass.round(2).tolist() == [0.06, 0.26]


def test_a_link_leads_forwards_and_backwards() -> None:
    view = ArrayView([[0], [0]], titles=[set(), {0}], links={0: A})
    assert flows(view, [1.0, 0.5], [0]) == pytest.approx({1: 0.4 * 0.25 / 1.25})
    assert flows(view, [1.0, 0.5], [1]) == pytest.approx({0: 0.05 * 1.0 / 2.0})


def test_a_page_with_many_links_passes_little_back() -> None:
    view = ArrayView([[0], [0], [0]], titles=[{0}, set(), set()], links={0: A})
    each = 0.05 * 0.5 / 2.0
    assert flows(view, [1.0, 1.0, 1.0], [0]) == pytest.approx({1: each, 2: each})


def test_all_ties_are_kept() -> None:
    n = 30
    view = ArrayView([[0]] * (n + 1), titles=[{0}] + [set()] * n, links={0: A})
    result = flows(view, [1.0] + [0.5] * n, [0])
    assert result == pytest.approx(dict.fromkeys(range(1, n + 1), 0.05 * (0.25 / n) / 1.25))
    result = flows(view, [1.0] + [0.5] * (n - 2) + [0.6, 0.6], [0])
    assert result.keys() == {n - 1, n}  # two are better, and there is room for two


def test_chunks_that_share_an_address_share_the_link() -> None:
    view = ArrayView([[0], [0], [0], [0]], titles=[set(), {0}, {0}, {0}], links={0: A})
    result = flows(view, [1.0, 0.5, 0.5, 0.1], [0])
    assert result == pytest.approx({1: 0.4 * 0.25 / 1.5, 2: 0.4 * 0.25 / 1.5})


def test_a_page_is_reached_only_if_the_anchor_is_not() -> None:
    # 0 links to page#anchor, which is the address of 1; 2 is elsewhere on the page.
    tags, titles = [[0, 1], [0, 1], [1]], [set(), {0, 1}, {1}]
    assert flows(ArrayView(tags, titles=titles, links={0: A, 1: P}), [1, 1, 1], [0]).keys() == {1}
    tags, titles = [[0, 1], [1], [1]], [set(), {1}, {1}]
    assert flows(ArrayView(tags, titles=titles, links={0: A, 1: P}), [1, 1, 1], [0]).keys() == {
        1,
        2,
    }


def test_a_backlink_follows_the_own_anchor_only() -> None:
    # 0 is at page#a, and 1 links to page#b.
    view = ArrayView([[0, 1], [1, 2]], titles=[{0, 1}, set()], links={0: A, 1: P, 2: A})
    assert flows(view, [1, 1], [0]) == {}


def test_an_edge_leads_to_all_its_chunks_up_to_the_hub_cut() -> None:
    view = ArrayView([[0], [0], [0]], links={0: E})
    assert flows(view, [1, 1, 0], [0]) == pytest.approx({1: 0.1, 2: 0.0})
    crowd = ArrayView([[0]] * 101, links={0: E})
    assert flows(crowd, [1.0] * 101, [0]) == {}


def test_words_that_the_source_lacks_decide_between_links() -> None:
    view = ArrayView([[0, 1], [0], [1]], titles=[set(), {0}, {1}], links={0: A, 1: A})
    held = np.array([[0.6, 0.0], [0.6, 0.0], [0.0, 0.3]])
    result = follow_links(
        view,
        np.array([0]),
        np.ones(1),
        Evidence(*_NOBODY, 0.2, words=lambda chunks: held[chunks]),
        LinkParameters(leak=1.0),
        cut=9,
    )
    assert result is not None
    # Chunk 1 repeats the word that 0 has already; 2 holds another one.
    assert dict(zip(result.targets.tolist(), result.mass.tolist(), strict=True)) == pytest.approx(
        {1: 0.4 * 0.04 / 1.29, 2: 0.4 * 0.25 / 1.29}
    )


def test_the_linking_sentence_decides_between_links_but_not_between_backlinks() -> None:
    view = ArrayView([[0, 1], [0], [1]], titles=[set(), {0}, {1}], links={0: A, 1: A})

    def said(chunks: IntArray, tags: IntArray) -> FloatArray:
        return np.where((chunks == 0) & (tags == 1), 0.4, 0.0)

    def flow(source: int) -> dict[int, float]:
        result = follow_links(
            view,
            np.array([source]),
            np.ones(1),
            Evidence(*_NOBODY, 0.2, sentences=said),
            LinkParameters(leak=1.0, sentence=2.0),
            cut=9,
        )
        assert result is not None
        return dict(zip(result.targets.tolist(), result.mass.tolist(), strict=True))

    assert flow(0) == pytest.approx({1: 0.4 * 0.04 / 2.04, 2: 0.4 * 1.0 / 2.04})
    assert flow(2) == pytest.approx({0: 0.05 * 0.04 / 1.04})


def test_cycles_and_links_to_nothing_end() -> None:
    view = ArrayView([[0, 1, 2], [0, 1]], titles=[{0}, {1}], links={0: A, 1: A, 2: A})
    result = flows(view, [1, 1], [0, 1])
    assert result == pytest.approx({0: 0.225, 1: 0.225})  # a link and a backlink each


def test_filtered_chunks_receive_nothing() -> None:
    view = ArrayView([[0], [0]], titles=[set(), {0}], links={0: A})
    assert flows(view, [1, 1], [0], barred=[1]) == {}


def test_spreading_follows_links_and_shows_the_path() -> None:
    view = ArrayView([[0], [0], [1]], titles=[set(), {0}, {1}], links={0: A})
    evidence = Evidence(np.array([0, 2]), np.array([1.0, 0.4]), others=0.3)
    result = spread(view, np.array([], np.int64), evidence)
    assert result.top(3)[0].tolist() == [0, 1, 2]
    assert [(node.kind, node.id) for node in result.path(1)] == [
        ("chunk", 0),
        ("tag", 0),
        ("chunk", 1),
    ]
    idle = SpreadingParameters(links=LinkParameters(forward=0.0, backward=0.0, sideways=0.0))
    assert spread(view, np.array([], np.int64), evidence, parameters=idle).top(3)[0].tolist() == [
        0,
        2,
    ]


def test_steps_ignore_addresses() -> None:
    """A chunk with an address, and one that links to it, spread as if they had neither."""
    plain = ArrayView([[0, 1], [1, 0], [2]], titles=[{0}, {1}, {2}])
    linked = ArrayView([[0, 1, 3], [1, 0, 3], [2]], titles=[{0}, {1, 3}, {2}], links={3: A})
    evidence = Evidence(np.array([0, 2]), np.array([1.0, 0.3]))
    idle = SpreadingParameters(links=LinkParameters(forward=0.0, backward=0.0, sideways=0.0))
    one = spread(plain, np.array([0]), evidence, parameters=idle)
    other = spread(linked, np.array([0]), evidence, parameters=idle)
    assert one.chunks.tolist() == other.chunks.tolist()
    assert one.scores.tolist() == other.scores.tolist()
