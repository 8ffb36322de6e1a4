"""Vectorised spreading against the dictionaries, on random graphs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from array_view import ArrayView
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_spreading import naive_spread

from hebbgraph.formulas.activation import Activation, spread
from hebbgraph.formulas.evidence import Evidence
from hebbgraph.formulas.spreading_step import SpreadingParameters

N_TAGS = 8


@st.composite
def graphs(draw: st.DrawFn):
    n = draw(st.integers(1, 12))
    rows = [draw(st.lists(st.integers(0, N_TAGS - 1), unique=True, max_size=6)) for _ in range(n)]
    incidental = draw(st.sets(st.integers(0, N_TAGS - 1), max_size=3))
    tags = [sorted({*row} - incidental) for row in rows]
    titles = [
        set(draw(st.lists(st.sampled_from(row), max_size=2))) if row else set() for row in tags
    ]
    return rows, titles, incidental


# Evidence in steps, so that ties happen and sums are the same in any order.
levels = st.integers(0, 8).map(lambda level: level / 8)


@st.composite
def cases(draw: st.DrawFn):
    rows, titles, incidental = draw(graphs())
    tags = sorted({*range(N_TAGS)} - incidental)
    n = len(rows)
    evidence = draw(st.dictionaries(st.integers(0, n - 1), levels, max_size=n))
    return {
        "rows": rows,
        "titles": titles,
        "incidental": incidental,
        "cues": draw(st.lists(st.sampled_from(tags), unique=True, max_size=4)),
        "evidence": evidence,
        "allowed": np.array(draw(st.lists(st.booleans() | st.just(True), min_size=n, max_size=n))),
        "elsewhere": draw(st.sampled_from([0.0, 0.05, 0.3])),
        "trust": draw(
            st.dictionaries(st.integers(0, N_TAGS - 1), st.sampled_from([0.0, 0.4, 1.0]))
        ),
        "held": draw(st.sampled_from([0.0, 0.5, 1.0])),
        "parameters": SpreadingParameters(
            n_seeds=draw(st.integers(1, 4)),
            cue_share=draw(st.sampled_from([0.0, 0.4, 1.0])),
            inhibition=draw(st.sampled_from([0.0, 0.1, 1.0])),
            n_steps=draw(st.integers(0, 3)),
            unnamed_credit=draw(st.sampled_from([0.0, 0.6, 1.0])),
            mention_credit=draw(st.sampled_from([0.0, 0.6, 1.0])),
            hub_floor=draw(st.sampled_from([3, 20])),
            hub_share=0.0,
            tags_per_chunk=draw(st.sampled_from([1, 2, 16])),
            beam=64,
            doubt=draw(st.sampled_from([0.0, 0.3, 1.0])),
            graph_weight=draw(st.sampled_from([0.5, 1.0])),
        ),
    }


def activation_of(case) -> Activation:
    evidence = case["evidence"]
    chunks = np.array(sorted(evidence), np.int64)
    values = np.array([evidence[c] for c in chunks.tolist()])
    return spread(
        ArrayView(case["rows"], titles=case["titles"], incidental=case["incidental"]),
        np.array(case["cues"], np.int64),
        Evidence(chunks, values, case["elsewhere"], share_held=case["held"]),
        parameters=case["parameters"],
        allowed=case["allowed"].__getitem__,
        cue_trust=np.array([case["trust"].get(cue, 1.0) for cue in case["cues"]], np.float64),
    )


def run(case) -> dict[int, float]:
    found = activation_of(case)
    return dict(zip(found.chunks.tolist(), found.scores.tolist(), strict=True))


@settings(max_examples=150)
@given(cases())
def test_agrees_with_the_naive_implementation(case) -> None:
    expected = naive_spread(
        case["rows"],
        case["titles"],
        case["cues"],
        case["evidence"],
        case["elsewhere"],
        case["parameters"],
        allowed=lambda chunk: bool(case["allowed"][chunk]),
        incidental=case["incidental"],
        cue_trust={cue: case["trust"][cue] for cue in case["cues"] if cue in case["trust"]},
        held=case["held"],
    )
    found = run(case)
    # What arrives in an amount too small for the score may be listed by one of them only; the
    # score is then direct evidence alone.
    for chunk in {*found, *expected}:
        if chunk in found and chunk in expected:
            assert found[chunk] == pytest.approx(expected[chunk], abs=1e-12)
        else:
            score = found.get(chunk, expected.get(chunk))
            assert score <= case["evidence"].get(chunk, case["elsewhere"]) ** 4 + 1e-12


@settings(max_examples=60)
@given(cases())
def test_an_excluded_chunk_is_never_found(case) -> None:
    assert all(case["allowed"][chunk] for chunk in run(case))


@settings(max_examples=60)
@given(cases(), st.randoms(use_true_random=False))
def test_numbering_does_not_matter(case, random) -> None:
    n = len(case["rows"])
    to = list(range(n))
    random.shuffle(to)
    parameters = case["parameters"]
    if parameters.n_seeds * 4 < n or parameters.tags_per_chunk * 4 < 6:
        return  # more equals than a cut keeps together
    moved = dict(case)
    for name in ("rows", "titles", "allowed"):
        column = [None] * n
        for old, new in enumerate(to):
            column[new] = case[name][old]
        moved[name] = np.array(column) if name == "allowed" else column
    moved["evidence"] = {to[c]: value for c, value in case["evidence"].items()}
    before, after = run(case), run(moved)
    assert {to[c] for c in before} == set(after)
    for chunk, score in before.items():
        assert after[to[chunk]] == pytest.approx(score, abs=1e-12)


@settings(max_examples=80)
@given(cases())
def test_every_hit_has_a_path_over_edges_that_exist(case) -> None:
    found = activation_of(case)
    ids, scores = found.top(5)
    assert (np.diff(scores) <= 0).all()
    assert len(ids) >= min(5, len(found.chunks))
    for chunk in ids.tolist():
        path = found.path(chunk)
        assert path[-1].kind == "chunk"
        assert path[-1].id == chunk
        visited = [node.id for node in path if node.kind == "chunk"]
        assert len(visited) == len(set(visited))
        assert all(case["allowed"][c] for c in visited)
        for before, after in itertools.pairwise(path):
            ends = {before.kind: before.id, after.kind: after.id}
            assert ends["tag"] in {*case["rows"][ends["chunk"]]} - case["incidental"]
        if path[0].kind == "tag":
            assert path[0].id in case["cues"]
