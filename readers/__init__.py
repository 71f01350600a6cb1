"""A question and passages in story order in, ranked answers out."""
