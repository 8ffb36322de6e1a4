"""Print the version that all distributions share, or change it.

python tools/version.py          # prints it, and fails if they differ
python tools/version.py 0.2.0    # writes it to every distribution and to CITATION.cff
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: Files that hold the version, and the pattern of the line.
PLACES = {
    "src/hebbgraph/__init__.py": r'^__version__ = "(.+)"$',
    "usebench/usebench/_version.py": r'^__version__ = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
    **{
        str(path.relative_to(ROOT)): r'^version = "(.+)"$'
        for pattern in ("extensions/*", "integrations/*", "benchmarks")
        for path in sorted(ROOT.glob(f"{pattern}/pyproject.toml"))
    },
}


def versions() -> dict[str, str]:
    """Return the version in each file."""
    found = {}
    for place, pattern in PLACES.items():
        match = re.search(pattern, (ROOT / place).read_text("utf-8"), re.M)
        found[place] = match[1] if match else "none"
    return found


def write(version: str) -> None:
    """Write a version to each file."""
    for place, pattern in PLACES.items():
        text = (ROOT / place).read_text("utf-8")
        match = re.search(pattern, text, re.M)
        if match is None:
            raise SystemExit(f"{place}: expected a line {pattern}, found none")
        (ROOT / place).write_text(text[: match.start(1)] + version + text[match.end(1) :], "utf-8")


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit status."""
    if arguments:
        if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", arguments[0]):
            print(f"a version is like 0.2.0 or 0.2.0rc1, got {arguments[0]!r}", file=sys.stderr)
            return 2
        write(arguments[0])
    found = versions()
    if len(set(found.values())) > 1:
        print("versions differ:", *(f"  {v}  {place}" for place, v in found.items()), sep="\n")
        return 1
    print(*set(found.values()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
