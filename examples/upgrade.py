"""Open an index of an earlier version, and say what became of it.

    python examples/upgrade.py memory.hebb

The script backs the directory up to ``memory.hebb.before``. Then it opens it, which derives again
what has another form today, and lets doctor compare everything with the texts and the feedback.
Where something does not fit, it names it and exits with 1.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from hebbgraph import HebbianIndex


def upgrade(directory: Path) -> bool:
    """Open a directory of an earlier version; return whether all of it fits."""
    backup = directory.with_name(f"{directory.name}.before")
    with HebbianIndex.open(directory) as index:
        if not backup.exists():
            index.maintenance.backup(backup)
        print(f"{backup}: a backup, which HebbianIndex.restore brings back")
        stats, report = index.stats(), index.maintenance.doctor()
        print(f"{stats.chunks} chunks, {stats.tags} tags, {stats.lessons} lessons")
        for finding in report.findings:
            print(finding)
        return report.ok


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    sys.exit(not upgrade(Path(sys.argv[1])))
