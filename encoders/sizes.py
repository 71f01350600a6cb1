"""The sizes in which our models come: where the weights of each are, and which one is the default."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from encoders.backbone import MPNET
from encoders.errors import ModelError

LARGE = "large"  # beside MPNET: better answers for several times the work
VARIABLE = "STORYQA_SIZE"


def weights_folder(package: str, named: str | None) -> Path:
    """Where weights are: the ``package``'s, of either size, ``named`` None or ``LARGE``, or a folder.

    A folder of that name is reached as ``./large``.
    """
    shipped = Path(str(files(package)))
    if named is None:
        return shipped
    return shipped / LARGE if named == LARGE else Path(named)


def prefers_large() -> bool:
    """Whether the default models are the large ones: where their backbone is installed.

    Unless ``STORYQA_SIZE`` says ``small`` or ``large``; raises ModelError for anything else.
    """
    size = os.environ.get(VARIABLE) or None
    if size not in (None, "small", LARGE):
        raise ModelError(f"{VARIABLE} is {size!r}; wanted small or {LARGE}")
    return size == LARGE or (size is None and MPNET.is_installed)
