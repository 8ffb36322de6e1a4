"""Pure functions on arrays: every formula of the index, and nothing that knows a chunk."""
