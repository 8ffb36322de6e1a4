"""Find the definitions in source code, which become its headings.

No language is parsed. A line with a keyword that many languages use, such as ``class`` or ``fn``,
begins a definition; definitions indented below a class are a level lower.
"""

from __future__ import annotations

import re

from hebbgraph_documents.outline import MAX_HEADING_CHARS, Heading

__all__ = ["CODE", "code_headings"]

#: Suffixes of source code and data, where a line that begins with # is no heading.
CODE = frozenset({
    ".py", ".pyi", ".sh", ".bash", ".zsh", ".fish", ".ps1", ".js", ".jsx", ".ts", ".tsx", ".java",
    ".kt", ".scala", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".go", ".rs", ".rb", ".php", ".pl",
    ".lua", ".r", ".jl", ".swift", ".sql", ".toml", ".ini", ".cfg", ".conf", ".yaml", ".yml",
    ".json", ".xml", ".css", ".tex",
})  # fmt: skip

_DEFINITION = re.compile(
    r"([ \t]*)(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|"
    r"override|open|data|sealed|pub(?:\([a-z]+\))?|unsafe|local|CREATE(?: OR REPLACE)?)[ \t]+){0,5}"
    r"(?:def|class|function|func|fun|fn|struct|enum|interface|trait|impl|module|object|protocol|"
    r"record|sub|TABLE|VIEW|FUNCTION|PROCEDURE)\b[ \t*]*(?:\([^()\n]{0,100}\)[ \t]*)?([\w.]{1,100})"
)
#: Decorators and comments above a definition.
_ABOVE = re.compile(r"[ \t]*(?:@|#\[|//|/\*|\*|#[^!]|--)")


def code_headings(text: str) -> tuple[Heading, ...]:
    r"""Find definitions, each with the decorators and comments directly above it.

    Examples
    --------
    >>> text = "import os\n\nclass Owl:\n    @property\n    def prey(self):\n        pass\n"
    >>> [(heading.level, heading.text, heading.start) for heading in code_headings(text)]
    [(1, 'Owl', 2), (2, 'prey', 3)]
    """
    lines = text.split("\n")
    headings: list[Heading] = []
    depths: list[int] = []
    last = -1
    for at, line in enumerate(lines):
        definition = _DEFINITION.match(line)
        if definition is None:
            continue
        depth = len(definition[1].expandtabs(4))
        while depths and depths[-1] >= depth:
            depths.pop()
        if len(depths) > 1:  # inside a function or method
            continue
        depths.append(depth)
        start = at
        while start > last + 1 and _ABOVE.match(lines[start - 1]):
            start -= 1
        headings.append(Heading(len(depths), definition[2][:MAX_HEADING_CHARS], start, start))
        last = at
    return tuple(headings)
