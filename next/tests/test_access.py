"""What the application binds wins over what a request says, whatever the framework."""

from __future__ import annotations

from pathlib import Path

import pytest

from hebbgraph import HebbianIndex
from hebbgraph.access import Namespaces, actor_of, fields_of, narrowed
from hebbgraph.errors import ClosedIndexError, FilterError


def test_the_context_wins_over_the_configuration() -> None:
    class Context:
        def __init__(self) -> None:
            self.user_id, self.thread_id = "ann", None

    assert fields_of(Context(), {"user_id": "ben", "thread_id": "7"}) == {
        "user_id": "ann",
        "thread_id": "7",
    }
    assert fields_of(None, {"user_id": "ben", "__runtime": 1}) == {"user_id": "ben"}


def test_the_actor_is_the_one_bound_or_the_user() -> None:
    assert actor_of("editor", {"user_id": "ann"}) == "editor"
    assert actor_of(None, {"user_id": 7}) == "7"
    assert actor_of(lambda fields: fields["who"], {"user_id": "ann", "who": "ben"}) == "ben"
    assert actor_of(lambda fields: None, {"user_id": "ann"}) is None
    assert actor_of(None, {"user_id": " "}) is None


def test_filters_join_and_functions_cut() -> None:
    with HebbianIndex.open(":memory:") as index:
        for owner in ("ann", "ben"):
            index.add(
                {"id": f"{owner}{at}", "text": "A boat.", "metadata": {"owner": owner, "at": at}}
                for at in range(20)
            )
        odd, high = (lambda chunk: chunk.metadata["at"] % 2), (lambda c: c.metadata["at"] > 15)
        where, steps = narrowed([{"owner": "ben"}, None, {}, odd, high], 4)
        recall = index.recall("boat", 4, where=where, steps=steps)
        assert {hit.id for hit in recall} == {"ben17", "ben19"}
        assert recall.where == {"owner": "ben"}
    assert narrowed([None, {}], 4) == (None, ())
    with pytest.raises(FilterError, match="got int"):
        narrowed([5], 4)  # type: ignore[list-item]


def test_few_namespaces_stay_open_and_none_closes_in_use(tmp_path: Path) -> None:
    names = [f"tenant {number}" for number in range(5)]
    with HebbianIndex.open(tmp_path) as index:
        for name in names:
            index.in_namespace(name).close()
        namespaces = Namespaces(index, most=2)
        with namespaces.opened("nobody") as none, namespaces.opened(index.namespace) as own:
            assert (none, own) == (None, index)
        with namespaces.opened(names[0]) as first:
            assert first is not None
            for name in names:
                with namespaces.opened(name) as other:
                    assert other is not None
                    assert other.ids() == []
            namespaces.close()
            assert first.ids() == []
        with namespaces.opened(names[1]), namespaces.opened(names[2]):
            pass
        with pytest.raises(ClosedIndexError):
            first.ids()
        namespaces.close()
