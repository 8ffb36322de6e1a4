"""Find the sections, labels, references and symbols of reStructuredText.

The text itself is not converted. As in Sphinx, labels and symbols are known in all documents.
"""

from __future__ import annotations

import re

from hebbgraph_documents.links import Mark
from hebbgraph_documents.outline import MAX_HEADING_CHARS, Heading

__all__ = ["label_address", "rst_headings", "rst_marks"]

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{1,}[ \t]*")
_LABEL = re.compile(r"\.\. _([^:`\n]{1,200}|`[^`\n]{1,200}`):[ \t]*(\S*)[ \t]*")
_SYMBOL = re.compile(
    r"\s{0,40}\.\. (?:py:|c:|js:|rst:)?"
    r"(?:function|class|method|classmethod|staticmethod|module|data|attribute|exception|property)"
    r"::[ \t]+([\w.]{1,200})"
)
_ROLE = re.compile(r":([a-z][a-z:]{0,30}):`([^`\n]{1,300})`")
_TARGETED = re.compile(r"[^`]{0,300}<([^<>`]{1,300})>", re.DOTALL)
_LINK = re.compile(r"(?<![:`\w])`[^`<>\n]{0,300}<([^<>`\s]{1,300})>`__?")
_NAMED = re.compile(r"(?:(?<![\w`])`([^`<>\n]{1,200})`|(?<![\w`])(\w[\w.-]{0,100}))_(?![\w_])")
_LABELS = frozenset(("ref", "numref", "std:ref"))
_SYMBOLS = frozenset(("func", "class", "meth", "mod", "attr", "exc", "data", "obj"))


def label_address(label: str) -> str:
    """Return the address of a label, the same from every document.

    >>> label_address("`Set  up`")
    'label:set up'
    """
    return "label:" + " ".join(label.strip("`").casefold().split())


def rst_headings(text: str) -> tuple[Heading, ...]:
    r"""Find the section titles; levels follow from the order in which adornments appear.

    Examples
    --------
    >>> headings = rst_headings("=====\nBrain\n=====\n\nIt learns.\n\nMemory\n------\n")
    >>> [(heading.level, heading.text, heading.start, heading.stop) for heading in headings]
    [(1, 'Brain', 0, 3), (2, 'Memory', 6, 8)]
    """
    lines = text.split("\n")
    levels: dict[tuple[str, bool], int] = {}
    headings: list[Heading] = []
    for at in range(1, len(lines)):
        title, under = lines[at - 1].strip(), lines[at]
        if not title or len(title) > MAX_HEADING_CHARS or not _ADORNMENT.fullmatch(under):
            continue
        if len(under.rstrip()) < len(title) or _ADORNMENT.fullmatch(title):
            continue
        over = at > 1 and lines[at - 2].rstrip() == under.rstrip()
        start = at - 2 if over else at - 1
        if not over and (lines[at - 1][0].isspace() or (at > 1 and lines[at - 2].strip())):
            continue  # a table, or the last line of a paragraph
        if headings and start < headings[-1].stop:
            continue
        level = levels.setdefault((under[0], over), len(levels) + 1)
        headings.append(Heading(min(level, 6), title, start, at + 1))
    return tuple(headings)


def rst_marks(text: str) -> list[Mark]:
    r"""Find labels, symbols and references.

    Examples
    --------
    >>> text = ".. _set-up:\n\nSee :ref:`rules <the-rules>`, :doc:`/api`; `home <https://e.org>`_."
    >>> [(mark.line, mark.target) for mark in rst_marks(text)]
    [(2, 'set-up'), (2, 'label:set-up'), (2, 'label:the-rules'), (2, '/api'), (2, 'https://e.org')]
    """
    named: dict[str, str] = {}
    marks: list[Mark] = []
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if label := _LABEL.fullmatch(line):
            name = " ".join(label[1].strip("`").casefold().split())
            if label[2]:
                named[name] = label[2]
            else:
                at = _labelled(lines, number)
                marks += [Mark(at, name, True), Mark(at, label_address(name), True)]
        elif symbol := _SYMBOL.match(line):
            marks.append(Mark(number, f"symbol:{symbol[1]}", True))
    for number, line in enumerate(lines):
        if "`" not in line and "_" not in line:
            continue
        for role, content in _ROLE.findall(line):
            targeted = _TARGETED.fullmatch(content)
            target = targeted[1] if targeted else content
            if role in _LABELS:
                marks.append(Mark(number, label_address(target), False))
            elif role == "doc":
                marks.append(Mark(number, target, False))
            elif role.rpartition(":")[2] in _SYMBOLS:
                marks.append(
                    Mark(number, f"symbol:{target.lstrip('~.!').removesuffix('()')}", False)
                )
        marks += [Mark(number, target, False) for target in _LINK.findall(line)]
        for words, word in _NAMED.findall(line) if named else ():
            if target := named.get(" ".join((words or word).casefold().split())):
                marks.append(Mark(number, target, False))
    return sorted(marks, key=lambda mark: mark.line)


def _labelled(lines: list[str], label: int) -> int:
    """Return the line that a label marks: the next one with text, mostly a title."""
    for at in range(label + 1, len(lines)):
        if lines[at].strip() and not _LABEL.fullmatch(lines[at]):
            return at
    return label
