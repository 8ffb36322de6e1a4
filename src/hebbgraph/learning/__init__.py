"""Learning from citations: feedback in, learned weights out.

Data flows through the room in this order:

==================== ================================================================
``feedback``         a recall and what an answer cites, checked: the record that is logged
``corrected``        a feedback, read through corrections to tags
``traces``           a feedback to the edges that it speaks of, with credit
``actors``           who taught, and how far each is believed
``episodes``         past queries, and which of them a new query is like
``weights``          the fold: traces, one feedback after the other, to raw weights
``names``, ``rows``  what weights are held in: names by number, numbers by key
``postings``         what past queries are held in: which have which feature
``corpus``           parameters of the corpus that follow from the latest citations
``overlay``          raw weights in the numbers of one graph; what a question brings back
``memory``           all of it, kept in step with the log and the graph
``snapshot``         what was folded, on disk
``preview``          what forgetting would change
``forgotten``        what was forgotten a moment ago, so that it can be undone
``effects``          which feedback moved a score, for ``explain``
==================== ================================================================

The rule that changes a weight is in :mod:`hebbgraph.formulas.plasticity`; the bounds that apply
when weights are read, in :mod:`hebbgraph.formulas.homeostasis`. The log is
:mod:`hebbgraph.store.feedback_log`, and :mod:`hebbgraph.teacher` writes it: ``reinforce``,
``forget``, import and prune. *Feedback* is the record of one lesson; a *lesson* is what
:mod:`hebbgraph.citations` wants one recall to be taught.
"""
