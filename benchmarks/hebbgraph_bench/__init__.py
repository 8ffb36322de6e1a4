"""Measures hebbgraph beside what people use instead; the command ``hebbgraph bench``.

``rank`` measures search, ``learn`` what use changes, ``left_out`` whether constants that serve most
corpora serve one more, ``frameworks`` what users of LangChain and LlamaIndex get, ``speed`` time
and memory, ``attacks`` what invented names can do. ``multihop`` makes sets of published files.
``systems`` holds hebbgraph and its nearest rivals as systems of usebench, which reads sets, scores
rankings and has the simple systems.
"""
