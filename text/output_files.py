"""Files and folders that an option names to be written: refused in one line where nothing can be."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from text.errors import StoryQAError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_full(error: BaseException) -> bool:
    """Whether ``error`` says that there is no room on a disk."""
    return isinstance(error, OSError) and error.errno in _FULL


def is_same_file(one: Path, other: Path) -> bool:
    """Whether both are there and lead to one file, by whatever names and links."""
    try:
        return one.samefile(other)
    except OSError:
        return False


@contextmanager
def writing(out: Path, option: str = "--out") -> Iterator[None]:
    """Raise ``StoryQAError`` where ``out`` cannot be written; that a disk is full stays its own error."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise
        raise StoryQAError(f"{out} cannot be written ({error.strerror}); give another {option}") from error


def make_folder(out: Path, option: str = "--out") -> None:
    """Make the folder ``out``, unless it is there; raises as ``writing`` does where that cannot be."""
    with writing(out, option):
        out.mkdir(parents=True, exist_ok=True)


def check_folder(out: Path, option: str = "--out") -> None:
    """Make the folder ``out``; raises as ``writing`` does where no file can be written into it."""
    make_folder(out, option)
    with writing(out, option), tempfile.TemporaryFile(dir=out):
        pass


def check_file(out: Path, *inputs: Path, option: str = "--out") -> None:
    """Raise ``StoryQAError`` where no file can be written to ``out``, before hours are spent on what is.

    So too where it is one of the ``inputs``, which would be lost; those that are not there are no files.
    """
    if any(is_same_file(out, one) for one in inputs):
        raise StoryQAError(f"{out} is read, and would be overwritten; give another {option}")
    make_folder(out.parent, option)
    with writing(out, option):
        there = out.exists()
        out.open("ab").close()
        if not there:
            out.unlink()
