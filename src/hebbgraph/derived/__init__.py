"""What follows from the truth, and how it is kept up to date."""
