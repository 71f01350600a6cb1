"""What a book says without being read for it: answers with their places, or why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from answering.citing import Candidate, Evidence


@dataclass(frozen=True, slots=True)
class Said:
    """The answers of the book itself, the best first; where there are none, ``missing`` says why.

    They are ``guessed`` where they are counted from all of its names, which does not make them certain, and
    ``searched`` where they rest on the passages that were found: then they are doubted as a reader's are.
    """

    candidates: tuple[Candidate, ...]
    missing: str | None = None
    guessed: bool = False
    searched: bool = False


def said_at(
    text: str, confidence: float, places: Sequence[Evidence], note: str | None, *, guessed: bool = False
) -> Said:
    """One answer that all the ``places`` show, cited by the first of them."""
    first, *others = places
    return Said((Candidate(text, confidence, first, note, tuple(others)),), guessed=guessed)
