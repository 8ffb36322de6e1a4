"""Check a built site: ``python docs/_site/check.py build/site``.

Every link within it leads to a page and an anchor that are there, and no page loads anything from
elsewhere, so that it works from a folder, without the network.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
#: Relations of <link> that a browser fetches by itself.
FETCHED = {"stylesheet", "icon", "preload", "shortcut icon", "modulepreload"}


class Page(HTMLParser):
    """Collects what a page names, links to and loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = {"", "top"}
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note ids, links and what is loaded."""
        found = {name: value or "" for name, value in attrs}
        self.anchors.update(found[name] for name in ("id", "name") if name in found)
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag in LOADS and (tag != "link" or found.get("rel") in FETCHED):
            self.loaded += [found[LOADS[tag]]] if LOADS[tag] in found else []


def problems(site: Path) -> list[str]:
    """Return what is wrong, a line each."""
    # What lies in _static are templates of the theme.
    files = (path for path in site.rglob("*.html") if "_static" not in path.parts)
    pages = {path.resolve(): Page(path) for path in files}
    found = []
    for path, page in pages.items():
        where = path.relative_to(site.resolve())
        found += [
            f"{where}: loads {target}"
            for target in page.loaded
            if urlsplit(target).scheme not in ("", "data") or target.startswith("//")
        ]
        for target in (*page.links, *page.loaded):
            split = urlsplit(target)
            if split.scheme or split.netloc:
                continue
            other = (path.parent / unquote(split.path)).resolve() if split.path else path
            if not other.exists():
                found.append(f"{where}: no {target}")
            elif other in pages and unquote(split.fragment) not in pages[other].anchors:
                found.append(f"{where}: no anchor {target}")
    return sorted(set(found))


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(bool(wrong))
