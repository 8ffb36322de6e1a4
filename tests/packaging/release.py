"""Install the files of ``dist/`` in fresh environments and try them: ``make release-check``.

For each version of Python, install the core and ask a question; then install and import all
distributions. pip chooses the versions of their dependencies.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from projects import FOLDERS, module, project

ASK = """
import sys, hebbgraph
from hebbgraph import HebbianIndex
assert "site-packages" in hebbgraph.__file__, hebbgraph.__file__
with HebbianIndex.open("memory.hebb") as index:
    index.add([
        {"id": "petrel", "title": "Petrel", "text": "The Petrel was built by Ida Moss."},
        {"id": "moss", "title": "Ida Moss", "text": "She was born in Tessel Bay."},
    ])
    recall = index.recall("Where was the builder of the Petrel born?", k=2)
    assert [hit.chunk.id for hit in recall.hits] == ["petrel", "moss"], recall
    index.reinforce(recall, cited=["moss"])
print("python", sys.version.split()[0], "hebbgraph", hebbgraph.__version__, "ok")
"""
ALL = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
from hebbgraph_server import create_app
print(", ".join(sys.argv[1:]), "and the server: ok")
"""
CORE = "hebbgraph-"
#: Extras whose packages are small.
EXTRAS = "server,documents"


def main(folder: Path, pythons: list[str]) -> None:
    """Check all distributions with each Python."""
    wheels = sorted(folder.resolve().glob("*.whl"))
    names = {project(place)["name"].replace("-", "_") for place in FOLDERS}
    assert {wheel.name.partition("-")[0] for wheel in wheels} == names, wheels
    core = next(wheel for wheel in wheels if wheel.name.startswith(CORE))
    for archive in folder.glob("*.tar.gz"):
        with tarfile.open(archive) as opened:
            assert any(name.endswith("/LICENSE") for name in opened.getnames()), archive
    for python in pythons:
        with tempfile.TemporaryDirectory() as place:
            run(python, "-m", "venv", f"{place}/core")
            interpreter = f"{place}/core/{'Scripts' if sys.platform == 'win32' else 'bin'}/python"
            run(interpreter, "-m", "pip", "install", "--quiet", str(core), cwd=place)
            run(interpreter, "-c", ASK, cwd=place)
            rest = [str(wheel) for wheel in wheels if wheel != core]
            run(
                interpreter,
                "-m",
                "pip",
                "install",
                "--quiet",
                f"{core}[{EXTRAS}]",
                *rest,
                cwd=place,
            )
            run(interpreter, "-c", ALL, *map(module, FOLDERS), cwd=place)
            run(interpreter, "-m", "pip", "check", cwd=place)


def run(*words: str, cwd: str | None = None) -> None:
    """Run a command, and stop if it fails."""
    subprocess.run(words, cwd=cwd, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or [sys.executable])
