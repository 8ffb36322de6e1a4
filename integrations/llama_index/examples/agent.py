"""An agent with the retriever as its tool; the index learns what its answers cite."""

from __future__ import annotations

import asyncio

from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.instrumentation.dispatcher import instrument_tags
from offline import ScriptedLLM, documents

from llama_index.retrievers.hebbgraph import CitationLearner, HebbianRetriever, citing_tool
from llama_index.retrievers.hebbgraph.prompts import CITATION_INSTRUCTION

llm = ScriptedLLM(agent=True)  # use FunctionAgent for models with tool calls

retriever = HebbianRetriever.from_documents(documents(), similarity_top_k=12)
agent = ReActAgent(
    tools=[citing_tool(retriever, description="Finds sources about the coast of Vellmark.")],
    llm=llm,
    system_prompt=CITATION_INSTRUCTION,
)
QUESTION = "Who liked to keep insects in town?"


async def main() -> None:
    learner = CitationLearner().install()  # once, for the whole application
    with instrument_tags({"user_id": "ida"}):  # who asks, and teaches
        output = await agent.run(QUESTION)
    print("Q:", QUESTION)
    print("A:", output)
    await learner.aflush()
    first = (await retriever.aretrieve("Who did keep insects?"))[0]
    print("First for a reworded question:", first.text)
    learner.uninstall()


if __name__ == "__main__":
    asyncio.run(main())
