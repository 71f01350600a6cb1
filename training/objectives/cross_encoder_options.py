"""The options of the cross-encoder's objectives beside their settings, and which of all go together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from training.objectives.cross_encoder_settings import CrossEncoderSettings

Cloze = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        file_okay=False,
        help="A folder of the Children's Book Test, or of books, whose clozes are learnt before all else.",
    ),
]
Teach = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        file_okay=False,
        help="The folder of a run, such as of train large, whose cross-encoder is learnt from besides.",
    ),
]
NO_BRIDGE = "there is nothing to bridge; wanted --start with a large encoder"


def check_options(
    settings: CrossEncoderSettings, out: Path, start: Path | None, cloze: Path | None, teacher: Path | None
) -> None:
    """Raises ``typer.BadParameter`` for an option that means nothing without another, or beside it."""
    for option in ("unlabelled", "reworded"):
        share = getattr(settings, option)
        if share and teacher is None:
            raise typer.BadParameter(f"{share:g} without --teacher", param_hint=f"--{option}")
    if settings.marked_alone and teacher is None:
        raise typer.BadParameter("without --teacher all is learnt from labels", param_hint="--marked-alone")
    if settings.clozes and cloze is None:
        raise typer.BadParameter(f"{settings.clozes} without --cloze", param_hint="--clozes")
    if settings.bridge and start is None:
        raise typer.BadParameter(NO_BRIDGE, param_hint="--bridge")
    if settings.bridge and not settings.copies:
        raise typer.BadParameter("the shipped decoder copies, and stays as it is", param_hint="--no-copies")
    if settings.frozen and start is None:
        raise typer.BadParameter(
            "none is given; wanted the folder of the cross-encoder that the decoder reads with",
            param_hint="--start",
        )
    if settings.frozen and start is not None and start.resolve() == out.resolve():
        raise typer.BadParameter(
            f"{out} is the folder of --start, which keeps a run of its own; wanted another",
            param_hint="--out",
        )
