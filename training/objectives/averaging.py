"""Averages the cross-encoders of several runs."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import torch
import typer
from safetensors import safe_open

from encoders.adapters import DOWN, UP, Weights
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
    """The mean of cross-encoders' weights (Wortsman et al. 2022, section 2): of a parameter, or of what an
    adapter adds to one.

    Raises ModelError where they do not have the same parameters.
    """
    encoders = [start.encoder for start in starts if start.encoder is not None]
    shapes = [(one.backbone, {n: t.shape for n, t in one.tensors.items()}) for one in encoders]
    for other in shapes[1:]:
        if other != shapes[0]:
            raise ModelError(
                "the runs have different parameters, so that there is no mean; "
                "wanted runs of: storyqa train span, or of: storyqa train large, of one --rank"
            )
    means: dict[str, torch.Tensor] = {}
    for name in encoders[0].tensors:
        if name.endswith(DOWN):
            up = name.removesuffix(DOWN) + UP
            pairs = [(one.tensors[name].float(), one.tensors[up].float()) for one in encoders]
            means[name], means[up] = mean_adapter(pairs)
        elif not name.endswith(UP):
            means[name] = torch.stack([one.tensors[name].float() for one in encoders]).mean(0)
    return Weights(encoders[0].backbone, means)


def mean_adapter(adapters: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, torch.Tensor]:
    """The adapter A (rank, inputs), B (outputs, rank) whose B A is nearest to the mean of those given.

    What is averaged is what they add to the map, and no factor means anything apart from the other. The
    mean's own rank is as many times higher; the largest singular values are kept (Eckart and Young 1936).
    """
    rank = len(adapters[0][0])
    down = torch.cat([one for one, _ in adapters])
    up = torch.cat([one for _, one in adapters], 1) / len(adapters)
    # Of thin factors: the singular values of B A are those of a matrix no wider than the ranks together.
    left, left_rest = torch.linalg.qr(up)
    right, right_rest = torch.linalg.qr(down.T)
    u, values, v = torch.linalg.svd(left_rest @ right_rest.T)
    share = values[:rank].sqrt()
    return (right @ v[:rank].T * share).T, left @ u[:, :rank] * share


def _settings(path: Path) -> dict[str, object]:
    """The settings that a file of weights remembers."""
    with safe_open(path, "pt") as file:
        found: dict[str, object] = json.loads((file.metadata() or {}).get("settings", "{}"))
    return found
