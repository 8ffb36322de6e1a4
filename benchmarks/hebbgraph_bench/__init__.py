"""Compares hebbgraph with other retrievers; the command ``hebbgraph bench``.

``rank`` measures search, ``learn`` the effect of use, ``left_out`` whether constants fitted to most
corpora fit one more, ``frameworks`` what users of LangChain and LlamaIndex get, ``speed`` time and
memory, ``attacks`` what invented names can do. ``multihop`` makes sets from published files.
``systems`` has hebbgraph and its closest rivals as systems of usebench, which reads sets, scores
rankings and contains the simple systems.
"""
