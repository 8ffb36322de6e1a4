"""Sets: one plain layout to read, and a builder a source that writes it."""
