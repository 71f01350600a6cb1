"""Folders as users name them."""

from __future__ import annotations

from pathlib import Path

from text.errors import StoryQAError


def folder_named(given: str) -> Path:
    """The folder that an environment or a command line means, where ``~`` is the user's home.

    Raises StoryQAError where there is no such home.
    """
    try:
        # As a string it begins so; the Path of ``./~`` would as well.
        return Path(given).expanduser() if given.startswith("~") else Path(given)
    except RuntimeError:
        raise StoryQAError(
            f"{given!r} begins with no user's home; wanted a folder, which may begin with ~/"
        ) from None
