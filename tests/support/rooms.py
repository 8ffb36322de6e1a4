"""Import this before forking many children, so that none of them needs half a second for it."""

import hebbgraph.graph.aliases
import hebbgraph.inspect.doctor
import hebbgraph.inspect.explain
import hebbgraph.namespace
import hebbgraph.recall.recaller
import hebbgraph.recall.strategies.spreading
import hebbgraph.teacher
import hebbgraph.writer  # noqa: F401
