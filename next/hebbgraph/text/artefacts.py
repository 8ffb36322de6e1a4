"""Parts of texts that are not words: links, paths, file names, markup, hashes, literals."""

from __future__ import annotations

import re

from hebbgraph.text.tokens import WORD_LISTS

__all__ = ["FILE_ENDING", "is_artefact", "without_links"]

_LINK = re.compile(
    r"(?i)(?:[a-z][a-z0-9+.-]*://|\bwww\.|\bmailto:)\S*"
    r"|[\w.+-]++@\w[\w-]*+(?:\.[\w-]++)+"
    r"|^[\"'(\[`]*(?:\.{1,2}|~)?[/\\](?:[\w.~-]++[/\\]?)++"  # /usr/lib, ./run.sh
    r"|\b[a-z]:\\\S*"
    r"|\b[\w.~-]++(?:[/\\][\w.~-]++){2,}[/\\]?"  # src/text/names
    r"|^[\"'(\[`]*</?[a-z][\w-]*+|\b[\w-]++=\"[^\"]*+|&#?[a-z0-9]++;"  # <div, class="x", &nbsp;
    r"|:[a-z][\w:+.-]{0,40}:(?=`)"  # :func:`main`
)
FILE_ENDING = "|".join(WORD_LISTS["file_endings"].split())
_FILE = re.compile(rf"(?i)(?:[\w-]++[./\\])+(?:{FILE_ENDING})")
_HASH = re.compile(
    r"(?i)(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
_LITERAL = re.compile(
    r"(?i)0[xob][0-9a-f_]+[a-z0-9]*|[0-9][0-9_]*_[a-z0-9_]*|u(?:\+|(?=[a-f]*\d))[0-9a-f]{4,6}"
    r"|(?-i:[a-z][0-9])"  # x1
)
_MAY_BE_LINK = re.compile(r"(?i)[/\\@=<&]|www\.|:`").search
_LONGEST = 500  # characters; the patterns take quadratic time on words without links


def without_links(word: str) -> str:
    """Replace each link, path or piece of markup in a word by a bar.

    >>> without_links("[guide](https://a.example/b)."), without_links("TCP/IP")
    ('[guide](|', 'TCP/IP')
    >>> without_links("./src/main.rs"), without_links("<div"), without_links("Vec<T>")
    ('|', '|', 'Vec<T>')
    >>> without_links(":func:`main`"), without_links("std::vector")
    ('|`main`', 'std::vector')
    """
    if len(word) > _LONGEST or not _MAY_BE_LINK(word):
        return word
    return _LINK.sub("|", word)


def is_artefact(word: str) -> bool:
    """Return whether a word is a file, a host, a hash or a literal.

    Error codes, versions and identifiers are not.

    >>> [is_artefact(word) for word in ("main.rs", "docs.example.org", "9f86d08", "0xff")]
    [True, True, True, True]
    >>> [is_artefact(word) for word in ("os.path", "E0382", "cve-2021-44228", "v2.3.1", "h5n1")]
    [False, False, False, False, False]
    """
    if len(word) > _LONGEST:
        return False
    if ("." in word or "/" in word) and _FILE.fullmatch(word):
        return True
    return bool(_HASH.fullmatch(word) or _LITERAL.fullmatch(word))
