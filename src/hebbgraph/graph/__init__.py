"""The incidence graph of chunks and tags, and what can be read off it."""
