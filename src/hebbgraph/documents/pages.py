"""HTML without its menus, and the lines of a PDF."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import lxml.html
import pypdfium2
from lxml import etree

from hebbgraph.errors import ConversionError

_NEVER = (
    "script|style|noscript|template|iframe|svg|canvas|form|button|select|input|nav|footer|dialog"
)
_ROLES = {"navigation", "search", "banner", "contentinfo", "menu", "menubar", "dialog"}
#: Words of classes and ids that name what surrounds a text.
_AROUND = re.compile(
    r"(?i)(?:^|[\s_-])(?:nav|navbar|navheader|navfooter|navigation|\w*menu|onlyprint|sidebar\w*|breadcrumbs?|toc|"
    r"toctree-wrapper|cookies?|consent|related|footer|headerlink|linenos|pagination|prev-next|skip|"
    r"skip-?link|share|advert\w*|searchbox|sphinxsidebar\w*|tooltip|dropdown)(?:$|[\s_-])"
)
_ALONE = re.compile(
    r"(?i)\W*(?:prev(?:ious)?|next|up|top|home|back(?: to top)?|index|contents|"
    r"edit (?:this page|on \w+)|view (?:page )?source|source|permalink|skip to [\w ]+)?\W*"
)
_COOKIES = re.compile(
    r"(?i)\bcookies?\b.*\b(?:accept|agree|consent|privacy|policy|we use|uses)\b|"
    r"\b(?:accept|agree|consent|we use|uses)\b.*\bcookies?\b"
)
_PARSER = lxml.html.HTMLParser(remove_comments=True, remove_pis=True)
_LEADER = re.compile(r"(?:[.·…] ?){5}")
_BLOCKS = "p|div|ul|ol|li|table|tr|td|th|dl|section|aside|header|center|blockquote"


def read_html(text: str) -> tuple[str, str]:
    """Return a page without what surrounds its text, and its declared title.

    An element goes if its name, role or class says that it is no text, or if nearly all of its
    words are links; none goes that holds half of the page.
    """
    text = re.sub(r"\A\s*<\?xml[^<>]*\?>", "", text.replace("\0", ""))
    try:
        page = lxml.html.document_fromstring(text, parser=_PARSER)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        raise ConversionError(f"is not HTML: {error}") from error
    title = " ".join((page.findtext(".//title") or "").split())
    body = next(page.iter("body"), page)
    mains = body.xpath(".//main | .//*[@role='main']") or body.xpath(".//article")
    if len(mains) == 1 and _letters(mains[0]) * 4 > _letters(body):
        body = mains[0]
    _remove_surroundings(body)
    _remove_links(body)
    for table in list(body.iter("table")):
        if table.find(".//table") is not None or table.xpath(".//h1|.//h2|.//h3|.//pre[../../..]"):
            for part in (table, *table.iterdescendants("tbody", "tr", "td", "th")):
                part.tag = "div"
    for term in body.xpath(".//dt[@id]"):
        _entitle(term)
    for code in list(body.iter("code", "tt")):  # else each word becomes a code of its own
        if not list(code.iter("a", "br")):
            etree.strip_tags(code, "*")
    html = etree.tostring(body, encoding="unicode", method="html", with_tail=False)
    return html, re.split(r" [—–|·»] | - ", title)[0]


def _remove_surroundings(body: Any) -> None:
    half = _letters(body) / 2
    for element in list(body.iterdescendants()):
        names = f"{element.get('class', '')} {element.get('id', '')}"
        surrounds = (
            re.fullmatch(_NEVER, element.tag)
            or element.get("role") in _ROLES
            or element.get("hidden") is not None
            or re.search(r"display:\s*none", element.get("style", ""))
            or _AROUND.search(names)
        )
        if surrounds and _letters(element) <= half:
            element.drop_tree()


def _remove_links(body: Any) -> None:
    """Remove blocks of links, single ones that lead on or back, and lines on cookies."""
    half = _letters(body) / 2
    for link in body.xpath(".//a[@href][not(.//img)]"):
        if _ALONE.fullmatch(link.text_content()):
            link.drop_tree()
    for element in reversed(list(body.iterdescendants(*_BLOCKS.split("|")))):
        text, links = element.text_content(), list(element.iter("a"))
        linked, letters = sum(map(_letters, links)), _letters(element)
        is_cookies = len(text) < 400 and _COOKIES.search(" ".join(text.split()))
        # Such as dots between links.
        is_blank = not letters and not element.xpath("descendant-or-self::*[@id]|.//a|.//img")
        is_menu = (len(links) > 2 and linked > 0.75 * letters) or (
            len(links) > 1 and letters < linked + 12
        )
        is_menu &= letters <= half and not list(element.iter("p", "pre", "dd", "code"))
        if is_cookies or is_blank or is_menu:
            element.drop_tree()


def _entitle(term: Any) -> None:
    """Make the term of a definition with an anchor, such as a function, a heading."""
    name = term.get("id")
    depth = len(list(term.iterancestors("dd")))
    heading = etree.Element(f"h{min(4 + depth, 6)}", id=name)
    is_symbol = re.fullmatch(r"[\w.]+", name) and "sig" in term.get("class", "")
    heading.text = name if is_symbol else " ".join(term.text_content().split())[:150]
    definitions, index = term.getparent(), term.getparent().index(term)
    definitions.insert(index, heading)
    definitions.tag, term.tag = "div", "p"
    del term.attrib["id"]
    if not is_symbol:
        term.drop_tree()
    for definition in definitions.findall("dd"):
        definition.tag = "div"
    for other in definitions.findall("dt"):
        if not other.get("id"):
            other.tag = "p"


def _letters(element: Any) -> int:
    return sum(map(str.isalnum, element.text_content()))


def read_pdf(data: bytes) -> tuple[str, str]:
    """Return the text of a PDF with a heading for each mark of its outline, and its title.

    Lines that begin or end three pages, apart from numbers, and those of contents are left out.
    """
    try:
        document = pypdfium2.PdfDocument(data)
        texts = [page.get_textpage().get_text_bounded() for page in document]
        title = document.get_metadata_dict().get("Title", "")
        marks = [(mark.get_dest(), mark.get_title().strip()) for mark in document.get_toc()]
    except pypdfium2.PdfiumError as error:
        raise ConversionError(f"is encrypted or damaged: {error}") from error
    pages = [[line.strip() for line in text.splitlines() if line.strip()] for text in texts]
    edges = Counter(_numberless(line) for page in pages for line in {*page[:2], *page[-2:]})
    repeated = {line for line, n in edges.items() if n > 2}
    parts = []
    for number, page in enumerate(pages):
        names = {_squeezed(name): name for at, name in marks if at and at.get_index() == number}
        lines = [
            f"\n## {names.pop(_squeezed(line))}\n" if _squeezed(line) in names else line
            for line in page
            if _numberless(line) not in repeated and not _LEADER.search(line)
        ]
        parts.append(f"\ue000page={number + 1}\ue002" + "\n".join(lines))
    if not any(pages):
        raise ConversionError("holds no text; is it scanned?")
    hyphens = "[\x02\xad\ufffe]\\s?|(?<=[a-z])[-\u2010]\n(?=[a-z])"
    return re.sub(hyphens, "", "\n\n".join(parts)), title


def _numberless(line: str) -> str:
    return re.sub(r"\d+", "0", line)


def _squeezed(text: str) -> str:
    return re.sub(r"[\W\d_]+", "", text).casefold()
