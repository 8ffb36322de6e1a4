"""Markdown and reStructuredText without what serves only the program that renders them.

Anchors and links that are no part of the text are marked: U+E000 anchor U+E002, and U+E001 target
U+E002. :func:`take_marks` takes the marks out and returns where they stood.
"""

from __future__ import annotations

import html
import re
from textwrap import dedent

#: Offsets, and where the anchors and links there point to.
Places = list[tuple[int, str]]

_MARK = re.compile("([\ue000\ue001])([^\ue000-\ue002\n]{0,2048})\ue002|[\ue000-\ue002]")
#: Code stays as it is: a fence up to its end, a span within a paragraph.
_CODE = re.compile(
    r"(?ms)(?P<comment><!--.*?(?:-->|\Z))"
    r"|^(?P<fence>[ \t>]*(?P<mark>`{3,}+|~{3,}+)[^\n]*\n.*?(?:^[ \t>]*(?P=mark)[`~]*[ \t]*$|\Z))"
    r"|(?<!`)(?P<span>(?P<ticks>`++)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=ticks)(?!`))"
)
_FRONT_MATTER = re.compile(r"\A\s*---[ \t]*\n((?:[^\n]*\n){0,300}?)(?:---|\.\.\.)[ \t]*\n")
_TITLE = re.compile(r"(?m)^title:[ \t]*[\"']?([^\n]*?)[\"']?[ \t]*$")
#: A fence with a directive of MyST: its name, argument and body.
_DIRECTIVE = re.compile(
    r"(?s)[ \t>]*[`~]{3,}[ \t]*\{([\w:-]+)\}[ \t]*([^\n]*)\n"
    r"(?:[ \t]*:[\w-]+:[^\n]*\n)*(.*?)\n?[ \t>]*[`~]*[ \t]*\Z"
)
_SHOWN_AS_CODE = {"code", "code-block", "sourcecode", "code-cell", "prompt", "ipython", "eval-rst"}
_RST_LINES = re.compile(r"(?m)^[ \t]*\.\. [\w:-]+::[^\n]*\n?(?:[ \t]+:[^\n]*\n?)*")
_DEEPEST = 5  # directives within others
_ROLE = re.compile(r"\{[\w:.+-]+\}\Z")

_TARGET = r"(?:\([^()\n]*\)|\[[^\[\]\n]*\])"  # of a link or an image
_ATTRIBUTES = r"(?:\s(?:[^<>\"'{}]++|\"[^\"]*+\"|'[^']*+'|\{[^{}\n]*+\}){0,50}+)?"
#: What is replaced outside of code, in this order. Each takes linear time: what a pattern may run
#: over ends where it could begin.
_RULES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?is)<(script|style|svg)\b.*?(?:</\1>|\Z)", ""),
        (r"\{\{[^{}]*\}\}|\{[%!*/][^{}]*\}", ""),  # templates
        (rf"\[!\[[^\[\]\n]*\]{_TARGET}\]{_TARGET}", ""),  # a badge, which is an image that links
        (rf"!\[([^\[\]\n]*)\]{_TARGET}(?:\{{[^{{}}\n]*\}})?", r"\1"),  # images
        (r"(?i)<a\s[^<>]{0,100}?\b(?:id|name)=[\"']([^\"'<>\n]+)[\"'][^<>]*>", "\ue000\\1\ue002"),
        (
            r"(?i)<a\s[^<>]{0,300}?\bhref=[\"']([^\"'<>\n]+)[\"'][^<>]*>"
            r"([^<]*+(?:<(?!/?a\b)[^<]*+)*+)</a>",
            "\\2\ue001\\1\ue002",
        ),
        (r"(?m)(?<=\S)[ \t]*\{:?[ \t]*#([\w.:-]+)[^{}\n]*\}[ \t]*$", "\ue000\\1\ue002"),
        (r"(?m)^\(([\w.:-]+)\)=[ \t]*$", "\ue000\\1\ue002\ue000label:\\1\ue002"),
        (r"(?m)^::: [\w.]+\n(?:[ \t]+[^\n]*\n)*", ""),  # what mkdocstrings fills in
        (r"(?m)^[ \t]*:{3,}[ \t]*(?:\{[\w:-]+\}|\w*)[ \t]*", ""),  # ::: note
        (
            r"(?m)^[ \t]*(?:!!!|\?{3}\+?|///|===(?=[ \t]+\"))[ \t]*[\w-]*[ \t|]*"
            r"[\"']?([^\n\"']*)[\"']?$",
            r"\1",
        ),  # notes and tabs of MkDocs
        (r"(?m)^[ \t]*\[\[?(?:TOC|_TOC_)\]?\][ \t]*$|^>[ \t]?\[!\w+\][ \t]*$", ""),
        (r"(?m)\{:?[ \t]*[.#][^{}\n]*\}|^\{:[^{}\n]*\}$", ""),  # attributes
        (rf"</?[A-Za-z][\w.-]*+{_ATTRIBUTES}/?>|<>|</>", ""),
    )
]
_JSX = re.compile(
    r"(?m)^(?:import\s[^\n]*from\s[^\n]*|import\s+['\"][^\n]*|export\s(?:[^\n]+\n)*[^\n]*)$"
)
_EXPRESSION = re.compile(r"\{[^{}\n]*\}")
_SYMBOL = re.compile(
    r"(?m)^([ \t]*)\.\. (?:(?:py|c|cpp|js|rst|std):)?(?:function|class|method|classmethod|data|"
    r"staticmethod|attribute|exception|property|decorator|confval|envvar|option|describe)::"
)
_SILENT = re.compile(
    r"(?m)^([ \t]*)\.\. (?:(?:py:)?(?:current)?module|toctree|contents|literalinclude|include"
    r"|sectnum|highlight|index|setting|signal|test(?:setup|cleanup)|only|tabularcolumns|meta|image"
    r"|auto[a-z]+)::"
)


def take_marks(text: str) -> tuple[str, Places, Places]:
    r"""Take the marks out of a text; return it, its anchors and its links.

    An anchor belongs to the text behind it, or to the line that it ends.

    >>> take_marks("# Ice\ue000ice\ue002\n\n\ue000x\ue002\n\nSee salt\ue001s.md\ue002.")
    ('# Ice\n\n\n\nSee salt.', [(4, '#ice'), (9, '#x')], [(16, 's.md')])
    """
    parts, anchors, links = list[str](), Places(), Places()
    last = length = 0
    for mark in _MARK.finditer(text):
        parts.append(text[last : mark.start()])
        length += len(parts[-1])
        last = mark.end()
        if mark[1] == "\ue001":
            links.append((max(length - 1, 0), mark[2]))
        elif mark[1] and mark[2]:
            anchors.append((length, mark[2] if ":" in mark[2][:7] else f"#{mark[2]}"))
    plain = "".join([*parts, text[last:]])
    return plain, [(_text_at(plain, at), name) for at, name in anchors], links


def _text_at(text: str, at: int) -> int:
    if at and not text[at - 1].isspace():
        return at - 1
    visible = re.compile(r"\S").search(text, at)
    return visible.start() if visible else max(at - 1, 0)


def clean_markdown(text: str, *, jsx: bool = False, depth: int = 0) -> tuple[str, str]:
    r"""Return Markdown without front matter, badges, tags and directives, and its declared title.

    >>> clean_markdown("---\ntitle: Ice\n---\n[![ci](x)](y)\n:::{note}\nIt <b>floats</b>.\n:::")
    ('\n\nIt floats.\n', 'Ice')
    """
    text, title = text.replace("\r\n", "\n"), ""
    if front := _FRONT_MATTER.match(text):
        declared = _TITLE.search(front[1])
        title = declared[1] if declared else ""
        text = text[front.end() :]
    parts, last = list[str](), 0
    for code in _CODE.finditer(text):
        before, last = _without_markup(text[last : code.start()], jsx), code.end()
        if code["fence"]:
            parts += (before, _directive(code[0], jsx, depth))
        elif code["span"] and (role := _ROLE.search(before)):
            words, _, target = code[0].strip("`").partition("<")
            shown = words.strip() if target else f"`{words.lstrip('~!')}`"
            parts += (before[: role.start()], shown)
        else:
            parts += (before, code["span"] or "")
    parts.append(_without_markup(text[last:], jsx))
    return re.sub(r"\n{3,}", "\n\n", "".join(parts)), title


def _directive(fence: str, jsx: bool, depth: int) -> str:
    """Return a fence, or what the directive of MyST in it says."""
    directive = _DIRECTIVE.match(fence)
    if directive is None or depth > _DEEPEST:
        return fence
    name, argument, body = directive.groups()
    if name == "eval-rst":
        body = dedent(_RST_LINES.sub("", body)).strip("\n")
    if name in _SHOWN_AS_CODE:
        return f"```{argument}\n{body}\n```" if body else ""
    if _SILENT.match(f".. {name}::"):
        return ""
    if argument[:1].isdigit():  # as in versionadded
        argument = f"{name.removeprefix('version').capitalize()} in {argument}"
    return f"{argument}\n\n{clean_markdown(body, jsx=jsx, depth=depth + 1)[0]}".strip()


def _without_markup(text: str, jsx: bool) -> str:
    if jsx:
        text = _JSX.sub("", text)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return html.unescape(_EXPRESSION.sub("", text) if jsx else text)


def mark_directives(text: str) -> str:
    r"""Rename directives of reStructuredText for `plain.lua`: symbols, and what says nothing.

    >>> mark_directives(".. py:class:: Owl(name)\n\n   It hunts.\n\n.. toctree::\n")
    '.. hebbgraph-symbol:: Owl(name)\n\n   It hunts.\n\n.. hebbgraph-silent::\n'
    """
    text = _SILENT.sub(r"\1.. hebbgraph-silent::", text)
    return _SYMBOL.sub(r"\1.. hebbgraph-symbol::", text)
