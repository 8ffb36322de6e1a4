"""Ours beside what LangChain and LlamaIndex have themselves: see :mod:`.__main__`."""
