"""A question and one book's index in, ranked passages out."""
