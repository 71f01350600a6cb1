"""What can go wrong with a file or an index, said so that the reader knows what to do next."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from text.errors import StoryQAError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class DiskFull(StoryQAError):
    """A disk that is full, or the user's share of it."""


def is_full(error: BaseException) -> bool:
    """Whether ``error`` says that there is no room on a disk."""
    return isinstance(error, OSError) and error.errno in _FULL


@contextmanager
def naming_full_disk(folder: Path) -> Iterator[None]:
    """Raise ``DiskFull`` where something meets a full disk when it writes into ``folder``."""
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise DiskFull(f"the disk of {folder} is full; make room and do the same again") from error


class TooManyFiles(StoryQAError):
    """As many files are open as the process, or the system, may have open."""


@contextmanager
def naming_open_files(path: Path) -> Iterator[None]:
    """Raise ``TooManyFiles`` where ``path`` cannot be opened because as many files are open as may be."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE):
            raise
        raise TooManyFiles(
            f"{path} cannot be opened, for as many files are open as the system allows; allow more with: "
            "ulimit -n NUMBER, or have one index for all books: storyqa shelves index"
        ) from error


class SourceError(StoryQAError):
    """A file, folder or address that cannot be read as a book."""


class UnknownBook(StoryQAError):
    """A book id that the store does not hold; ``near`` are ids that look like it."""

    def __init__(self, message: str, near: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.near = near


class UnknownCharacter(StoryQAError):
    """A name that nobody has in a book, or several; ``near`` are names that look like it."""

    def __init__(self, message: str, near: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.near = near


class IndexMismatch(StoryQAError):
    """A build whose files, format or encoder are not what its manifest says."""


class StoreUnreachable(StoryQAError):
    """An object store that does not answer, or refuses what is asked of it."""


class Overtaken(StoryQAError):
    """A change that was not made, because another process changed the same meanwhile."""
