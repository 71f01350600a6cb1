"""The settings of the trainers of WikiReading's systems, and what each system has where they say nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import typer

from training.objectives.options import Batch, Dropout, Epochs, Int8, Rate, Seed, Width

Count = Annotated[int | None, typer.Option(min=1, help="The first instances alone.", show_default=False)]
Words = Annotated[int | None, typer.Option(min=1, help="The most frequent words.", show_default=False)]
Hidden = Annotated[int | None, typer.Option(min=1, help="Of the recurrent layers.", show_default=False)]
Clip = Annotated[float | None, typer.Option(min=0.0, help="Longest gradient.", show_default=False)]
Paper = Annotated[
    bool,
    typer.Option("--paper", help="The sizes of the paper, and no attention where it has none: for a card."),
]


@dataclass(frozen=True, slots=True)
class PropertyNetwork:
    """How a system is trained unless the command line says otherwise; ``paper`` has the paper's sizes.

    ``batch`` is in instances, ``clip`` the longest that all gradients together may be, ``sizes`` are keywords
    that the net is made with besides, and ``without`` the settings that change nothing of it. ``in_paper`` is
    what the paper has for this system alone.
    """

    words: int = 20_000
    width: int = 128
    hidden: int | None = 128
    epochs: int = 10
    batch: int = 64
    rate: float = 2e-3
    clip: float = 1.0
    dropout: float = 0.3
    sizes: Mapping[str, int] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    in_paper: Mapping[str, Any] = field(default_factory=dict)

    @property
    def paper(self) -> PropertyNetwork:
        """Hewlett et al. 2016, section 4.1: 100,000 words, vectors of 300, GRUs of 1,024, batches of 128."""
        hidden = None if self.hidden is None else 1_024
        sizes = {"words": 100_000, "width": 300, "hidden": hidden, "batch": 128}
        return replace(self, **(sizes | dict(self.in_paper)))


@dataclass(frozen=True, slots=True)
class PropertySettings:
    """What a run depends on, beside its data; None is what the system has by itself.

    ``chunk`` examples lie between two points at which the run can stop.
    """

    seed: Seed = 13
    epochs: Epochs = None
    count: Count = None
    words: Words = None
    width: Width = None
    hidden: Hidden = None
    rate: Rate = None
    clip: Clip = None
    batch: Batch = None
    dropout: Dropout = None
    paper: Paper = False
    int8: Int8 = False
    chunk: int = 4_096


def check_settings(settings: PropertySettings, network: PropertyNetwork) -> None:
    """Raises ``typer.BadParameter`` for a setting that changes nothing of the system."""
    if settings.hidden and network.hidden is None:
        raise typer.BadParameter("the system has no recurrent layers", param_hint="--hidden")
    for name in network.without:
        if getattr(settings, name) is not None:
            raise typer.BadParameter(f"the system has no {name}; leave it out", param_hint=f"--{name}")


def resolved(settings: PropertySettings, network: PropertyNetwork) -> PropertyNetwork:
    """The network, of the paper's sizes where they are asked for, with what the settings say."""
    base = network.paper if settings.paper else network
    return replace(
        base,
        words=settings.words or base.words,
        width=settings.width or base.width,
        hidden=settings.hidden or base.hidden,
        epochs=settings.epochs or base.epochs,
        batch=settings.batch or base.batch,
        rate=settings.rate or base.rate,
        clip=settings.clip or base.clip,
        dropout=base.dropout if settings.dropout is None else settings.dropout,
    )
