"""A book's text in, its chapters out."""
