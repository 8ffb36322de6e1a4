"""Markdown and reStructuredText without what serves only the program that renders them.

Anchors and links that are no part of the text are marked: U+E000 anchor U+E002, and U+E001 target
U+E002. :func:`take_marks` takes the marks out and returns where they stood.
"""

from __future__ import annotations

import html
import re
from textwrap import dedent
from typing import NamedTuple

__all__ = ["Marked", "clean_markdown", "mark_directives", "take_marks"]

_MARK = re.compile("([\ue000\ue001])([^\ue000-\ue002\n]{0,2048})\ue002|[\ue000-\ue002]")
#: Code stays as it is: a fence up to its end, a span within a paragraph.
_CODE = re.compile(
    r"(?ms)^(?P<fence>[ \t>]*(?P<mark>`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t>]*(?P=mark)[`~]*[ \t]*$|\Z))"
    r"|(?<!`)(?P<span>(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=ticks)(?!`))"
)
_FRONT_MATTER = re.compile(r"\A\s*---[ \t]*\n((?:[^\n]*\n){0,300}?)(?:---|\.\.\.)[ \t]*\n")
_TITLE = re.compile(r"(?m)^title:[ \t]*[\"']?([^\n]*?)[\"']?[ \t]*$")
_DIRECTIVE = re.compile(r"[ \t>]*[`~]{3,}[ \t]*\{([\w:-]+)\}[ \t]*([^\n]*)\n")
_SHOWN_AS_CODE = {"code", "code-block", "sourcecode", "code-cell", "prompt", "ipython"}
_SINCE = {
    "versionadded": "New in",
    "versionchanged": "Changed in",
    "deprecated": "Deprecated since",
}
_ROLE = re.compile(r"\{[\w:.+-]+\}\Z")
_ROLE_TARGET = re.compile(r"\A(.*?)\s*<([^<>]+)>\Z", re.S)

_TARGET = r"(?:\([^()\n]*\)|\[[^\[\]\n]*\])"  # of a link or an image
_TAG_END = r"(?:\s(?:[^<>\"'{}]|\"[^\"]*\"|'[^']*'|\{[^{}\n]*\})*)?/?>"
#: What is replaced outside of code, in this order.
_RULES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?s)<!--.*?-->|<(script|style|svg)\b.*?</\1>", ""),
        (r"(?s)\{/\*.*?\*/\}|\{%.*?%\}|\{\{.*?\}\}|\{!.*?!\}|\{\*[^{}\n]*\*\}", ""),  # templates
        (rf"\[!\[[^\[\]\n]*\]{_TARGET}\]{_TARGET}", ""),  # a badge, which is an image that links
        (r"!\[[^\[\]\n]*\]\([^()\n]*(?:badge|shields\.io)[^()\n]*\)", ""),
        (rf"!\[([^\[\]\n]*)\]{_TARGET}(?:\{{[^{{}}\n]*\}})?", r"\1"),  # images
        (
            r"(?i)<a\s[^<>]{0,100}?\b(?:id|name)=[\"']([^\"'<>\n]+)[\"'][^<>]{0,100}>",
            "\ue000\\1\ue002",
        ),
        (
            r"(?is)<a\s[^<>]{0,300}?\bhref=[\"']([^\"'<>\n]+)[\"'][^<>]{0,300}>(.*?)</a>",
            "\\2\ue001\\1\ue002",
        ),
        (r"(?m)(?<=\S)[ \t]*\{:?[ \t]*#([\w.:-]+)[^{}\n]*\}[ \t]*$", "\ue000\\1\ue002"),
        (r"(?m)^\(([\w.:-]+)\)=[ \t]*$", "\ue000\\1\ue002\ue000label:\\1\ue002"),
        (r"(?m)^::: [\w.]+\n(?:[ \t]+[^\n]*\n)*", ""),  # what mkdocstrings fills in
        (r"(?m)^[ \t]*:{3,}[ \t]*(?:\{[\w:-]+\}|\w*)[ \t]*", ""),  # ::: note
        (r"(?m)^[ \t]*(?:!!!|\?{3}\+?|///)[ \t]*[\w-]*[ \t|]*[\"']?([^\n\"']*)[\"']?$", r"\1"),
        (r"(?m)^[ \t]*===[ \t]+\"([^\n\"]*)\"$", r"\1"),  # a tab
        (r"(?m)^[ \t]*\[\[?(?:TOC|_TOC_)\]?\][ \t]*$|^>[ \t]?\[!\w+\][ \t]*$", ""),
        (r"(?m)\{:?[ \t]*[.#][^{}\n]*\}|^\{:[^{}\n]*\}$", ""),  # attributes
        (rf"</?[A-Za-z][\w.-]*{_TAG_END}|<>|</>", ""),
    )
]
_JSX = re.compile(
    r"(?m)^(?:import\s[^\n]*from\s[^\n]*|import\s+['\"][^\n]*|export\s(?:[^\n]+\n)*[^\n]*)$"
)
_EXPRESSION = re.compile(r"\{[^{}\n]*\}")
_OBJECT = re.compile(
    r"(?m)^([ \t]*)\.\. (?:(?:py|c|cpp|js|rst|std):)?(?:function|class|method|classmethod|data|"
    r"staticmethod|attribute|exception|property|decorator|confval|envvar|option|describe)::"
    r"(?=[ \t]+\S[^\n]*\n(?:[ \t]*\n|\1[ \t]+:[^\n]*\n)*\1[ \t]+\S)"
)
_SILENT = re.compile(
    r"(?m)^([ \t]*)\.\. (?:(?:py:)?(?:current)?module|toctree|contents|literalinclude|include"
    r"|sectnum|highlight|index|setting|signal|reqmeta|test(?:setup|cleanup)|only|tabularcolumns|meta|image"
    r"|auto[a-z]+)::"
)
_RST_LINES = re.compile(r"(?m)^[ \t]*\.\. [\w:-]+::[^\n]*\n(?:[ \t]+:[^\n]*\n)*")


class Marked(NamedTuple):
    """A text, and the offsets of its anchors and links with where they point to."""

    text: str
    anchors: list[tuple[int, str]]
    links: list[tuple[int, str]]


def take_marks(text: str) -> Marked:
    r"""Take the marks out of a text; an anchor belongs to the text behind it.

    >>> take_marks("# Ice\ue000ice\ue002\n\n\ue000x\ue002\n\nSee salt\ue001s.md\ue002.")
    Marked(text='# Ice\n\n\n\nSee salt.', anchors=[(4, '#ice'), (9, '#x')], links=[(16, 's.md')])
    """
    parts, anchors, links = list[str](), list[tuple[int, str]](), list[tuple[int, str]]()
    last = length = 0
    for mark in _MARK.finditer(text):
        parts.append(text[last : mark.start()])
        length += mark.start() - last
        last = mark.end()
        if mark[1] == "\ue001":
            links.append((max(length - 1, 0), mark[2]))
        elif mark[1] and mark[2]:
            anchors.append((length, mark[2] if ":" in mark[2][:7] else f"#{mark[2]}"))
    plain = "".join([*parts, text[last:]])
    return Marked(plain, [(_forward(plain, at), name) for at, name in anchors], links)


def _forward(text: str, at: int) -> int:
    """Return the offset of the text behind an anchor; one at the end of a line is a heading's."""
    if at and text[at - 1 : at].strip():
        return at - 1
    visible = re.compile(r"\S").search(text, at)
    return visible.start() if visible else max(at - 1, 0)


def clean_markdown(text: str, *, jsx: bool = False) -> tuple[str, str]:
    r"""Return Markdown without front matter, badges, tags and directives, and its declared title.

    >>> clean_markdown("---\ntitle: Ice\n---\n[![ci](x)](y)\n:::{note}\nIt <b>floats</b>.\n:::")
    ('\n\nIt floats.\n', 'Ice')
    """
    text = re.sub("[\ue000-\ue002]", "", text).replace("\r\n", "\n")
    title = ""
    if front := _FRONT_MATTER.match(text):
        declared = _TITLE.search(front[1])
        title = declared[1] if declared else ""
        text = text[front.end() :]
    parts, last = list[str](), 0
    for code in _CODE.finditer(text):
        parts += (_without_markup(text[last : code.start()], jsx), code[0])
        if code["fence"]:
            parts[-1] = _directive(code[0], jsx)
        elif _ROLE.search(parts[-2]):
            parts[-2] = _ROLE.sub("", parts[-2])
            parts[-1] = _role(code[0].strip("`"))
        last = code.end()
    parts.append(_without_markup(text[last:], jsx))
    return re.sub(r"\n{3,}", "\n\n", "".join(parts)), title


def _directive(fence: str, jsx: bool) -> str:
    """Return a fence, or what the directive of MyST in it says."""
    opening = _DIRECTIVE.match(fence)
    if opening is None:
        return fence
    name, argument = opening.groups()
    body = re.sub(r"\n[^\n]*\Z", "\n", "\n" + fence[opening.end() :]).removeprefix("\n")
    body = re.sub(r"\A(?:[ \t]*:[\w-]+:[^\n]*\n)+", "", body)
    if name in _SHOWN_AS_CODE:
        return f"```{argument}\n{body.strip(chr(10))}\n```"
    if _SILENT.match(f".. {name}::"):
        return ""
    if name == "eval-rst":
        shown = re.sub(r"(?m)^[ \t]*\.\. [\w:-]+::[^\n]*\n(?:[ \t]+:[^\n]*\n)*", "", body).strip(
            "\n"
        )
        return f"```\n{dedent(shown)}\n```" if shown.strip() else ""
    if name in _SINCE:
        argument = f"{_SINCE[name]} {argument}"
    if ":" in name:  # a symbol, such as py:function
        return f"`{argument}`\n\n{clean_markdown(body, jsx=jsx)[0]}"
    return f"{argument}\n\n{clean_markdown(body, jsx=jsx)[0]}".strip()


def _role(content: str) -> str:
    target = _ROLE_TARGET.match(content)
    return target[1] if target else f"`{content.lstrip('~!')}`"


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
    text = re.sub("[\ue000-\ue002]", "", text)
    text = _SILENT.sub(r"\1.. hebbgraph-silent::", text)
    return _OBJECT.sub(
        lambda found: f"{found[1]}.. hebbgraph-{'member' if found[1] else 'symbol'}::", text
    )
