"""One server, many tenants: each request names its namespace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fakes import RuleLLM
from llama_index.core import Document
from llama_index.core.instrumentation.dispatcher import instrument_tags
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import TextNode

from hebbgraph import HebbianIndex, IndexPool, NotFoundError, ParameterError
from llama_index.retrievers.hebbgraph import (
    CitationFormatter,
    CitationLearner,
    HebbianRetriever,
    RecallBundle,
)
from llama_index.retrievers.hebbgraph.prompts import CITATION_QA_TEMPLATE

QUERY = "Where does the boat lie?"
BERTH = {"anna": "Anna's boat lies at berth 7.", "bert": "Bert's boat lies at berth 9."}


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[IndexPool]:
    with IndexPool(tmp_path, max_open=1) as pool:
        for tenant, text in BERTH.items():
            HebbianRetriever.from_index(pool[tenant]).add([Document(text=text, id_="berth")])
        yield pool


def asking(tenant: str, **tags: str) -> Any:
    return instrument_tags({"hebbgraph_namespace": tenant, "user_id": tenant, **tags})


async def test_a_request_names_its_namespace(pool: IndexPool) -> None:
    retriever = HebbianRetriever.from_pool(pool)
    for tenant, text in BERTH.items():
        with asking(tenant):
            assert [node.text for node in retriever.retrieve(QUERY)] == [text]
            assert [node.text for node in await retriever.aretrieve(QUERY)] == [text]
            assert retriever.add([Document(text=text, id_="berth")]).unchanged == 1
        own = RecallBundle(QUERY, namespace=tenant)
        with (
            asking("other"),
            pytest.raises(ParameterError, match=f"namespace '{tenant}', and its request 'other'"),
        ):
            retriever.retrieve(own)
        assert [node.text for node in retriever.retrieve(own)] == [text]
        assert retriever.why(retriever.retrieve(own)[0]).rank == 1


def test_a_request_that_names_none_is_refused(pool: IndexPool) -> None:
    with pytest.raises(ParameterError, match="names no namespace; ask within"):
        HebbianRetriever.from_pool(pool).retrieve(QUERY)
    known = HebbianRetriever.from_pool(pool, namespace="bert", similarity_top_k=1)
    assert known.retrieve(QUERY)[0].text == BERTH["bert"]
    with asking("anna"):
        assert known.retrieve(QUERY)[0].text == BERTH["anna"]
    assert "IndexPool" in repr(known)


def test_a_retriever_of_one_namespace_answers_for_no_other(pool: IndexPool) -> None:
    retriever = HebbianRetriever.from_index(pool["anna"])
    with asking("anna"):
        assert retriever.retrieve(QUERY)
    with asking("bert"), pytest.raises(ParameterError, match="searches only 'anna'"):
        retriever.retrieve(QUERY)
    wrong: Any = "tenants.hebb"
    with pytest.raises(ParameterError, match="pool is an IndexPool, got str"):
        HebbianRetriever.from_pool(wrong)


async def test_a_misspelt_namespace_is_named_and_not_made(pool: IndexPool) -> None:
    retriever = HebbianRetriever.from_pool(pool)
    misspelt = RecallBundle(QUERY, namespace="ana")
    for _ in range(2):
        with pytest.raises(NotFoundError, match=r"no namespace 'ana'\. The first"):
            retriever.retrieve(misspelt)
        with pytest.raises(NotFoundError, match="no namespace 'ana'"):
            await retriever.aretrieve(misspelt)
    with asking("ana"):
        assert retriever.add([Document(text="Ana's boat is sold.", id_="berth")]).added == 1
    assert retriever.retrieve(misspelt)[0].text == "Ana's boat is sold."


def answers(pool: IndexPool, name: str, tenants: Iterable[str] = BERTH) -> dict[str, Any]:
    engine = RetrieverQueryEngine.from_args(
        HebbianRetriever.from_pool(pool),
        llm=RuleLLM(rule=lambda prompt: "At the berth [1]."),
        text_qa_template=CITATION_QA_TEMPLATE,
        node_postprocessors=[CitationFormatter()],
    )
    found = {}
    for tenant in tenants:
        with asking(tenant, answer_id=name):
            found[tenant] = engine.query(QUERY)
    return found


def learned(pool: IndexPool) -> dict[str, list[tuple[int, int]]]:
    return {
        tenant: [(len(one.cited), len(one.rejected)) for _, one in pool[tenant].parts.log.after(0)]
        for tenant in BERTH
    }


LESSON, REJECTION = (1, 0), (0, 1)


def test_a_thumb_is_about_the_answer_of_its_tenant(pool: IndexPool) -> None:
    with CitationLearner() as learner:
        responses = answers(pool, "9")
        for act in (partial(learner.feedback, good=False), learner.undo):
            with pytest.raises(ParameterError, match=r"say whose is meant: namespace=") as raised:
                act("9")
            assert "anna" not in str(raised.value)
        assert learned(pool) == {"anna": [LESSON], "bert": [LESSON]}
        assert len(learner.feedback("9", False, namespace="bert")) == 1
        with asking("anna"):
            assert learner.undo("9") == 1
            with pytest.raises(ParameterError, match="namespace 'bert', and its request 'anna'"):
                learner.undo("9", namespace="bert")
        assert learned(pool) == {"anna": [], "bert": [REJECTION]}
        with asking("anna"):
            assert len(learner.feedback(responses["anna"], True)) == 1
            with pytest.raises(NotFoundError):
                learner.feedback(responses["bert"].source_nodes[0].text, True)
        assert learned(pool) == {"anna": [LESSON], "bert": [REJECTION]}
        (outcome,) = learner.outcomes("9", namespace="anna")
        assert (outcome.actor, len(learner.outcomes("9"))) == ("anna", 2)


def test_an_answer_outside_of_all_requests_is_no_tenants(
    pool: IndexPool, caplog: pytest.LogCaptureFixture
) -> None:
    for tenant in BERTH:
        HebbianRetriever.from_index(pool[tenant]).add([TextNode(text="Boats rest.", id_="same")])
    retriever = HebbianRetriever.from_pool(pool)
    found = {}
    with CitationLearner():
        for tenant in BERTH:
            with asking(tenant):
                nodes = retriever.retrieve("Do boats rest?")
                found[tenant] = CitationFormatter().postprocess_nodes(nodes)
        llm = RuleLLM(rule=lambda prompt: "They do [1][2].")
        synthesizer = get_response_synthesizer(llm=llm)
        synthesizer.synthesize("Do boats rest?", found["anna"])
        assert learned(pool) == {"anna": [], "bert": []}
        assert "several tenants were given these nodes" in caplog.text
        with asking("anna"):
            synthesizer.synthesize("Do boats rest?", found["anna"])
    assert [len(lessons) for lessons in learned(pool).values()] == [1, 0]


@pytest.mark.parametrize("home", ["pool", "retriever", "default"])
def test_a_learner_over_a_pool_judges_in_any_process(pool: IndexPool, home: str) -> None:
    with CitationLearner():
        answers(pool, "9")
    given: Any = pool
    if home != "pool":
        default = "bert" if home == "default" else None
        given = HebbianRetriever.from_pool(pool, namespace=default)
    with CitationLearner(given) as learner:
        if home == "default":
            assert learner.undo("9") == 1
        else:
            with pytest.raises(ParameterError, match="say whose is meant"):
                learner.undo("9")
            assert learner.undo("9", namespace="bert") == 1
        assert len(learner.feedback("9", False, namespace="anna")) == 1
        answers(pool, "11", ["bert"])
        assert learned(pool) == {"anna": [REJECTION], "bert": [LESSON]}
        with HebbianIndex.open(":memory:") as other:
            retriever = HebbianRetriever(other)
            retriever.add([Document(text=BERTH["anna"], id_="berth")])
            retriever.retrieve(QUERY)
            assert learner.counts["other_index"] == 1


def test_why_tells_no_tenant_of_another(pool: IndexPool) -> None:
    retriever = HebbianRetriever.from_pool(pool)
    found = {}
    for tenant, text in BERTH.items():
        with asking(tenant):
            retriever.add([TextNode(id_="1", text=text)])
            nodes = retriever.retrieve(f"Where does {tenant.title()}'s boat lie?")
            found[tenant] = next(node for node in nodes if node.node_id == "1")
    for tenant, other in (("anna", "bert"), ("bert", "anna")):
        told = str(retriever.why(found[tenant])).lower()
        assert f"'{tenant}'" in told
        assert f"'{other}'" not in told
        assert str(retriever.why("1", namespace=tenant)).lower() == told
    with pytest.raises(ParameterError, match="several tenants"):
        retriever.why("1")
