"""Questions without what ends them."""

from __future__ import annotations


def bare_question(question: str) -> str:
    """The question on one line, without what ends it, as patterns of whole questions are written."""
    return " ".join(question.split()).rstrip("?!. ")
