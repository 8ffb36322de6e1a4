"""What an index holds, for people: tags and their edges, statistics, and a check of everything."""
