"""Upgrade an index directory of an earlier version, and check it.

    python examples/upgrade.py memory.hebb

Stop all programs that write to the directory first. The script copies it to ``memory.hebb.before``,
which the earlier version can still open. Then it opens the directory, which rebuilds derived parts
whose format has changed, and lets doctor compare everything with the texts and the feedback. It
prints what does not match, and exits with 1 if anything is wrong.
"""

from __future__ import annotations

import logging
import shutil
import sys
from pathlib import Path

from hebbgraph import HebbianIndex


def upgrade(directory: Path) -> bool:
    """Open a directory of an earlier version; return whether everything in it matches."""
    backup = directory.with_name(f"{directory.name}.before")
    if not backup.exists():
        partial = backup.with_name(f"{backup.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(directory, partial)
        partial.rename(backup)  # a backup with this name is complete
    print(f"{backup}: the directory as it was; HebbianIndex.restore brings it back")
    with HebbianIndex.open(directory) as index:
        stats, report = index.stats(), index.maintenance.doctor()
        print(f"{stats.chunks} chunks, {stats.tags} tags, {stats.lessons} lessons")
        for finding in report.findings:
            print(finding)
        return report.ok


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    sys.exit(not upgrade(Path(sys.argv[1])))
