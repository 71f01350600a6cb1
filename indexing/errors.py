"""What can go wrong with a file or an index, said so that the reader knows what to do next."""

from __future__ import annotations


class StoryQAError(Exception):
    """An error whose message is written for the user: what was given, what was wanted, what to do."""


class SourceError(StoryQAError):
    """A file, folder or address that cannot be read as a book."""


class UnknownBook(StoryQAError):
    """A book id that the store does not hold; ``near`` are ids that look like it."""

    def __init__(self, message: str, near: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.near = near


class IndexMismatch(StoryQAError):
    """A build whose files, format or encoder are not what its manifest says."""


class ModelError(StoryQAError):
    """Model files that are missing, have another hash, or are of the wrong kind."""
