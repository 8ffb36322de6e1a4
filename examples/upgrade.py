"""Open an index of an earlier version, and say what became of it.

    python examples/upgrade.py memory.hebb

Stop whatever writes to the directory first. The script copies it to ``memory.hebb.before``, file by
file, which the version that wrote it still opens. Then it opens the directory, which derives again
what has another form today, and lets doctor compare everything with the texts and the feedback.
Where something does not fit, it names it and exits with 1.
"""

from __future__ import annotations

import logging
import shutil
import sys
from pathlib import Path

from hebbgraph import HebbianIndex


def upgrade(directory: Path) -> bool:
    """Open a directory of an earlier version; return whether all of it fits."""
    backup = directory.with_name(f"{directory.name}.before")
    if not backup.exists():
        partial = backup.with_name(f"{backup.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(directory, partial)
        partial.rename(backup)  # so what has this name is whole
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
