"""The place that ``--out`` names, refused in one line where nothing can be written there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from indexing.errors import is_full
from text.errors import StoryQAError
from text.user_folders import is_same_file


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Raise ``StoryQAError`` where ``out`` cannot be written; that a disk is full stays its own error."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise
        raise StoryQAError(f"{out} cannot be written ({error.strerror}); give another --out") from error


def make_folder(out: Path) -> None:
    """Make the folder ``out``, unless it is there; raises ``StoryQAError`` where that cannot be."""
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)


def check_file(out: Path, *inputs: Path) -> None:
    """Raise ``StoryQAError`` where no file can be written to ``out``, before hours are spent on what is.

    So too where it is one of the ``inputs``, which would be lost; those that are not there are no files.
    """
    if any(is_same_file(out, one) for one in inputs):
        raise StoryQAError(f"{out} is read, and would be overwritten; give another --out")
    make_folder(out.parent)
    with writing(out):
        there = out.exists()
        out.open("ab").close()
        if not there:
            out.unlink()
