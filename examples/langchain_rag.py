"""A LangChain chain whose answers teach its retriever. The model is scripted; use yours."""

import re
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig, RunnablePassthrough
from langchain_hebbgraph import CitationLearner, HebbianRetriever, citation_prompt, format_documents

notes = {
    "refund": "Whoever cancels two days before has the deposit refunded in full.",
    "money": "Bring money in cash; we cannot read cards.",
    "late": "If you come back after dark, ring the bell.",
    "dogs": "Dogs sleep in the wood store, not in the rooms.",
}


class Scripted(BaseChatModel):
    """Cites the passage on refunds by its key, as a model would."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        prompt = "\n".join(str(message.content) for message in messages)
        (key,) = re.findall(r"\[(\d+)\][^\[]*?refunded", prompt)
        message = AIMessage(f"Yes, up to two days before [{key}].")
        return ChatResult(generations=[ChatGeneration(message=message)])


documents = [Document(text, id=name, metadata={"source": name}) for name, text in notes.items()]
retriever = HebbianRetriever.from_documents(documents, path=":memory:", k=4)
context = {"context": retriever | format_documents, "question": RunnablePassthrough()}
chain = context | citation_prompt() | Scripted()


def found(question: str) -> list[str | None]:
    # What does not fit at all scores 0, and is left out here.
    return [document.id for document in retriever.invoke(question, score_threshold=1e-6)]


reworded = "What happens when somebody falls ill?"  # shares "fall ill" with the question taught
print("before:", found(reworded))

learner = CitationLearner(retriever)
config: RunnableConfig = {"callbacks": [learner], "configurable": {"user_id": "ann"}}
print(chain.invoke("Do I get my money back if I fall ill?", config).content)
learner.close()  # it learns in the background; this waits

(lesson,) = retriever.index.lessons()
print("learned:", list(lesson.cited), "from", lesson.actor)
print("after: ", found(reworded))
assert found(reworded)[0] == "refund"
retriever.close()
