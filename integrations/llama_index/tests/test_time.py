"""Nodes that say when they hold, and requests that name a moment."""

import pytest
from llama_index.core.schema import TextNode

from hebbgraph import HebbianIndex, ParameterError, Settings
from llama_index.retrievers.hebbgraph import HebbianRetriever, RecallBundle


def test_as_of() -> None:
    settings = Settings(keep_versions=True, time_fields=("published", "expires", "replaces"))
    with HebbianIndex.open(":memory:", settings=settings) as index:
        retriever = HebbianRetriever.from_index(index)
        for price, since in (("four", "2021-05-01"), ("five", "2024-05-01")):
            text = f"The ferry fare is {price} crowns."
            retriever.add([TextNode(id_="fare", text=text, metadata={"published": since})])
        question = "What is the ferry fare?"
        now = retriever.retrieve(question)
        assert ["five" in node.text for node in now] == [True, False]
        assert now[1].metadata["hebbgraph"]["stale"]["replaced_by"] == ["fare"]
        (then,) = retriever.retrieve(RecallBundle(question, as_of="2022"))
        assert "four" in then.text
        (then,) = HebbianRetriever(index, as_of="2022").retrieve(question)
        assert "four" in then.text
        with pytest.raises(ParameterError, match="as_of: 'soon' is no time"):
            HebbianRetriever(index, as_of="soon")
