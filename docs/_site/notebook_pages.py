"""Notebooks as pages: their texts, their code and what it printed."""

from __future__ import annotations

import json
from typing import Any

from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx


class NotebookParser(MystParser):
    """Reads a notebook as the Markdown that it amounts to."""

    supported = ("ipynb",)

    def parse(self, inputstring: str, document: Any) -> None:
        """Parse the cells one after the other."""
        cells = json.loads(inputstring)["cells"]
        super().parse("\n\n".join(_as_markdown(cell) for cell in cells), document)


def _as_markdown(cell: dict[str, Any]) -> str:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return text
    printed = "".join(_printed(output) for output in cell["outputs"])
    shown = f"```python\n{text}\n```"
    return f"{shown}\n\n```text\n{printed.rstrip()}\n```" if printed else shown


def _printed(output: dict[str, Any]) -> str:
    return "".join(output["text"] if "text" in output else output["data"]["text/plain"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Let Sphinx read notebooks."""
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True}
