"""Links between chunks as terms: addresses, references to them, and edges by metadata.

An address entitles its chunk, as a title does; a reference mentions the address. The key of the
term is the address in normal form, in which all spellings of one place are equal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from posixpath import normpath
from typing import NamedTuple
from urllib.parse import unquote

from hebbgraph.errors import InvalidChunkError
from hebbgraph.records import Chunk, storable
from hebbgraph.terms import Role, TermKind
from hebbgraph.text.tokens import WORD_LISTS, phrase_key

_ANYWHERE = "#"
#: Characters of a key, and those kept of a longer one, which may name the place.
_LONGEST, _END = 600, 100
_WIKI = re.compile(r"\[\[([^\[\]|#]*+)(?:#([^\[\]|]*+))?+(?:\|[^\[\]]*+)?\]\]")
_URL = re.compile(r"(?i)([a-z][a-z0-9+.-]*+):/{2,}([^/?#]*+)(.*)")
_DOI = re.compile(r"(?i)(?:https?://(?:dx\.)?doi\.org/|doi:\s*)(10\.\d{4,9}/\S+)")
_PORT = {"http": ":80", "https": ":443"}
_FILE = re.compile(rf"(?i)\.(?:{'|'.join(WORD_LISTS['file_endings'].split())})$")
#: Addresses that texts write as they stand: words, or an identifier of several parts.
_WORDS = re.compile(r"\w[\w'&.+-]*+(?: [\w'&.,+()-]++)++")
_SYMBOL = re.compile(r"(?=\w*[A-Za-z])\w+(?:(?:\.|::)\w+)*+(?:\(\))?")
_SEPARATORS = re.compile(r"[\W_]+")
_PARTS = re.compile(r"\w_\w|[a-z0-9][A-Z]|\w(?:\.|::)\w|\(\)$")


def normal_address(address: str) -> str:
    """Return an address in normal form.

    Case matters in paths and symbols, but not in hosts, DOIs and wiki names. ``http`` equals
    ``https``; default ports, dots in paths, trailing slashes, empty fragments, escapes, spaces
    around these and the brackets of a message id do not matter.

    >>> normal_address("https://Example.org:443/a/../docs/#Setup")
    '//example.org/docs#Setup'
    >>> normal_address("./guide/setup.md"), normal_address("[[Rate  Limits#Quota|quotas]]")
    ('guide/setup.md', '[[rate limits]]#quota')
    >>> normal_address("<1@mail.example>"), normal_address("https://doi.org/10.1000/X1")
    ('1@mail.example', 'doi:10.1000/x1')
    """
    address = " ".join(unicodedata.normalize("NFC", storable(unquote(address))).split())
    if wiki := _WIKI.fullmatch(address):
        name, section = (" ".join((part or "").replace("_", " ").split()) for part in wiki.groups())
        return f"[[{name.casefold()}]]" + (f"#{section.casefold()}" if section else "")
    if address.startswith("<") and address.endswith(">"):
        address = address[1:-1].strip()
    if doi := _DOI.fullmatch(address):
        return f"doi:{doi[1].casefold()}"
    host = ""
    if url := _URL.fullmatch(address):
        scheme, host, address = url[1].casefold(), url[2].casefold(), url[3]
        host = "//" + host.removesuffix(_PORT.get(scheme, "\0"))
        if scheme not in _PORT:
            host = f"{scheme}:{host}"
    page, _, fragment = address.partition("#")
    path, mark, query = page.partition("?")
    rooted = "/" if path.startswith("/") else ""
    if path.strip("/"):
        path = rooted + normpath(path).strip("/")
    elif host:
        path = ""
    else:
        path = rooted
    page = (host + path + (mark + query if query else "")).strip()
    return f"{page}#{fragment}" if fragment else page


class Link(NamedTuple):
    """A reference term of a chunk: a TITLE if it is the chunk's own address, else a MENTION."""

    kind: TermKind
    key: str
    role: Role


def links_of(chunk: Chunk, edges: Sequence[str] = ()) -> list[Link]:
    """Return the reference terms of a chunk.

    Each address has two: its own, and one for any place on its page. By the second, a reference to
    an anchor that no chunk has leads to the page, and a reference to a page leads to all its
    anchors. Chunks with the same value in one of the metadata fields ``edges`` share a term, too.

    >>> chunk = Chunk(text="x", references=("a.md#top",), metadata={"author": ["Jo", "Ann"]})
    >>> [(link.kind.name, link.key) for link in links_of(chunk, ("author",))]
    [('ADDRESS', 'a.md#top'), ('PAGE', 'a.md'), ('EDGE', 'author:jo'), ('EDGE', 'author:ann')]
    """
    links = [
        Link(kind, key, role)
        for role, addresses in ((Role.TITLE, chunk.addresses), (Role.MENTION, chunk.references))
        for address in addresses
        for kind, key in _keys(address)
    ]
    links += (Link(TermKind.EDGE, key, Role.MENTION) for key in edge_keys(chunk, edges))
    distinct: dict[tuple[TermKind, str], Link] = {}
    for link in links:  # an address of its own may be among its references
        distinct.setdefault((link.kind, link.key), link)
    return list(distinct.values())


def named_by_links(chunk: Chunk) -> tuple[list[str], list[str]]:
    """Return the phrases that a chunk's addresses entitle it to, and those that it is given.

    An address that is a name in words (a wiki name, or an identifier of several parts) is a title,
    so that texts and questions can name it; a wiki name that the chunk refers to is a given tag.

    >>> named_by_links(Chunk(text="x", addresses=("[[Ice_trade]]",), references=("[[Salt]]",)))
    (['ice trade'], ['salt'])
    """
    titles = filter(None, map(phrase_key, map(_in_words, chunk.addresses)))
    given = filter(None, map(phrase_key, map(_wiki_name, chunk.references)))
    return list(dict.fromkeys(titles)), list(dict.fromkeys(given))


def place_name(key: str) -> str:
    """Return what texts call the place of an address: its anchor, or else the name of its page.

    >>> [place_name(key) for key in ("docs/ice.md#road-salt", "docs/ice_trade.md", "[[salt]]")]
    ['road salt', 'ice trade', 'salt']
    """
    page, _, anchor = key.partition(_ANYWHERE)
    name = anchor or _FILE.sub("", page.rpartition("/")[2])
    return " ".join(_SEPARATORS.split(name)).strip()


def _keys(address: str) -> Iterator[tuple[TermKind, str]]:
    if normal := normal_address(address):
        yield TermKind.ADDRESS, _bounded(normal)
    if page := normal.partition(_ANYWHERE)[0]:
        yield TermKind.PAGE, _bounded(page)


def _bounded(key: str) -> str:
    """Return a key that fits into an index of any database: of a long one, the end and a digest."""
    if len(key) <= _LONGEST:
        return key
    return f"{blake2b(key.encode(), digest_size=16).hexdigest()}/{key[-_END:]}"


def _wiki_name(address: str) -> str:
    wiki = _WIKI.fullmatch(address.strip())
    return "" if wiki is None else wiki[1].replace("_", " ")


def _in_words(address: str) -> str:
    """Return an address that is a name as texts write it ("parse_config()"), or an empty str."""
    if name := _wiki_name(address):
        return name
    address = address.strip()
    is_symbol = _SYMBOL.fullmatch(address) and _PARTS.search(address)
    if _FILE.search(address) or not (is_symbol or _WORDS.fullmatch(address)):
        return ""
    return address.removesuffix("()")


def edge_keys(chunk: Chunk, fields: Sequence[str]) -> Iterator[str]:
    """Yield the keys of a chunk's edges; raise InvalidChunkError for metadata that are none."""
    for field in fields:
        values = chunk.metadata.get(field)
        for value in values if isinstance(values, list) else [values]:
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise InvalidChunkError(
                    f"chunk {chunk.id!r}: metadata field {field!r} is an edge and takes text, "
                    f"numbers or a list of these, got {value!r:.80}"
                )
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if text := " ".join(unicodedata.normalize("NFC", str(value)).casefold().split()):
                yield _bounded(f"{field}:{text}")
