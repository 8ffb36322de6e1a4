"""The contract of adapters' retrievers: the same features under the same names.

An adapter subclasses :class:`RetrieverContract` in a test module and says how its framework
writes a document and asks a question:

.. code-block:: python

    from hebbgraph.testing.retrievers import RetrieverContract

    class TestRetriever(RetrieverContract):
        retriever_class = HebbianRetriever

        def document(self, id, title, text): ...
        def ask(self, retriever, question): ...
        def ask_in(self, retriever, namespace, question): ...
        def over_a_store(self, documents): ...

This module imports pytest.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest

from hebbgraph.errors import ClosedIndexError, NotFoundError, ParameterError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.pool import IndexPool

__all__ = ["Found", "Over", "RetrieverContract"]

_QUESTION = "Who built the Petrel?"
_BUILT = "The Petrel was built by Ida Moss at Dunmore."
_SUNK = "The Petrel was sunk off Tessel Bay, not built."
_BREAD = "Bread rises when yeast turns sugar into gas."


class Found(NamedTuple):
    """A result: the framework's object, its text and its metadata."""

    result: Any
    text: str
    metadata: dict[str, Any]


class Over(NamedTuple):
    """A retriever over a store of the framework, and calls that change the store itself."""

    retriever: Any
    put: Callable[[Any], object]
    remove: Callable[[str], object]


class RetrieverContract:
    """The suite. Subclass it, name the class, and override the four methods."""

    retriever_class: ClassVar[Any]

    def document(self, id: str, title: str, text: str) -> Any:
        """Return a document of the framework."""
        raise NotImplementedError

    def ask(self, retriever: Any, question: str) -> list[Found]:
        """Ask a retriever."""
        raise NotImplementedError

    def ask_in(self, retriever: Any, namespace: str, question: str) -> list[Found]:
        """Ask a retriever in a request that names its namespace."""
        raise NotImplementedError

    def over_a_store(self, documents: list[Any]) -> Over:
        """Return a retriever over a vector store that holds these documents."""
        raise NotImplementedError

    # -- writing --------------------------------------------------------------------------

    def _documents(self) -> list[Any]:
        return [
            self.document("petrel", "Petrel", _BUILT),
            self.document("bread", "Bread", _BREAD),
        ]

    def _texts(self, retriever: Any) -> str:
        return "\n".join(result.text for result in self.ask(retriever, _QUESTION))

    def test_a_second_run_replaces_what_changed(self, tmp_path: Path) -> None:
        """The old text of a document no longer comes back."""
        with self.retriever_class.from_documents(self._documents(), location=tmp_path):
            pass
        changed = [self.document("petrel", "Petrel", _SUNK)]
        with self.retriever_class.from_documents(changed, location=tmp_path) as retriever:
            assert _SUNK in self._texts(retriever)
            assert _BUILT not in self._texts(retriever)
            assert _BREAD in self._texts(retriever)

    def test_add_delete_and_refresh(self) -> None:
        """All three report their changes."""
        with self.retriever_class.from_documents(self._documents()) as retriever:
            late = self.document("late", "Heron", "The Heron\x00was built by Jon Ash.")
            report = retriever.add([late])
            assert (report.added, report.cleaned) == (1, 1)
            assert retriever.add([late]).unchanged == 1
            ids = retriever.index.ids()
            report = retriever.refresh([self._documents()[0]], delete_missing=True)
            assert (report.unchanged, report.deleted) == (1, 2)
            with pytest.raises(ParameterError, match=r"index\.delete"):
                retriever.refresh([], delete_missing=True)
            (left,) = retriever.index.ids()
            assert retriever.delete([*ids, "nobody"]) == 1
            assert retriever.delete([left]) == 0
            with pytest.raises(ParameterError, match="refresh takes documents"):
                retriever.refresh()

    def test_metadata_is_searched_and_not_shown(self, tmp_path: Path) -> None:
        """Also after reopening, and until other metadata replace them."""
        text, question = "Two sets, one of them for the cellar.", "handover flat Graz"
        letter = self.document("letter", "", text)
        letter.metadata |= {"subject": "Handover of the Graz flat", "page": 3}
        with self.retriever_class.from_documents(
            [*self._documents(), letter], location=tmp_path
        ) as retriever:
            assert self.ask(retriever, question)[0].text == text
        other = self.document("letter", "", text)
        other.metadata |= {"subject": "Boiler in Linz"}
        with self.retriever_class.from_documents([other], location=tmp_path) as retriever:
            assert retriever.index.recall(question).nothing_known
            assert self.ask(retriever, "Linz boiler")[0].text == text
            assert retriever.index.maintenance.doctor().ok
            assert retriever.add([other]).unchanged == 1

    def test_it_closes_what_it_has_opened(self, tmp_path: Path) -> None:
        """An index that was passed in stays open."""
        with self.retriever_class.from_documents(self._documents(), location=tmp_path) as retriever:
            assert _BUILT in self._texts(retriever)
        with pytest.raises(ClosedIndexError):
            self._texts(retriever)
        with HebbianIndex.open(tmp_path) as index:
            with self.retriever_class.from_index(index) as retriever:
                pass
            assert _BUILT in self._texts(retriever)

    def test_an_open_index_or_its_location(self, tmp_path: Path) -> None:
        """The index comes first, by its name, or is opened; it is not given twice."""
        self.retriever_class.from_documents(self._documents(), location=tmp_path).close()
        with self.retriever_class(location=tmp_path) as opened:
            index = opened.index
            for other in (self.retriever_class(index), self.retriever_class(index=index)):
                assert self._texts(other) == self._texts(opened)
                other.close()  # it has not opened the index
            with pytest.raises(ParameterError, match="one argument"):
                self.retriever_class(index, location=tmp_path)
        assert index.is_closed

    def test_a_new_index_at_a_location(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """It is a warning, since the location may be misspelt."""
        self.retriever_class.from_documents(self._documents(), location=tmp_path / "birds").close()
        self.retriever_class(location=tmp_path / "birds").close()
        self.retriever_class(location=":memory:").close()
        assert "check the location" not in caplog.text
        self.retriever_class(location=tmp_path / "brids").close()
        (warning,) = [text for text in caplog.messages if "check the location" in text]
        assert "brids" in warning

    # -- why ------------------------------------------------------------------------------

    def test_why_and_the_path(self) -> None:
        """Results say how they were found, if asked."""
        with self.retriever_class.from_documents(self._documents(), include_path=True) as retriever:
            first = self.ask(retriever, _QUESTION)[0]
            trail = first.metadata["hebbgraph"]
            assert set(trail) == {"recall_id", "namespace", "rank", "path", "cues", "tags"}
            assert trail["path"].startswith("question → ")
            why = retriever.why(first.result)
            assert why.chunk_id in retriever.index.ids()
            with pytest.raises(NotFoundError):
                retriever.why("nobody")
            wrong: Any = 3
            with pytest.raises(ParameterError, match="why takes"):
                retriever.why(wrong)

    # -- many tenants -----------------------------------------------------------------------

    def test_each_request_names_its_namespace(self, tmp_path: Path) -> None:
        """No tenant sees another's passages, and a request without a tenant fails."""
        with IndexPool(tmp_path, max_open=1) as pool:
            for tenant, text in (("anna", _BUILT), ("bert", _SUNK)):
                retriever = self.retriever_class.from_index(pool[tenant])
                retriever.add([self.document("petrel", "Petrel", text)])
            served = self.retriever_class.from_pool(pool)
            for tenant, text in (("anna", _BUILT), ("bert", _SUNK), ("anna", _BUILT)):
                assert [result.text for result in self.ask_in(served, tenant, _QUESTION)] == [text]
            with pytest.raises(ParameterError, match="names no namespace"):
                self.ask(served, _QUESTION)
            with pytest.raises(ParameterError, match="make it by from_pool"):
                self.ask_in(self.retriever_class.from_index(pool["anna"]), "bert", _QUESTION)

    def test_a_namespace_of_its_own(self, tmp_path: Path) -> None:
        """``namespace`` selects where documents go."""
        with self.retriever_class.from_documents(
            self._documents(), location=tmp_path, namespace="anna"
        ) as retriever:
            assert retriever.index.namespace == "anna"
            assert _BUILT in self._texts(retriever)

    # -- over a store -------------------------------------------------------------------------

    def test_a_store_that_others_write_to_is_followed(self) -> None:
        """Documents that it has deleted or changed do not come back as they were."""
        over = self.over_a_store(self._documents())
        assert _BUILT in self._texts(over.retriever)
        over.put(self.document("petrel", "Petrel", _SUNK))
        assert _SUNK in self._texts(over.retriever)
        assert _BUILT not in self._texts(over.retriever)
        over.remove("petrel")
        assert self._texts(over.retriever) == _BREAD
        assert over.retriever.refresh().deleted == 1
        assert len(over.retriever.index.ids()) == 1
