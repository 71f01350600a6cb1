"""What searches for a framework's retriever, and what the framework is told of each passage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from service.client_requests import Limits
from service.schemas import HitOut, SearchResponse


class Searching(Protocol):
    """A ``Library``, or a ``Client`` of a running service."""

    def search(
        self,
        book: str | Sequence[str],
        question: str,
        /,
        *,
        before: Limits = None,
        k: int = 5,
        retriever: str | None = None,
    ) -> SearchResponse:
        """The passages that fit a question, best first."""
        ...


def place_of(hit: HitOut) -> dict[str, Any]:
    """Where a passage stands: its book, number and chapter, and its bounds in Unicode code points."""
    return hit.model_dump(exclude={"text", "score"})


def name_of(hit: HitOut) -> str:
    """A name for the passage, as the resources of ``/mcp`` have it."""
    return f"storyqa://books/{hit.book_id}/passages/{hit.number}"


class MissingFramework(ImportError):
    """A framework whose package is not installed."""

    def __init__(self, missing: str | None, extra: str) -> None:
        super().__init__(
            f"this needs a package that is missing ({missing}); install it: pip install 'storyqa[{extra}]'"
        )
