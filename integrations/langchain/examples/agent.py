"""An agent with the retriever as a tool; its answer teaches the index.

Run it: ``python agent.py`` (``pip install langchain``). It needs neither network nor API key.
"""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from scripted import ScriptedChat, documents

from langchain_hebbgraph import CitationLearner, HebbianRetriever, create_citing_retriever_tool

# With a real model: llm = "anthropic:claude-sonnet-4-5"
llm = ScriptedChat()

retriever = HebbianRetriever.from_documents(documents(), k=8)
agent = create_agent(
    llm,
    [create_citing_retriever_tool(retriever, "search_library", "Search the ship library.")],
)


def main() -> None:
    lessons = []
    learner = CitationLearner(on_lesson=lessons.append).install()  # listens to all runs
    question = HumanMessage("Who drew the plans of the lighthouse?")
    state = agent.invoke({"messages": [question]})
    answer = state["messages"][-1]
    print("answer:", answer.text)

    learner.flush()
    print("learned:", [feedback.cited for feedback in lessons])

    # Later, when the user clicks a thumb:
    learner.feedback(answer.id, good=False)
    print("taken back:", [feedback.rejected for feedback in lessons[1:]])
    learner.uninstall()


if __name__ == "__main__":
    main()
