"""The sizes in which our models come: where the weights of each are, and which one is the default."""

from __future__ import annotations

import contextlib
import os
import threading
from importlib.resources import files
from pathlib import Path

from encoders.backbone import MINILM, MPNET, backbone_folder
from encoders.errors import ModelError
from text.user_folders import folder_named

LARGE = "large"  # beside MPNET: better answers for several times the work
VARIABLE = "STORYQA_SIZE"
STORY = "story"  # the retriever's encoder beside MINILM; that beside MPNET is called LARGE
ENCODER_VARIABLE = "STORYQA_ENCODER"


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


def default_encoder() -> str:
    """The encoder of a new index where none is named, its name or its folder: what ``STORYQA_ENCODER`` says,
    else ``STORY``, whatever the size of the readers: ``LARGE`` finds more, in some four times the time."""
    named = os.environ.get(ENCODER_VARIABLE) or STORY
    return str(folder_named(named)) if named.startswith("~") else named


def check_ahead() -> threading.Thread:
    """Begin to check the backbones of the default models, beside what the caller does next.

    Importing torch takes one core for a second; hashing half a gigabyte fits in beside it. What is wrong
    with a backbone is told to whoever loads it.
    """
    backbones = (MINILM, MPNET) if prefers_large() else (MINILM,)

    def check() -> None:
        for backbone in backbones:
            with contextlib.suppress(ModelError, OSError):
                backbone_folder(backbone)

    checking = threading.Thread(target=check, name="check-backbones", daemon=True)
    checking.start()
    return checking
