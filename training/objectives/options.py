"""Options that the settings of several objectives have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

LEAST_RATE = 1e-12  # at 0 nothing is learnt

Start = Annotated[
    Path | None,
    typer.Option(exists=True, file_okay=False, help="The folder of a run whose weights to begin with."),
]
Within = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Plan the run by time: it ends after so many minutes of training, where its questions last, and "
        "its learning rates fall with the time that is left.",
    ),
]
Novels = Annotated[int, typer.Option(min=0, help="Passes over our own questions about novels.")]
Everyday = Annotated[int, typer.Option(min=0, help="Passes over our own questions about everyday texts.")]
Seed = Annotated[int, typer.Option(help="For order, negatives and what begins at random.")]
Rank = Annotated[int, typer.Option(min=0, help="Train adapters of this rank (LoRA); 0 trains the layers.")]
# Of networks from nothing; None is what the system's paper has.
Epochs = Annotated[int | None, typer.Option(min=1, help="Passes over the data.", show_default=False)]
Width = Annotated[int | None, typer.Option(min=1, help="Of the word vectors.", show_default=False)]
Rate = Annotated[float | None, typer.Option(min=LEAST_RATE, help="The learning rate.", show_default=False)]
Batch = Annotated[int | None, typer.Option(min=1, help="Examples of a batch.", show_default=False)]
Dropout = Annotated[
    float | None,
    typer.Option(min=0.0, max=0.9, help="Share of the states that are dropped.", show_default=False),
]
Int8 = Annotated[bool, typer.Option("--int8", help="Leave the weights in int8, half the size of fp16.")]
