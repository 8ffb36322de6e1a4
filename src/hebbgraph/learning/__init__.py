"""Learning from citations: feedback in, learned weights out.

Data flows through the room in this order:

==================== ================================================================
``feedback``         a recall and what an answer cites, checked: the record that is logged
``corrected``        a feedback, read through corrections to tags
``traces``           a feedback to the edges that it speaks of, with credit
``episodes``         past queries, and which of them a new query is like
``weights``          the fold: traces, one feedback after the other, to raw weights
``overlay``          raw weights in the numbers of one graph; what a question brings back
``memory``           all of it, kept in step with the log and the graph
``preview``          what forgetting would change
``effects``          which feedback moved a score, for ``explain``
==================== ================================================================

The rule that changes a weight is in :mod:`hebbgraph.formulas.plasticity`; the bounds that apply
when weights are read, in :mod:`hebbgraph.formulas.homeostasis`. The log is
:mod:`hebbgraph.store.feedback_log`, and :mod:`hebbgraph.teacher` writes it: ``reinforce``,
``forget``, import and prune. *Feedback* is the record of one lesson; a *lesson* is what
:mod:`hebbgraph.citations` wants one recall to be taught.
"""
