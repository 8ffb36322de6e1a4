"""The set of texts that change, and what recalls make of it."""

from hebbgraph_bench.changing.corpus import documents, timed_questions
from hebbgraph_bench.changing.measure import measure


def test_the_set_and_the_figures_that_the_docs_promise() -> None:
    histories = list(documents())
    assert len(histories) >= 60
    assert len({versions[0].id for versions in histories}) == len(histories)
    assert all(2 <= len(versions) <= 4 for versions in histories)
    assert len({one.text for one in timed_questions()}) >= 60
    found = measure()
    assert found.questions >= 80
    assert found.first_as_of >= 0.95
    assert (found.in_order, found.marked) == (1.0, 1.0)
