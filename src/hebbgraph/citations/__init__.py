"""From an answer to what it teaches: the chunks it cites, and the recalls that get the credit.

It is the same for every framework; messages and prompts are read by their shape.
"""

from hebbgraph.citations.answer import Denials, Reading, read_answer
from hebbgraph.citations.exchange import Outcome, Reason, Reply
from hebbgraph.citations.learner import Learner
from hebbgraph.citations.passages import (
    CITATION_INSTRUCTION,
    NumberedPassages,
    PassageLike,
    number_passages,
    shown_in,
)
from hebbgraph.records import Passage, Shown

__all__ = [
    "CITATION_INSTRUCTION",
    "Denials",
    "Learner",
    "NumberedPassages",
    "Outcome",
    "Passage",
    "PassageLike",
    "Reading",
    "Reason",
    "Reply",
    "Shown",
    "number_passages",
    "read_answer",
    "shown_in",
]
