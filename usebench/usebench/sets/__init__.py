"""Sets: one layout, and a builder for each source."""
