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


class EndpointError(ModelError):
    """A model behind an address that does not answer, or answers what cannot be used.

    ``passing`` where the same question may well be answered later: it is down, stalled or busy.
    ``status`` is the HTTP status that it refused with, None where it did not even do that.
    """

    def __init__(self, message: str, passing: bool = False, status: int | None = None) -> None:
        super().__init__(message)
        self.passing = passing
        self.status = status
