"""Measuring what is learned, what attacks do to it, and what it costs.

``use`` runs usebench with hebbgraph in it. ``attacks`` says what wrong citations do, ``untouched``
what learning does to questions that share nothing with the past, ``growth`` what many feedbacks
cost; ``splits`` says for these what is learned and what is asked, ``teachers`` who cites what, and
``learners`` opens the index.
"""
