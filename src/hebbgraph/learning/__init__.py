"""Learning from citations: how a citation changes the next ranking.

The rule in short. Each chunk keeps the sum of the questions that cited it, and a new question
raises the chunk's score by its cosine with that sum. A lesson enters the sum with its weight: how
far its actor is believed, less as other lessons follow. How much a cosine may add is fitted to
exams. Everything is a function of the feedback log, so forgetting is exact.

Read the files in this order. First, from a citation to a ranking:

================= ====================================================================
``judgements``    what somebody says of chunks: cited, rejected, rated, and why
``feedback``      the record that the log keeps, from a recall and judgements
``cues``          the words and names of a question, as numbers
``lessons``       the log as columns; everything below is computed from them
``associations``  for each chunk, the sum of the questions that cited it
``recollection``  what a question brings back, added to the scores of search
================= ====================================================================

Then, what a lesson weighs and how far memory is trusted:

================= ====================================================================
``actors``        who taught, and how far each is believed
``weighing``      what each lesson weighs: belief, less as others come after it
``kinds``         what implicit feedback weighs, such as that a passage was opened
``exams``         each lesson asked again without itself, to fit trust in memory
``epoch``         all of that, at each step of a clock, and what lessons since change
``memory``        keeps it in step with the log and the graph
================= ====================================================================

And around it:

================= ====================================================================
``slots``         which chunk of the graph each taught chunk is
``snapshot``      the folded log on disk
``survey``        which lessons are in force, and what many people reject
``effects``       which feedback moved a score, for ``explain``
``forgetting``    what forgetting would change
``undo``          the way back from forgetting, for some minutes
================= ====================================================================

The formulas are :mod:`hebbgraph.formulas.association` (the rule),
:mod:`hebbgraph.formulas.claims` and :mod:`hebbgraph.formulas.credibility` (belief), and
:mod:`hebbgraph.formulas.trust` (exams). The log is :mod:`hebbgraph.store.feedback_log`, and
:mod:`hebbgraph.teacher` writes it. *Feedback* is the record in the log; a *lesson* is a feedback as
it is folded here.
"""
