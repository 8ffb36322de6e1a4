"""Thirty questions about Python's language reference, each in two wordings.

The texts are ``pydoc_data.topics``, part of every Python. A passage answers a question if it
contains the words listed with it.
"""

from __future__ import annotations

import re
from pydoc_data.topics import topics
from typing import NamedTuple

__all__ = ["QUESTIONS", "Question", "cite", "corpus", "holds"]


class Question(NamedTuple):
    """A question, a rewording, and words of the passage that answers it."""

    asked: str
    reworded: str
    answer: str


QUESTIONS = (
    Question(
        "What is __debug__ when optimization is requested?",
        "Are assertions still run with the -O switch?",
        '"False" when optimization is requested',
    ),
    Question(
        "What value does the loop target keep after break?",
        "I left a for loop early; what is its variable afterwards?",
        "the loop control target keeps its current value",
    ),
    Question(
        "Why can lambda not contain statements?",
        "May an anonymous function have type hints or a return statement?",
        "created with lambda expressions cannot contain statements or annotations",
    ),
    Question(
        "How is a right shift by n bits defined?",
        "What does >> compute for integers?",
        "right shift by *n* bits is defined as floor division",
    ),
    Question(
        "How is the bitwise inversion of x defined?",
        "What number does the tilde operator give?",
        'bitwise inversion of "x" is defined as',
    ),
    Question(
        "What happens when a bare raise finds no active exception?",
        "Which error do I get from raise without arguments outside of a handler?",
        "there isn’t currently an active exception",
    ),
    Question(
        "Is there a limit for the length of integer literals?",
        "How many digits may a whole number in source code have?",
        "no limit for the length of integer literals",
    ),
    Question(
        "In which radix is the exponent of floating point literals interpreted?",
        "Is 077e010 octal?",
        "always interpreted using radix 10",
    ),
    Question(
        "Are empty strings substrings of any other string?",
        "What does the membership test say of '' in a text?",
        "Empty strings are always considered to be a substring",
    ),
    Question(
        "When is __del__ called?",
        "At which moment does the finalizer of an object run?",
        "Called when the instance is about to be destroyed",
    ),
    Question(
        "How are private names mangled?",
        "What becomes of attributes that begin with two underscores inside a class?",
        "Private names are transformed to a longer form",
    ),
    Question(
        "Does a return in finally discard the saved exception?",
        "My error vanishes when the cleanup code returns; why?",
        "the saved exception is discarded",
    ),
    Question(
        "When are default parameter values evaluated?",
        "Why is a list as a default argument shared between calls?",
        "Default parameter values are evaluated from left to right when",
    ),
    Question(
        "In which order are decorators applied?",
        "With two @ lines above a function, which wraps first?",
        "Multiple decorators are applied in nested fashion",
    ),
    Question(
        "Which steps does a with statement take?",
        "When are __enter__ and __exit__ looked up and called?",
        'The context manager’s "__enter__()" is loaded',
    ),
    Question(
        "How are the public names of a module determined?",
        "Which list decides what from module import * takes?",
        'a variable named "__all__"',
    ),
    Question(
        "Do dictionaries preserve insertion order?",
        "Can I rely on the sequence in which keys were put into a dict?",
        "Dictionaries preserve insertion order",
    ),
    Question(
        "Which values are interpreted as false?",
        "What counts as untrue in an if?",
        "numeric zero of all types",
    ),
    Question(
        "How do I escape a brace in a format string?",
        "How can I print { literally with str.format?",
        'it can be escaped by doubling: "{{" and "}}"',
    ),
    Question(
        "What does str.casefold do that lower does not?",
        "How do I compare texts without regard to case, German sharp s included?",
        "Casefolding is similar to lowercasing but more aggressive",
    ),
    Question(
        "What does the debugger command until do?",
        "How do I let pdb run to a greater line number?",
        "continue execution until the line with a number greater than the current one",
    ),
    Question(
        "How do I set a conditional breakpoint in the debugger?",
        "Can pdb stop only if an expression holds?",
        "must evaluate to true before the breakpoint is honored",
    ),
    Question(
        "What does eval see when names are resolved?",
        "Why does exec not find a variable of the enclosing function?",
        "do not have access to the full environment for resolving names",
    ),
    Question(
        "Must names of a nonlocal statement exist already?",
        "Can I create a variable of an outer function by declaring it?",
        "must refer to pre-existing bindings in an enclosing scope",
    ),
    Question(
        "What does a class need when it overrides __eq__ but not __hash__?",
        "Why did my objects become unhashable after I defined equality?",
        'will have its "__hash__()" implicitly set to "None"',
    ),
    Question(
        "What does it cost to concatenate immutable sequences repeatedly?",
        "Is building a long text with += in a loop slow?",
        "quadratic runtime cost in the total sequence length",
    ),
    Question(
        "What does __slots__ do?",
        "How can instances do without a __dict__ to save memory?",
        "allow us to explicitly declare data members",
    ),
    Question(
        "How often is an expression evaluated in a chained comparison?",
        "Does 1 < f() < 5 call f twice?",
        "Comparisons can be chained arbitrarily",
    ),
    Question(
        "What is raised when a generator function returns?",
        "How does a caller learn that a function with yield has ended?",
        'will cause "StopIteration" to be raised',
    ),
    Question(
        "Is yield from allowed inside a coroutine function?",
        "Which error does delegating to a subgenerator in async def give?",
        'to use a "yield from" expression inside the body of a coroutine function',
    ),
)

_KEYED = re.compile(r"^\[(\w+)\]", re.MULTILINE)
#: Topics that repeat others.
_REPEATED = {"compound", "specialnames", "types"}


def corpus() -> dict[str, str]:
    """Return the language reference by topic."""
    return {name: text for name, text in sorted(topics.items()) if name not in _REPEATED}


def holds(text: str, question: Question) -> bool:
    """Return whether a passage contains the answer."""
    return " ".join(question.answer.split()) in " ".join(text.split())


def cite(prompt: str) -> str:
    """Answer like a model: cite the first source with the answer."""
    (question,) = [
        candidate for candidate in QUESTIONS if prompt.rstrip().endswith(candidate.asked)
    ]
    keys = list(_KEYED.finditer(prompt))
    for place, key in enumerate(keys):
        end = keys[place + 1].start() if place + 1 < len(keys) else len(prompt)
        if holds(prompt[key.end() : end], question):
            return f"It says so [{key.group(1)}]."
    return "The sources do not say."
