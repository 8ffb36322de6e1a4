"""hebbgraph beside the retrievers of LangChain and LlamaIndex; see :mod:`.__main__`."""
