"""Links between chunks as tags: addresses, references to them, and edges by metadata.

An address entitles its chunk, as a title does; a reference mentions the address. Their keys begin
with a mark that no phrase of a text begins with, so a text names an address only by linking to it.
The rest of the key is the address in normal form, in which all spellings of one place are equal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from posixpath import normpath
from urllib.parse import unquote

from hebbgraph.errors import InvalidChunkError
from hebbgraph.formulas.adjacency import LinkKind
from hebbgraph.records import Chunk, storable
from hebbgraph.text import phrase_key

__all__ = [
    "ADDRESS",
    "EDGE",
    "link_candidates",
    "link_keys",
    "link_kind",
    "normal_address",
    "place_name",
    "tag_key",
]

ADDRESS = "@"
"""First character of the key of an address."""

EDGE = "="
"""First character of the key of an edge by metadata: ``=field:value``."""

_ANYWHERE = "#"
_WIKI = re.compile(r"\[\[([^\[\]|#]*+)(?:#([^\[\]|]*+))?+(?:\|[^\[\]]*+)?\]\]")
_URL = re.compile(r"(?i)([a-z][a-z0-9+.-]*+):/{2,}([^/?#]*+)(.*)")
_DOI = re.compile(r"(?i)(?:https?://(?:dx\.)?doi\.org/|doi:\s*)(10\.\d{4,9}/\S+)")
_PORT = {"http": ":80", "https": ":443"}
_FILE = re.compile(
    r"(?i)\.(?:adoc|c|cpp|css|csv|docx?|gif|go|h|html?|ipynb|java|jpe?g|js|json|md|markdown|pdf"
    r"|php|png|py|rb|rs|rst|sh|sql|svg|toml|ts|txt|xhtml|xml|ya?ml|com|dev|io|net|org)$"
)
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

    Examples
    --------
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
    if path:
        rooted = "/" if path.startswith("/") else ""
        path = rooted + normpath(path).strip("/") if path.strip("/") else "" if host else rooted
    page = (host + path + (mark + query if query else "")).strip()
    return f"{page}#{fragment}" if fragment else page


def link_keys(addresses: Iterable[str]) -> list[str]:
    """Return two keys per address: its own, and one for any place on its page.

    By the second key, a reference to an anchor that no chunk has leads to the page, and a
    reference to a page leads to all its anchors.

    Examples
    --------
    >>> link_keys(["a.md#top", "a.md", "#here"])
    ['@a.md#top', '@a.md#', '@a.md', '@#here']
    """
    return list(dict.fromkeys(key for address in addresses for key in _keys(address)))


def _keys(address: str) -> Iterator[str]:
    normal = normal_address(address)
    if normal:
        yield ADDRESS + normal
    if page := normal.partition("#")[0]:
        yield f"{ADDRESS}{page}{_ANYWHERE}"


def link_kind(key: str) -> LinkKind:
    """Return the kind of a tag's key: a phrase, or a kind of link.

    >>> [link_kind(key).name for key in ("ice trade", "c#", "@a.md#x", "@a.md#", "=year:1871")]
    ['PHRASE', 'PHRASE', 'ADDRESS', 'PAGE', 'EDGE']
    """
    if key.startswith(EDGE):
        return LinkKind.EDGE
    if not key.startswith(ADDRESS):
        return LinkKind.PHRASE
    return LinkKind.PAGE if key.endswith(_ANYWHERE) else LinkKind.ADDRESS


def place_name(key: str) -> str:
    """Return what texts call the place of an address: its anchor, or else the name of its page.

    >>> [place_name(key) for key in ("@docs/ice.md#road-salt", "@docs/ice_trade.md#", "@[[salt]]")]
    ['road salt', 'ice trade', 'salt']
    >>> place_name("@net.http.Client"), place_name("=year:1871"), place_name("ice trade")
    ('net http Client', '', '')
    """
    if not key.startswith(ADDRESS):
        return ""
    page, _, anchor = key.removeprefix(ADDRESS).partition(_ANYWHERE)
    name = anchor or _FILE.sub("", page.rpartition("/")[2])
    return " ".join(_SEPARATORS.split(name)).strip()


def link_candidates(chunk: Chunk, edges: Sequence[str] = ()) -> dict[str, list[str]]:
    """Return the keys that link a chunk to others, by kind.

    ``address`` and ``reference`` are its links. An address that is a name in words (a wiki
    name, or an identifier of several parts) is a ``title`` too, so that texts and questions can
    name it; a wiki name that the chunk refers to is ``given`` to it as a tag.

    Parameters
    ----------
    chunk : Chunk
    edges : sequence of str
        Metadata fields; chunks with the same value share a ``reference``.

    Raises
    ------
    InvalidChunkError
        If such a field holds anything other than text, numbers, or a list of these.

    Examples
    --------
    >>> link_candidates(  # doctest: +NORMALIZE_WHITESPACE
    ...     Chunk(text="x", addresses=("[[Ice trade]]",), references=("a.md",))
    ... )
    {'title': ['ice trade'], 'address': ['@[[ice trade]]', '@[[ice trade]]#'],
     'reference': ['@a.md', '@a.md#']}
    >>> link_candidates(Chunk(text="x", metadata={"author": ["Jo", "Ann"]}), ("author",))
    {'reference': ['=author:jo', '=author:ann']}
    """
    if not (chunk.addresses or chunk.references or edges):
        return {}
    candidates = {
        "title": filter(None, map(phrase_key, map(_in_words, chunk.addresses))),
        "given": filter(None, map(phrase_key, map(_wiki_name, chunk.references))),
        "address": link_keys(chunk.addresses),
        "reference": [*link_keys(chunk.references), *_edge_keys(chunk, edges)],
    }
    distinct = {kind: list(dict.fromkeys(keys)) for kind, keys in candidates.items()}
    return {kind: keys for kind, keys in distinct.items() if keys}


def _wiki_name(address: str) -> str:
    wiki = _WIKI.fullmatch(address.strip())
    return "" if wiki is None else wiki[1].replace("_", " ")


def _in_words(address: str) -> str:
    """Return an address that is a name as texts write it, else an empty string.

    >>> list(map(_in_words, ("[[Ice_trade]]", "parse_config()", "os.path", "get", "a.md")))
    ['Ice trade', 'parse_config', 'os.path', '', '']
    """
    if name := _wiki_name(address):
        return name
    address = address.strip()
    if _FILE.search(address):
        return ""
    if _WORDS.fullmatch(address):
        return address
    if _SYMBOL.fullmatch(address) and _PARTS.search(address):
        return address.removesuffix("()")
    return ""


def _edge_keys(chunk: Chunk, fields: Sequence[str]) -> Iterator[str]:
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
                yield f"{EDGE}{field}:{text}"


def tag_key(tag: str) -> str:
    """Return the key of a tag that a path shows; a link is its own key.

    >>> tag_key("@a.md"), tag_key("The Ice Trade")
    ('@a.md', 'ice trade')
    """
    return tag if tag.startswith((ADDRESS, EDGE)) else phrase_key(tag)
