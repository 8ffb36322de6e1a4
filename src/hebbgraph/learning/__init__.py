"""Learning from citations: feedback in, plastic weights out.

A citation becomes a *lesson* (:mod:`~hebbgraph.learning.lessons`); a *rule*
(:mod:`~hebbgraph.formulas.plasticity`) turns lessons, one after the other, into raw weights
(:mod:`~hebbgraph.learning.weights`); a recall reads them through
:mod:`~hebbgraph.learning.memory`.
"""
