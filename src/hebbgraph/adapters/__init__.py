"""What the adapters to LlamaIndex and LangChain share; the index itself needs none of it.

====================  ==================================================================
``search_options``    options of a search that frameworks have no argument for
``seed_vectors``      ways to read the vectors of a wrapped store
``diversity``         hits whose words differ
``latest_recalls``    which recall a result came from, for ``retriever.why``
``questions``         a question as adapters ask it, perhaps over a store that others change
``tenants``           which index a request is for, over a pool
====================  ==================================================================
"""
