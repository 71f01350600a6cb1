"""A question about a book in, a cited answer out: search, reading and citing in one object."""
