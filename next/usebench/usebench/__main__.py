"""``python -m usebench``."""

from __future__ import annotations

import sys

from usebench.cli import main

sys.exit(main())
