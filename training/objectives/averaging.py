"""Averages the cross-encoders of several runs, and their decoders."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import torch
import typer
from safetensors import safe_open

from encoders.adapters import DOWN, UP, Weights, file_hash
from encoders.cross_encoder import WEIGHTS, CrossEncoder
from encoders.errors import ModelError
from readers.default.decoder_weights import WEIGHTS as DECODER_WEIGHTS
from readers.default.decoder_weights import decoder_tensors
from readers.default.pointer_generator import PointerDecoder
from training.corpora.corpus import Corpus
from training.export import Provenance, Trained, load_start, save_weights, write_card
from training.invocation import Invocation
from training.objectives.cross_encoder import decoder_description, description
from training.validation import reading_scores

Starts = Annotated[
    list[Path], typer.Option(exists=True, file_okay=False, help="A run's folder; give two or more.")
]


def train(run: Invocation, *, start: Starts) -> Trained:
    """Write the means of the folders' cross-encoders and, where each has one, of their decoders, with cards;
    the held-out stories score them."""
    if len(start) < 2:
        raise typer.BadParameter(f"{len(start)} folder; wanted two or more", param_hint="--start")
    corpus = run.corpus()
    began = time.monotonic()
    starts = [load_start(folder) for folder in start]
    encoder = average([one.encoder for one in starts if one.encoder is not None])
    decoders = [one.decoder for one in starts if one.decoder is not None]
    decoder = average(decoders) if len(decoders) == len(starts) else None
    scores = reading_scores(
        CrossEncoder(encoder, "mean"), None if decoder is None else _writing(decoder), corpus.held_out
    )
    seconds = time.monotonic() - began
    what = description(encoder.backbone)
    paths = [_write(run, start, encoder, WEIGHTS, what, corpus, scores, seconds)]
    if decoder is not None:
        what = decoder_description(file_hash(paths[0]), decoder.rest)
        paths.append(_write(run, start, decoder, DECODER_WEIGHTS, what, corpus, scores, seconds))
    return Trained(tuple(paths), seconds, scores)


def _writing(weights: Weights) -> PointerDecoder:
    decoder = PointerDecoder.from_backbone(states=weights.backbone.width)
    decoder.load_state_dict(decoder_tensors(weights))
    return decoder


def _write(
    run: Invocation,
    start: Sequence[Path],
    weights: Weights,
    name: str,
    what: str,
    corpus: Corpus,
    scores: Mapping[str, float],
    seconds: float,
) -> Path:
    """Write one of the means, with a card that has the settings of its runs."""
    settings = [_settings(folder / name) for folder in start]
    made = Provenance(
        corpus.describe(),
        ", ".join(str(one.get("seed")) for one in settings),
        run.command,
        json.dumps(settings),
        f"{seconds / 60:.0f} minutes, the runs apart",
        scores,
    )
    path = save_weights(weights, run.out / name, {"mean": settings})
    write_card(path, weights.backbone, f"{what} The mean of the weights of {len(start)} runs.", made)
    return path


def average(runs: Sequence[Weights]) -> Weights:
    """The mean of models' weights (Wortsman et al. 2022, section 2): of a parameter, or of what an
    adapter adds to one.

    Raises ModelError where they do not have the same parameters.
    """
    shapes = [(one.backbone, one.rest, {n: t.shape for n, t in one.tensors.items()}) for one in runs]
    for other in shapes[1:]:
        if other != shapes[0]:
            raise ModelError(
                "the runs have different parameters, so that there is no mean; "
                "wanted runs of: storyqa train span, or of: storyqa train large, of one --rank"
            )
    means: dict[str, torch.Tensor] = {}
    for name in runs[0].tensors:
        if name.endswith(DOWN):
            up = name.removesuffix(DOWN) + UP
            pairs = [(one.tensors[name].float(), one.tensors[up].float()) for one in runs]
            means[name], means[up] = mean_adapter(pairs)
        elif not name.endswith(UP):
            means[name] = torch.stack([one.tensors[name].float() for one in runs]).mean(0)
    return Weights(runs[0].backbone, means, runs[0].rest)


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
