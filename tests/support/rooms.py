"""Import this before forking many children, so that none of them needs half a second for it."""
