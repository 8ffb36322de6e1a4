"""How Sphinx builds the documentation as a site: ``make site``. Nothing is fetched."""

from __future__ import annotations

from hebbgraph import __version__

project = "hebbgraph"
author = "The hebbgraph developers"
project_copyright = f"{author}, Apache-2.0"
version = release = __version__

extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = [".*"]
myst_heading_anchors = 4  # named as on code hosts
# Files of the repository that are no pages are linked as they stand.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]

html_theme = "pydata_sphinx_theme"
html_title = "hebbgraph"
html_show_sourcelink = False
