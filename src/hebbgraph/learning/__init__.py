"""Lessons to learned edges: rows that a recall looks up as it looks postings up.

=============== =====================================================================
``lessons``     lessons as rows, and what one records
``folding``     what the lessons on one question teach, and the edges that change by it
``fitting``     how far learning is trusted, by exams
``teaching``    what the verbs of the index call: teach, forget, list
``memory``      what past lessons say of a question
``graph``       tags and their edges, for people
=============== =====================================================================
"""
