"""What a book says without being read for it: answers with their places, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass

from answering.citing import Candidate


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
