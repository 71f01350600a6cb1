"""The settings of ``storyqa train cbt`` and ``cnn``, and what a paper has where they say nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import typer

from text.registry import check_name
from training.objectives.cloze_systems import CLOZE_SYSTEMS, OF_NETWORKS, ClozeSystem, Network
from training.objectives.options import Batch, Dropout, Epochs, Int8, Rate, Seed, Width

System = Annotated[str, typer.Option(help=f"{', '.join(CLOZE_SYSTEMS)}; memn2n with its options.")]
Count = Annotated[
    int | None,
    typer.Option(min=1, help="Questions to train on (CBT: a class); else as evaluate.", show_default=False),
]
Setting = Annotated[str | None, typer.Option(help="That of the data set, as evaluate.", show_default=False)]
Words = Annotated[int, typer.Option(min=1, help="The most frequent words, to be known.")]
Hidden = Annotated[int | None, typer.Option(min=1, help="Of the LSTMs.", show_default=False)]
Nearest = Annotated[
    str | None,
    typer.Option(
        help="Curriculum: the last tokens of the context that are read, a stage each, such as 80,320.",
        show_default=False,
    ),
]
Arpa = Annotated[bool, typer.Option("--arpa", help="Write the n-grams of kneser-ney as ARPA's text, too.")]
Unknown = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="Share of the words that training replaces by an unknown one.")
]


@dataclass(frozen=True, slots=True)
class ClozeSettings:
    """What a run depends on, beside its data; None is what the paper of the ``system`` has.

    ``chunk`` examples lie between two points at which the run can stop.
    """

    system: System = "memn2n@self"
    seed: Seed = 13
    epochs: Epochs = None
    count: Count = None
    setting: Setting = None
    words: Words = 40_000
    width: Width = None
    hidden: Hidden = None
    rate: Rate = None
    batch: Batch = None
    dropout: Dropout = None
    unknown: Unknown = 0.0
    nearest: Nearest = None
    arpa: Arpa = False
    int8: Int8 = False
    chunk: int = 4_096
    data_set: str = "cbt"


def system_of(settings: ClozeSettings) -> ClozeSystem:
    """The line of the table that is trained; raises ``UnknownName`` where there is none."""
    name, _, options = settings.system.partition("@")
    kind = next((part for part in options.split(",") if f"{name}@{part}" in CLOZE_SYSTEMS), None)
    full = f"{name}@{kind}" if kind else name
    if full not in CLOZE_SYSTEMS and f"{name}@self" in CLOZE_SYSTEMS:
        full = f"{name}@self"
    check_name("system", full, CLOZE_SYSTEMS)
    return CLOZE_SYSTEMS[full]


def check_settings(settings: ClozeSettings) -> None:
    """Raises ``typer.BadParameter`` for a setting that changes nothing of the system."""
    for name in (*OF_NETWORKS, "unknown", "nearest", "arpa"):
        if getattr(settings, name) != getattr(ClozeSettings(), name) and not system_of(settings).knows(name):
            have = ", ".join(other for other, one in CLOZE_SYSTEMS.items() if one.knows(name))
            raise typer.BadParameter(f"{settings.system} has none; {have} have", param_hint=f"--{name}")


def stages(settings: ClozeSettings) -> tuple[int | None, ...]:
    """How many tokens of the context each stage reads, None for all of them; one stage by default.

    Raises ``typer.BadParameter`` for what is no such list.
    """
    if settings.nearest is None:
        return (None,)
    tokens = settings.nearest.split(",")
    if not all(one.strip().isdecimal() and int(one) for one in tokens):
        raise typer.BadParameter(f"{settings.nearest!r}; wanted such as 80,320", param_hint="--nearest")
    return tuple(map(int, tokens))


def resolved(settings: ClozeSettings, network: Network) -> Network:
    """The network as the paper has it for this data set, but for what the settings say."""
    data_set = settings.data_set
    return replace(
        network,
        rate=settings.rate or network.rates.get(data_set, network.rate),
        width=settings.width or network.width,
        hidden=(settings.hidden or network.hidden) if network.hidden else None,
        epochs=settings.epochs or network.epochs,
        batch=settings.batch or network.batch,
        dropout=network.dropout if settings.dropout is None else settings.dropout,
    )
