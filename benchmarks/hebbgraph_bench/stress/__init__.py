"""Load one index with readers and writers, and check that nothing was lost."""

from hebbgraph_bench.stress.report import LoadReport
from hebbgraph_bench.stress.run import run_load

__all__ = ["LoadReport", "run_load"]
