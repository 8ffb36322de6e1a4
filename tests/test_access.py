"""What the application binds wins over what a request says, whatever the framework."""

from __future__ import annotations

from pathlib import Path

import pytest

from hebbgraph import HebbianIndex
from hebbgraph.access import Namespaces, actor_of, fields_of, ruled
from hebbgraph.errors import ClosedIndexError, FilterError, ParameterError


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


def test_a_namespace_that_is_missing_or_empty_warns(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path) as index:
        namespaces = Namespaces(index)
        with pytest.warns(UserWarning, match="there is no namespace 'cid'"):
            assert not namespaces.recall("cid", "boats", 3)
        with pytest.warns(UserWarning, match="is empty, so nothing can be found"):
            assert not namespaces.recall(index.namespace, "boats", 3)
        with pytest.raises(ParameterError, match="namespace_by returned 7"):
            namespaces.recall(7, "boats", 3)  # type: ignore[arg-type]
        assert namespaces.index.namespaces() == ["default"]


def test_a_rule_must_find_what_it_reads() -> None:
    assert ruled(
        lambda request: {"owner": request["user_id"]}, {"user_id": "ann"}, "filter_by"
    ) == {"owner": "ann"}
    with pytest.raises(ParameterError, match="filter_by finds no 'user_id' in the request"):
        ruled(lambda request: request["user_id"], {}, "filter_by")
    with pytest.raises(FilterError, match="filter_by returned None"):
        ruled(lambda request: None, {}, "filter_by")
    nested = {"user_id": {"$ne": "ann"}, "auth": {"name": "ben"}}
    with pytest.raises(ParameterError, match="filter_by finds no 'user_id' in the request"):
        ruled(lambda request: {"owner": request["user_id"]}, nested, "filter_by")
    assert ruled(lambda request: request["auth"]["name"], nested, "namespace_by") == "ben"


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
