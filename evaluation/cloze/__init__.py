"""Cloze questions made of books, as the Children's Book Test has them, and of articles, as CNN has."""
