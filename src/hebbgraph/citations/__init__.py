"""From an answer to what it teaches: the chunks it cites, and the recalls that get the credit.

The steps are the same for every framework::

    rendered = Formatter().render(chunks)       # before: rendered.text goes into the prompt
    rendered = rendered_in(prompt, chunks)      # or after: read back from any prompt
    cited = parse_citations(answer, rendered)   # chunk ids, in the order of the answer
    lessons = share_credit(cited, rendered.ids, recalls)
    for lesson in lessons:
        lesson.teach()                          # index.reinforce(...)

An adapter subclasses :class:`FrameworkLearner`: it collects the recalls, prompts and replies of a
request and submits them at once. Without a subclass::

    Learner().submit(lambda: Exchange(recalls=[...], replies=[Reply(prompt=..., text=...)]))

``hebbgraph.testing.citations`` is the suite that every adapter must pass.

What counts as a citation depends on the prompt, and no document is trusted:

* A marker counts if it is a key before a chunk's text in the prompt, or the id of a shown chunk.
  ``[3]`` means nothing if no third key was rendered.
* A document may contain ``[2]``, or ask to be cited. The formatter then renders keys that occur
  in no document, such as ``[bqx2]``. Keys of other formatters that occur in a shown text are
  ignored.
* A key before two different chunks is ignored.

Parsing is pure, deterministic, bounded and linear in its input; reading sources back from a
prompt searches it once for each source.

=================  =====================================================================
``formatter``      writes sources into a prompt
``shown``          finds the sources in a prompt, and by ``keys`` the key before each
``rendered``       the sources of a prompt and their keys
``cited``          reads what an answer cites, by ``markers`` or in structured answers
``dismissals``     recognises sources that it calls no help, by the ``wordings`` of languages
``credit``         credits each cited chunk to one recall
``exchange``       a request and its answer: everything that decides what is learned
``outcomes``       what became of each answer, counted and logged
``belief``         warns of actors whose lessons count next to nothing
``learner``        teaches what answers cite and takes verdicts, in the threads of ``worker``
``options``        what a learner and a verdict can be told
``answer``         an answer that can be judged, and its records
``answers``        finds the answer that a name means, and the recalls of earlier turns
``rewordings``     recognises a question that is asked again
=================  =====================================================================
"""

from __future__ import annotations

from hebbgraph.citations.cited import MAX_ANSWER_CHARACTERS as MAX_ANSWER_CHARACTERS
from hebbgraph.citations.cited import (
    Cited,
    Judge,
    parse_annotations,
    parse_citations,
    parse_structured,
    read_citations,
)
from hebbgraph.citations.credit import Lesson, Recalled, TeachableIndex, share_credit
from hebbgraph.citations.exchange import Exchange, Reply, sources_of
from hebbgraph.citations.formatter import CITATION_INSTRUCTION, Formatter
from hebbgraph.citations.learner import FrameworkLearner, Learner
from hebbgraph.citations.options import (
    Actor,
    LearnerOptions,
    Trusted,
    actor_by,
    user_id,
)
from hebbgraph.citations.outcomes import Journal, Outcome, Reason
from hebbgraph.citations.rendered import Rendered, Source, SourceLike
from hebbgraph.citations.shown import MAX_PROMPT_CHARACTERS as MAX_PROMPT_CHARACTERS
from hebbgraph.citations.shown import rendered_in, shown_in
from hebbgraph.citations.worker import CLOSING_SECONDS, finish_learning

__all__ = [
    "CITATION_INSTRUCTION",
    "CLOSING_SECONDS",
    "Actor",
    "Cited",
    "Exchange",
    "Formatter",
    "FrameworkLearner",
    "Journal",
    "Judge",
    "Learner",
    "LearnerOptions",
    "Lesson",
    "Outcome",
    "Reason",
    "Recalled",
    "Rendered",
    "Reply",
    "Source",
    "SourceLike",
    "TeachableIndex",
    "Trusted",
    "actor_by",
    "finish_learning",
    "parse_annotations",
    "parse_citations",
    "parse_structured",
    "read_citations",
    "rendered_in",
    "share_credit",
    "shown_in",
    "sources_of",
    "user_id",
]
