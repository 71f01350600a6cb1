"""What a run leaves: weights in fp16, each with a model card, and what another run can begin with."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from encoders.adapters import file_hash, load_weights
from encoders.backbone import NAME, SHA256
from encoders.bi_encoder import WEIGHTS as DENSE_WEIGHTS
from encoders.cross_encoder import WEIGHTS as ENCODER_WEIGHTS
from encoders.errors import ModelError
from readers.default.generate import WEIGHTS as DECODER_WEIGHTS

if TYPE_CHECKING:
    from training.corpora.corpus import Library
    from training.objectives.bi_encoder import DenseTask
    from training.objectives.cross_encoder import ReadingTask
    from training.trainer import Run


@dataclass(frozen=True, slots=True)
class Trained:
    """The weights of a finished run, its time and its held-out scores."""

    weights: tuple[Path, ...]
    seconds: float
    scores: Mapping[str, float]

    def describe(self) -> dict[str, object]:
        """For machines."""
        return {
            "weights": [str(path) for path in self.weights],
            "seconds": round(self.seconds),
            "held_out": {name: round(score, 6) for name, score in self.scores.items()},
        }


@dataclass(frozen=True, slots=True)
class _Made:
    """What a card says of how weights came to be; ``settings`` are those of the run or runs."""

    data: Mapping[str, tuple[int, int]]
    seed: object
    command: str
    settings: str
    time: str
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Start:
    """Weights to begin with, and the SHA-256 that tells them apart; all None for none."""

    encoder: Mapping[str, torch.Tensor] | None
    decoder: Mapping[str, torch.Tensor] | None
    sha256: str | None


def load_start(folder: Path | None) -> Start:
    """The weights of a run's folder; raises ModelError where it has no cross-encoder's."""
    if folder is None:
        return Start(None, None, None)
    encoder, decoder = folder / ENCODER_WEIGHTS, folder / DECODER_WEIGHTS
    hashes = [file_hash(path) for path in (encoder, decoder) if path.is_file()]
    return Start(
        load_weights(encoder), load_weights(decoder) if decoder.is_file() else None, "+".join(hashes)
    )


def average(starts: Sequence[Start]) -> dict[str, torch.Tensor]:
    """The mean of cross-encoders' weights, parameter by parameter (Wortsman et al. 2022, section 2).

    Raises ModelError where they do not have the same parameters.
    """
    encoders = [start.encoder or {} for start in starts]
    for other in encoders[1:]:
        if {n: t.shape for n, t in other.items()} != {n: t.shape for n, t in encoders[0].items()}:
            raise ModelError(
                "the runs have different parameters, so that there is no mean; "
                "wanted runs of: storyqa train span, of one --rank"
            )
    return {
        name: torch.stack([encoder[name].float() for encoder in encoders]).mean(0) for name in encoders[0]
    }


def averaged_weights(folders: Sequence[Path], library: Library, out: Path, command: str) -> Trained:
    """Write the mean of the folders' cross-encoders and its card; the held-out stories score it."""
    from encoders.cross_encoder import CrossEncoder
    from training.reading_validation import reading_scores

    began = time.monotonic()
    tensors = average([load_start(folder) for folder in folders])
    scores = reading_scores(CrossEncoder(tensors, "mean"), None, library.held_out)
    settings = [_settings(folder / ENCODER_WEIGHTS) for folder in folders]
    seconds = time.monotonic() - began
    made = _Made(
        library.describe(),
        ", ".join(str(one.get("seed")) for one in settings),
        command,
        json.dumps(settings),
        f"{seconds / 60:.0f} minutes, the runs apart",
        scores,
    )
    path = _save(tensors, out / ENCODER_WEIGHTS, {"mean": settings})
    _card(path, f"{_CROSSENCODER} The mean of the weights of {len(folders)} runs.", made)
    return Trained((path,), seconds, scores)


def _settings(path: Path) -> dict[str, object]:
    """The settings that a file of weights remembers."""
    with safe_open(path, "pt") as file:
        found: dict[str, object] = json.loads((file.metadata() or {}).get("settings", "{}"))
    return found


def dense_weights(run: Run[object], command: str) -> Trained:
    """Write the encoder of the dense retriever and its card."""
    task: DenseTask = run.task  # type: ignore[assignment]
    what = (
        f"The encoder of the dense retriever: `{NAME}` (all-MiniLM-L6-v2) with low-rank adapters of every "
        "linear map, to be added to its weights."
        if task.backbone.rank
        else f"The encoder of the dense retriever: the layers of `{NAME}` (all-MiniLM-L6-v2), trained."
    )
    path = _save(task.tensors(), run.out / DENSE_WEIGHTS, task.settings)
    _card(path, what, _made(run, command))
    return Trained((path,), run.seconds, run.scores)


def reading_weights(run: Run[object], command: str) -> Trained:
    """Write the cross-encoder and, where it was trained, the decoder, with their cards."""
    task: ReadingTask = run.task  # type: ignore[assignment]
    paths = [_save(task.tensors(), run.out / ENCODER_WEIGHTS, task.settings)]
    made = _made(run, command)
    _card(paths[0], _CROSSENCODER, made)
    if task.settings["generate_weight"]:
        paths.append(_save(task.decoder_tensors(), run.out / DECODER_WEIGHTS, task.settings))
        what = (
            f"A pointer-generator's decoder over the states of the cross-encoder `{ENCODER_WEIGHTS}` "
            f"(SHA-256 `{file_hash(paths[0])}`)."
        )
        _card(paths[1], what, made)
    return Trained(tuple(paths), run.seconds, run.scores)


def _save(tensors: Mapping[str, torch.Tensor], path: Path, settings: Mapping[str, object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    info = {"backbone": SHA256, "settings": json.dumps(settings)}
    halves = {name: tensor.detach().half().cpu().contiguous() for name, tensor in tensors.items()}
    save_file(halves, path, metadata=info)
    return path


def _made(run: Run[object], command: str) -> _Made:
    task = run.task
    return _Made(
        task.data,
        task.settings["seed"],
        command,
        json.dumps(task.settings),
        f"{run.seconds / 60:.0f} minutes on {task.device.type}",
        run.scores,
    )


def _card(weights: Path, what: str, made: _Made) -> None:
    """Write ``<weights>.md``: data, licences, seed, command, held-out scores and size."""
    data = "\n".join(
        f"  - {SOURCES[kind]}: {works:,} works, {questions:,} questions"
        for kind, (works, questions) in made.data.items()
    )
    scores = "\n".join(f"  - {name}: {score:.3f}" for name, score in made.scores.items()) or "  - none"
    weights.with_suffix(".md").write_text(
        f"""# {weights.name}

{what}
Parameters that are not in the file are those of the backbone (SHA-256 `{SHA256}`).

- **Data**, of which the settings say how much was seen, without the stories held out for choosing (a tenth
  of FairytaleQA's, a fifth of NarrativeQA's):
{data}
- **Trained on half A of NarrativeQA valid** (document ids that begin with 0 to 7) where it is listed
  above: scores on that half are not clean. Nothing named val, dev or test was used, nor half B.
- **Licence**: Apache-2.0, as the backbone
- **Seed**: {made.seed}
- **Command**: `{made.command}`
- **Settings**: `{made.settings}`
- **Time**: {made.time}
- **Scores on held-out questions**:
{scores}
- **Size**: {weights.stat().st_size:,} bytes
""",
        encoding="utf-8",
    )


_CROSSENCODER = (
    f"A cross-encoder: `{NAME}` (all-MiniLM-L6-v2) reading a question beside a passage, with a start and "
    "an end score for every token and the relevance of every window. Embeddings are the encoder's own."
)
SOURCES = {
    "fairytales": "FairytaleQA train (Apache-2.0)",
    "articles": "SQuAD v1.1 train (CC BY-SA 4.0)",
    "summaries": "NarrativeQA valid, half A, summaries (Apache-2.0; texts CC BY-SA 3.0)",
    "train summaries": "NarrativeQA train, summaries (Apache-2.0; texts CC BY-SA 3.0)",
    "train stories": "NarrativeQA train, full stories (Apache-2.0; films under copyright)",
    "stories": "NarrativeQA valid, half A, full stories of Project Gutenberg (Apache-2.0; public domain)",
}
