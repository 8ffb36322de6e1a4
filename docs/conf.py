"""How Sphinx builds the documentation as a site: ``make site``.

The sources are the Markdown files of the repository as they stand, so that every link holds on the
site, in an editor and where the repository is shown. Nothing is fetched, while building or reading.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from hebbgraph._version import __version__

sys.path.insert(0, str(Path(__file__).parent / "_site"))

project = "hebbgraph"
author = "The hebbgraph developers"
project_copyright = f"{author}, Apache-2.0"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "notebook_pages"]
# The root is that of the repository: the README and the pages of the integrations are pages too.
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "integrations/*/examples/*.ipynb",
    "*.md",
    "benchmarks/README.md",
    "extensions/*/README.md",
    "integrations/*/README.md",
    "usebench/README.md",
]
exclude_patterns = [".*", "build", "dist", "src", "tests", "ui", "**/node_modules", "**/tests"]

myst_enable_extensions = ["html_image"]
myst_heading_anchors = 4  # named as on code hosts
suppress_warnings = ["myst.header"]  # the README begins its sections as a README does

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signature and the docstring's own types are enough
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "pydata_sphinx_theme"
html_title = f"hebbgraph {version}"
html_static_path = ["_site/static"]
html_css_files = ["hebbgraph.css"]
html_extra_path = ["_site/root"]
html_favicon = "images/icon.svg"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"**": ["globaltoc.html"]}
html_theme_options = {
    "logo": {"text": "hebbgraph"},
    "navbar_center": [],
    "navbar_align": "left",
    "show_prev_next": True,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}


def _with_navigation(app: Sphinx, docname: str, source: list[str]) -> None:
    """Turn the sections of the front page, each a list of links, into the site's navigation."""
    if docname != root_doc:
        return
    for section in re.split(r"^## ", source[0], flags=re.M)[1:]:
        caption, _, body = section.partition("\n")
        pages = re.findall(r"^- \[([^\]]*)\]\(([^)#]+)\)", body, flags=re.M)
        if pages:
            entries = "\n".join(f"{title} </{_relative(page)}>" for title, page in pages)
            source[0] += f"\n\n```{{toctree}}\n:caption: {caption}\n:hidden:\n\n{entries}\n```\n"


def _relative(page: str) -> str:
    """Return a link of the front page as a path from the root of the repository."""
    path = (Path(__file__).parent / page).resolve().relative_to(Path(__file__).parents[1])
    return path.as_posix()


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect what this file adds."""
    app.connect("source-read", _with_navigation)
    return {"parallel_read_safe": True}
