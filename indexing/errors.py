"""What can go wrong with a file or an index, said so that the reader knows what to do next."""

from __future__ import annotations

from text.errors import StoryQAError


class SourceError(StoryQAError):
    """A file, folder or address that cannot be read as a book."""


class UnknownBook(StoryQAError):
    """A book id that the store does not hold; ``near`` are ids that look like it."""

    def __init__(self, message: str, near: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.near = near


class IndexMismatch(StoryQAError):
    """A build whose files, format or encoder are not what its manifest says."""
