"""WildGraphBench: pages that editors of Wikipedia cited, and questions about them."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

from usebench.errors import SetError
from usebench.sets.plain import write_set
from usebench.sets.reading import Card, read_lines

__all__ = ["CARD", "build"]

CARD = Card(
    name="WildGraphBench",
    source="BstWPY/WildGraphBench (arXiv:2602.02053), with its folders corpus/ and QA/",
    licence="Apache-2.0; the pages are their publishers'.",
    feedback="citations by editors: the pages that a statement is referenced with, if shown.",
    shows="real, long, untidy pages of twelve domains, cited by people who had nothing to do with"
    " retrieval.",
    hides="a model wrote the questions. A passage is a whole page (its first 20,000 characters), so"
    " embedders that read 256 tokens see its beginning only; a page is found by the title of the"
    " reference, and questions whose pages are not found are left out.",
)

_CHARACTERS = 20_000
#: Titles are compared up to this length, at which the repository cuts file names.
_PREFIX = 200


def build(source: Path, out: Path) -> None:
    """Build one set of all domains of a clone."""
    corpus: list[dict[str, Any]] = []
    queries: list[dict[str, Any]] = []
    for questions in sorted((source / "QA").glob("*/questions.jsonl")):
        domain = questions.parent.name
        pages: dict[str, str] = {}
        for references in sorted((source / "corpus" / domain).glob("**/references.jsonl")):
            pages |= _read_pages(references, domain, corpus)
        for number, row in enumerate(read_lines(questions)):
            urls = [url.split("#")[0] for url in row["ref_urls"]]
            gold = [pages[url] for url in urls if url in pages]
            if gold:
                queries.append(
                    {
                        "id": f"{domain}-{number}",
                        "question": row["question"],
                        "supporting_ids": list(dict.fromkeys(gold)),
                        "type": row["question_type"][0],
                    }
                )
    if not queries:
        raise SetError(
            f"{source}: expected QA/DOMAIN/questions.jsonl and corpus/DOMAIN/TOPIC/references.jsonl"
            " with pages that are cited, got none"
        )
    write_set(out, corpus, queries, order="shuffled")


def _read_pages(references: Path, domain: str, corpus: list[dict[str, Any]]) -> dict[str, str]:
    """Add the pages beside a list of references, and return their ids by URL."""
    by_title: dict[str, str] = {}
    for path in sorted((references.parent / "reference_pages").glob("*")):
        if path.suffix in (".txt", ".md"):
            id_ = f"{domain}/{path.stem}"
            text = path.read_text(encoding="utf-8", errors="replace")[:_CHARACTERS]
            corpus.append({"id": id_, "title": path.stem.replace("_", " "), "text": text})
            by_title[_plain(path.stem)] = id_
    pages = {}
    for reference in read_lines(references):
        title = _plain(str(reference.get("title") or ""))
        if title in by_title:
            pages[str(reference["url"]).split("#")[0]] = by_title[title]
    return pages


def _plain(title: str) -> str:
    ascii_ = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode("ascii")
    words = re.sub(r"[^\w\s]", "", ascii_.replace("_", " ").replace("-", " "))
    return " ".join(words.split()).lower()[:_PREFIX]
