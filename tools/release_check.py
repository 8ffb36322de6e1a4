"""Install every distribution from its wheel in empty environments, and use it there.

python tools/release_check.py DIST [3.11 3.12 …]     # what `make release-check` runs

Each environment is made for one line of ``CHECKS``: it installs the requirement with the wheels
in DIST, runs ``pip check``, the first program of the distribution's README as the wheel carries
it, and then commands. Pythons that are not on this machine are named and left out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from email import message_from_string
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
EVERYTHING = "ann,bench,documents,langchain,llama-index,postgres,server"
STRATEGIES = """
from hebbgraph import HebbianIndex
with HebbianIndex.open(":memory:") as index:
    index.add(["Ida Moss built the Petrel.", "The Petrel sank, but Ida Moss swam."])
    for strategy in ("bambookg", "bio_rag", "nakg"):
        index.recall("Who built the Petrel?", strategy=strategy)[0]
"""


class Check(NamedTuple):
    """An environment: what is installed, and what must run in it."""

    requirement: str
    commands: tuple[tuple[str, ...], ...] = ()
    readme: bool = True
    only: str = ""


#: torch is large, so that what takes it is installed on one Python only.
CHECKS = (
    Check("hebbgraph", (("hebbgraph", "demo"),)),
    Check(
        f"hebbgraph[{EVERYTHING}]",
        (
            ("python", "-c", "import psycopg, usearch"),
            ("hebbgraph", "index", "page.html", "--db", "pages.hebb"),
            ("hebbgraph", "bench", "--help"),
            ("hebbgraph", "mcp", "--help"),
            ("python", str(ROOT / "examples/langchain_rag.py")),
            ("python", str(ROOT / "examples/llama_index_query_engine.py")),
        ),
    ),
    Check(
        "hebbgraph[papers,sentence-transformers]", (("python", "-c", STRATEGIES),), only=PYTHONS[0]
    ),
    Check("langchain-hebbgraph"),
    Check(
        "langchain-hebbgraph[agents]", (("python", str(ROOT / "examples/agent_memory.py")),), False
    ),
    Check("llama-index-retrievers-hebbgraph"),
    Check("hebbgraph-server", (("python", "-c", "import hebbgraph_server"),), False),
    Check(
        "hebbgraph-server[serve]", (("python", str(ROOT / "tools/smoke_server.py")),), readme=False
    ),
    Check("hebbgraph-papers"),
    Check("usebench", (("usebench", "systems"), ("python", "-m", "usebench", "--help"))),
    Check("hebbgraph-bench", (("hebbgraph", "bench"),), readme=False),
)


def python(version: str) -> str | None:
    """Return the path of a Python of this version: on the path, or one of pyenv's."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [str(path) for path in sorted(root.glob(f"versions/{version}.*/bin/python"))]
    for candidate in [shutil.which(f"python{version}"), *found]:
        if candidate and not subprocess.run([candidate, "-c", ""], capture_output=True).returncode:
            return candidate
    return None


def run(command: list[str], folder: Path, env: dict[str, str] | None = None) -> str:
    """Run a command; end the check with what it printed if it fails."""
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def readme(wheel: Path) -> tuple[str, list[str]]:
    """Return the README in a wheel, and the addresses of the project; a wheel is typed."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        message = message_from_string(archive.read(metadata).decode("utf-8"))
    if not any(name.endswith("/py.typed") for name in names):
        raise SystemExit(f"{wheel.name} says that it is typed, and has no py.typed")
    return str(message.get_payload()), message.get_all("Project-URL") or []


def sources(dist: Path) -> None:
    """Build each wheel again from its source archive: nothing is missing there."""
    with tempfile.TemporaryDirectory() as name:
        again = Path(name)
        for archive in sorted(dist.glob("*.tar.gz")):
            pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
            run([*pip, "--wheel-dir", str(again), str(archive)], again)
        for wheel in dist.glob("*.whl"):
            former, built = (
                set(zipfile.ZipFile(folder / wheel.name).namelist()) for folder in (dist, again)
            )
            if former != built:
                raise SystemExit(f"{wheel.name} differs when built from its source archive")


def check(one: Check, interpreter: str, dist: Path) -> None:
    """Make an environment, install, and use what was installed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([interpreter, "-m", "venv", str(folder / "venv")], folder)
        path = f"{folder / 'venv/bin'}{os.pathsep}{os.environ['PATH']}"
        env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
        env |= {"PATH": path, "HF_HUB_OFFLINE": "1"}
        install = ["-m", "pip", "install", "-q", "--find-links"]
        wheels = [str(dist), "-c", str(ROOT / "constraints.txt"), one.requirement]
        executable = str(folder / "venv/bin/python")
        run([executable, *install, *wheels], folder, env)
        run([executable, "-m", "pip", "check"], folder, env)
        work = folder / "work"
        work.mkdir()
        (work / "page.html").write_text("<h1>Dogs</h1><p>Dogs sleep in the wood store.</p>")
        if one.readme:
            stem = one.requirement.partition("[")[0].replace("-", "_")
            (wheel,) = dist.glob(f"{stem}-*.whl")
            blocks = re.findall(r"^```python\n(.*?)^```", readme(wheel)[0], re.M | re.S)
            run([executable, "-c", blocks[0]], work, env)
        for command in one.commands:
            run([str(folder / "venv/bin" / command[0]), *command[1:]], work, env)


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit status."""
    dist, versions = Path(arguments[0]).resolve(), arguments[1:] or PYTHONS
    homeless = [wheel.name for wheel in sorted(dist.glob("*.whl")) if not readme(wheel)[1]]
    sources(dist)
    for version in versions:
        interpreter = python(version)
        if interpreter is None:
            print(f"{version}: not on this machine, left out")
            continue
        for one in CHECKS:
            if not one.only or one.only == version:
                check(one, interpreter, dist)
                print(f"{version}: {one.requirement}", flush=True)
    if homeless:
        print("warning: [project.urls] of these name no repository:", *homeless, sep="\n  ")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
