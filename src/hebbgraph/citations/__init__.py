"""Which chunks did the model see, and which of them does its answer cite?

Both framework integrations ask these two questions here. The straight line is::

    rendered = Formatter().render(chunks)       # before: rendered.text goes into the prompt
    rendered = rendered_in(prompt, chunks)      # or after: read it back from any prompt
    cited = parse_citations(answer, rendered)   # chunk ids, in the order of the answer

What an answer cites is decided by what stood in the prompt, never by trust:

* A marker counts if it is a key that stood before a chunk's text in the prompt, or names
  the id of a chunk that was shown. ``[3]`` means nothing when no third key was rendered.
* A document may contain ``[2]``, or ask for it to be cited. The formatter then renders keys
  that occur in no document, such as ``[bqx2]``, so that a marker copied out of a document
  never is a key. A key that does stand in a shown text, because somebody else's formatter
  let it, counts for nothing.
* A key that stands before two different chunks counts for neither.

Everything here is pure, deterministic and bounded, and takes time linear in its input; reading
sources back from a prompt looks for each of them in it.

``formatter`` writes sources into a prompt, ``shown`` finds those that stand in one, ``cited``
reads what an answer cites. ``rendered`` is what passes between them: sources and their keys.
``markers`` knows what a marker looks like, and nothing of sources.
"""

from __future__ import annotations

from hebbgraph.citations.cited import MAX_ANSWER_CHARACTERS as MAX_ANSWER_CHARACTERS
from hebbgraph.citations.cited import (
    parse_annotations,
    parse_citations,
    parse_structured,
)
from hebbgraph.citations.formatter import CITATION_INSTRUCTION, Formatter
from hebbgraph.citations.rendered import Rendered, Source, SourceLike
from hebbgraph.citations.shown import MAX_PROMPT_CHARACTERS as MAX_PROMPT_CHARACTERS
from hebbgraph.citations.shown import rendered_in, shown_in

__all__ = [
    "CITATION_INSTRUCTION",
    "Formatter",
    "Rendered",
    "Source",
    "SourceLike",
    "parse_annotations",
    "parse_citations",
    "parse_structured",
    "rendered_in",
    "shown_in",
]
