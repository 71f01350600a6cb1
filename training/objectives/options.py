"""Options that the settings of several objectives have."""

from __future__ import annotations

from typing import Annotated

import typer

Seed = Annotated[int, typer.Option(help="For order, negatives and what begins at random.")]
Rank = Annotated[int, typer.Option(min=0, help="Train adapters of this rank (LoRA); 0 trains the layers.")]
