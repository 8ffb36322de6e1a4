"""An agent that searches with a tool, and whose answers teach what it finds. Scripted model.

It needs ``pip install "langchain-hebbgraph[agents]"``.
"""

import re
from typing import Any

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_hebbgraph import CitationLearner, HebbianRetriever, create_citing_retriever_tool

memories = {
    "allergy": "Ann is allergic to hazelnuts, and told us so in March.",
    "flat": "Ann moved to a flat on the third floor, without a lift.",
    "cake": "For her birthday Ann wants a cake like the one at Kelder's bakery.",
    "dog": "Ann's dog is called Plum and is afraid of thunder.",
}


class Scripted(BaseChatModel):
    """Searches once, then cites the memory that says what Ann must not eat."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        found = [str(m.content) for m in messages if isinstance(m, ToolMessage)]
        if found:
            (key,) = re.findall(r"\[(\d+)\][^\[]*?hazelnuts", found[-1])
            message = AIMessage(f"One without hazelnuts [{key}].")
        else:
            call = {"name": "remember", "args": {"query": messages[-1].content}, "id": "1"}
            message = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])


documents = [Document(text, id=name) for name, text in memories.items()]
retriever = HebbianRetriever.from_documents(documents, path=":memory:", k=4)
tool = create_citing_retriever_tool(retriever, "remember", "Search what we know of people.")
agent = create_agent(Scripted(), [tool])

learner = CitationLearner(retriever, actor="assistant")
question = "Which cake may Ann have for her birthday?"
state = agent.invoke({"messages": [HumanMessage(question)]}, {"callbacks": [learner]})
print(state["messages"][-1].content)
learner.close()

after = retriever.invoke("What cake can Ann have?")
print("now remembered for cakes:", [document.id for document in after])
assert "allergy" in [document.id for document in after[:2]]
retriever.close()
