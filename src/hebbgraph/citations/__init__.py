"""From an answer to what it teaches: which chunks it cites, and which recall gets the credit.

An answer goes one straight way, whichever framework it comes from::

    rendered = Formatter().render(chunks)       # before: rendered.text goes into the prompt
    rendered = rendered_in(prompt, chunks)      # or after: read it back from any prompt
    cited = parse_citations(answer, rendered)   # chunk ids, in the order of the answer
    lessons = share_credit(cited, rendered.ids, recalls)
    for lesson in lessons:
        lesson.teach()                          # index.reinforce(...)

An adapter for a framework takes it in one step. It notes the recalls, prompts and replies of
a request, and hands them to a learner as an exchange; everything else happens here::

    learner.submit(lambda: Exchange(recalls=[...], replies=[Reply(prompt=..., text=...)]))

``hebbgraph.testing.citations`` holds the suite that every adapter has to pass.

What an answer cites is decided by what stood in the prompt, never by trust:

* A marker counts if it is a key that stood before a chunk's text in the prompt, or names
  the id of a chunk that was shown. ``[3]`` means nothing when no third key was rendered.
* A document may contain ``[2]``, or ask to be cited. The formatter then renders keys that
  occur in no document, such as ``[bqx2]``, so a marker copied out of a document is never a
  key. A key that does stand in a shown text, because another formatter let it, counts for
  nothing.
* A key that stands before two different chunks counts for neither.

Reading is pure, deterministic and bounded, and takes time linear in its input; reading
sources back from a prompt looks for each of them in it.

======================  ==================================================================
``formatter``           writes sources into a prompt
``shown``               finds the sources that stand in a prompt
``cited``               reads what an answer cites
``rendered``            what passes between those three: sources and their keys
``markers``             what a marker looks like
``credit``              which recall is credited with which cited chunk
``exchange``            a request and its answer; what it teaches, or why nothing
``conversations``       what earlier turns recalled
``learner``             teaches the indexes, takes lessons back
``worker``              the background thread
======================  ==================================================================
"""

from __future__ import annotations

from hebbgraph.citations.cited import MAX_ANSWER_CHARACTERS as MAX_ANSWER_CHARACTERS
from hebbgraph.citations.cited import (
    parse_annotations,
    parse_citations,
    parse_structured,
)
from hebbgraph.citations.conversations import Conversations
from hebbgraph.citations.credit import Lesson, Recalled, TeachableIndex, share_credit
from hebbgraph.citations.exchange import Exchange, Outcome, Reason, Reply, sources_of
from hebbgraph.citations.formatter import CITATION_INSTRUCTION, Formatter
from hebbgraph.citations.learner import Actor, Learner, user_id
from hebbgraph.citations.rendered import Rendered, Source, SourceLike
from hebbgraph.citations.shown import MAX_PROMPT_CHARACTERS as MAX_PROMPT_CHARACTERS
from hebbgraph.citations.shown import rendered_in, shown_in

__all__ = [
    "CITATION_INSTRUCTION",
    "Actor",
    "Conversations",
    "Exchange",
    "Formatter",
    "Learner",
    "Lesson",
    "Outcome",
    "Reason",
    "Recalled",
    "Rendered",
    "Reply",
    "Source",
    "SourceLike",
    "TeachableIndex",
    "parse_annotations",
    "parse_citations",
    "parse_structured",
    "rendered_in",
    "share_credit",
    "shown_in",
    "sources_of",
    "user_id",
]
