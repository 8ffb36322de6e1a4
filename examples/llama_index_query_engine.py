"""A LlamaIndex query engine whose answers teach its index. The model is scripted; use yours."""

import re
from typing import Any

from llama_index.core import Document
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.retrievers.hebbgraph import CitationLearner, HebbianGraphIndex

notes = {
    "refund": "Whoever cancels two days before has the deposit refunded in full.",
    "money": "Bring money in cash; we cannot read cards.",
    "late": "If you come back after dark, ring the bell.",
    "dogs": "Dogs sleep in the wood store, not in the rooms.",
}


class Scripted(CustomLLM):
    """Cites the passage on refunds by its key, as a model would."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        (key,) = re.findall(r"\[(\d+)\][^\[]*?refunded", prompt)
        return CompletionResponse(text=f"Yes, up to two days before [{key}].")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        yield self.complete(prompt)


documents = [Document(text=text, id_=name) for name, text in notes.items()]
index = HebbianGraphIndex.from_documents(documents, path=":memory:")
engine = index.as_query_engine(llm=Scripted(), cite=True, similarity_top_k=4)


def found(question: str) -> list[str | None]:
    # What does not fit at all scores 0, and is left out here.
    retriever = index.as_retriever(similarity_top_k=4, similarity_cutoff=1e-6)
    return [result.node.ref_doc_id for result in retriever.retrieve(question)]


reworded = "What happens when somebody falls ill?"  # shares "fall ill" with the question taught
print("before:", found(reworded))

with CitationLearner(index, actor="ann") as learner:
    print(engine.query("Do I get my money back if I fall ill?"))

(lesson,) = index.index.lessons()
print("learned:", learner.counts, "from", lesson.actor)
print("after: ", found(reworded))
assert found(reworded)[0] == "refund"
index.close()
