"""What a retriever returns, and what it promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from indexing.book import Passage


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found; scores are comparable within one result list only."""

    passage: Passage
    score: float


class Retriever(Protocol):
    """Searches the one book it was built from."""

    def search(self, questions: Sequence[str], k: int, before: int | None = None) -> list[list[Hit]]:
        """At most ``k`` hits per question, best first; ties go to the earlier passage.

        ``before`` is a character offset: no passage that ends after it is returned, so a
        reader who has got that far meets nothing new.
        """
        ...
