"""What can go wrong with a file or an index, said so that the reader knows what to do next."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from text.errors import StoryQAError
from text.output_files import is_full

_SHUT = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EEXIST, errno.ENOTDIR, errno.EISDIR)


class DiskFull(StoryQAError):
    """A disk that is full, or the user's share of it."""


class NotWritable(StoryQAError):
    """A folder, of the store or of copies of one, that this process may not write to."""


@contextmanager
def naming_failed_writes(folder: Path) -> Iterator[None]:
    """Raise ``DiskFull`` or ``NotWritable`` where something that writes into ``folder`` may not or cannot."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise DiskFull(f"the disk of {folder} is full; make room and do the same again") from error
        if error.errno not in _SHUT:
            raise
        raise NotWritable(
            f"{error.filename or folder} cannot be written ({error.strerror}); check its permissions, or "
            "name another folder with --store or STORYQA_STORE (STORYQA_CACHE for copies of an object store)"
        ) from error


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
