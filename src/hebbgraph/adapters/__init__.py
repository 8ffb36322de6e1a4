"""What the adapters to LlamaIndex and LangChain share; the index itself needs none of it.

====================  ==================================================================
``search_options``    options of a search that frameworks have no argument for
``seed_vectors``      ways to read the vectors of a wrapped store
``diversity``         hits whose words differ
``latest_recalls``    which recall a result came from, for ``retriever.why``
``stored_hits``       recalls only what a wrapped store still has
``tenants``           which index a request is for, over a pool
====================  ==================================================================
"""
