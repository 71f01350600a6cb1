"""Averages the cross-encoders of several runs, parameter by parameter."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import torch
import typer
from safetensors import safe_open

from encoders.adapters import Weights
from encoders.cross_encoder import WEIGHTS, CrossEncoder
from encoders.errors import ModelError
from training.export import Provenance, StartingWeights, Trained, load_start, save_weights, write_card
from training.invocation import Invocation
from training.objectives.cross_encoder import description
from training.validation import reading_scores

Starts = Annotated[
    list[Path], typer.Option(exists=True, file_okay=False, help="A run's folder; give two or more.")
]


def train(run: Invocation, *, start: Starts) -> Trained:
    """Write the mean of the folders' cross-encoders and its card; the held-out stories score it."""
    if len(start) < 2:
        raise typer.BadParameter(f"{len(start)} folder; wanted two or more", param_hint="--start")
    corpus = run.corpus()
    began = time.monotonic()
    weights = average([load_start(folder) for folder in start])
    scores = reading_scores(CrossEncoder(weights, "mean"), None, corpus.held_out)
    settings = [_settings(folder / WEIGHTS) for folder in start]
    seconds = time.monotonic() - began
    made = Provenance(
        corpus.describe(),
        ", ".join(str(one.get("seed")) for one in settings),
        run.command,
        json.dumps(settings),
        f"{seconds / 60:.0f} minutes, the runs apart",
        scores,
    )
    path = save_weights(weights, run.out / WEIGHTS, {"mean": settings})
    what = description(weights.backbone)
    write_card(path, weights.backbone, f"{what} The mean of the weights of {len(start)} runs.", made)
    return Trained((path,), seconds, scores)


def average(starts: Sequence[StartingWeights]) -> Weights:
    """The mean of cross-encoders' weights, parameter by parameter (Wortsman et al. 2022, section 2).

    Raises ModelError where they do not have the same parameters.
    """
    encoders = [start.encoder for start in starts if start.encoder is not None]
    shapes = [(one.backbone, {n: t.shape for n, t in one.tensors.items()}) for one in encoders]
    for other in shapes[1:]:
        if other != shapes[0]:
            raise ModelError(
                "the runs have different parameters, so that there is no mean; "
                "wanted runs of: storyqa train span, of one --rank"
            )
    means = {
        name: torch.stack([encoder.tensors[name].float() for encoder in encoders]).mean(0)
        for name in encoders[0].tensors
    }
    return Weights(encoders[0].backbone, means)


def _settings(path: Path) -> dict[str, object]:
    """The settings that a file of weights remembers."""
    with safe_open(path, "pt") as file:
        found: dict[str, object] = json.loads((file.metadata() or {}).get("settings", "{}"))
    return found
