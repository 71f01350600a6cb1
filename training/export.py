"""What training leaves: weights, each with a model card, and what another run can begin with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from encoders.adapters import DOWN, ENCODER, UP, Weights, file_hash, load_weights, packed
from encoders.backbone import Backbone, base_tensors
from encoders.cross_encoder import WEIGHTS as ENCODER_WEIGHTS
from encoders.device import computing_on, pick_device
from encoders.errors import ModelError
from readers.default.decoder_weights import WEIGHTS as DECODER_WEIGHTS
from training.corpora.loading import SOURCES
from training.corpora.squad import ARTICLES
from training.trainer import Trainer


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

    def lines(self) -> Iterator[str]:
        """For people."""
        for path in self.weights:
            yield f"{path}: {path.stat().st_size:,} bytes"
        for name, score in self.scores.items():
            yield f"  {name} {score:.3f}"


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a card says of how weights came to be; ``settings`` are those of the run or runs.

    ``processor`` is what the ``time`` is of.
    """

    data: Mapping[str, tuple[int, int]]
    seed: object
    command: str
    settings: str
    time: str
    scores: Mapping[str, float]
    processor: str = field(default_factory=lambda: computing_on(pick_device()))

    @classmethod
    def of(cls, trainer: Trainer[Any], command: str) -> Provenance:
        """That of a run as it is now."""
        task = trainer.task
        time = f"{trainer.seconds / 60:.0f} minutes"
        settings = json.dumps(task.settings)
        on = computing_on(task.device)
        return cls(task.data, task.settings["seed"], command, settings, time, trainer.scores, on)

    def data_lines(self) -> str:
        """One line of Markdown per kind of document."""
        return "\n".join(
            f"  - {SOURCES[kind]}: {documents:,} works, {questions:,} questions"
            for kind, (documents, questions) in self.data.items()
        )

    def score_lines(self) -> str:
        """One line of Markdown per held-out score."""
        return "\n".join(f"  - {name}: {score:.3f}" for name, score in self.scores.items()) or "  - none"

    def closing_lines(self, weights: Path) -> str:
        """What every card ends with: how to make these ``weights`` again, how good and how large they are."""
        return f"""- **Seed**: {self.seed}
- **Command**: `{self.command}`
- **Settings**: `{self.settings}`
- **Time**: {self.time}
- **Processor**: {self.processor}
- **Scores on held-out questions**:
{self.score_lines()}
- **Size**: {weights.stat().st_size:,} bytes"""


@dataclass(frozen=True, slots=True)
class StartingWeights:
    """Weights to begin with, and the SHA-256 that tells them apart; all None for none."""

    encoder: Weights | None
    decoder: Weights | None
    sha256: str | None


def load_start(folder: Path | None) -> StartingWeights:
    """The weights of a run's folder; raises ModelError where it has no cross-encoder's."""
    if folder is None:
        return StartingWeights(None, None, None)
    encoder, decoder = folder / ENCODER_WEIGHTS, folder / DECODER_WEIGHTS
    hashes = [file_hash(path) for path in (encoder, decoder) if path.is_file()]
    return StartingWeights(
        load_weights(encoder), load_weights(decoder) if decoder.is_file() else None, "+".join(hashes)
    )


def require_backbone(start: Weights, base: Backbone) -> None:
    """Raises ModelError where the weights to start from stand beside another backbone."""
    if start.backbone != base:
        raise ModelError(
            f"the weights to start from stand beside {start.backbone.name}; wanted some beside {base.name}"
        )


def save_weights(weights: Weights, path: Path, settings: Mapping[str, object]) -> Path:
    """Write parameters that stand beside the backbone's, ``packed``, and the settings of their run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    info = {"backbone": weights.backbone.sha256, "settings": json.dumps(settings)}
    if weights.rest is not None:
        info["rest"] = weights.rest
    # What stands beside a backbone can be kept without having it; changes of its own parameters cannot.
    whole = any(n.startswith(ENCODER) and not n.endswith((DOWN, UP)) for n in weights.tensors)
    base = base_tensors(weights.backbone) if whole else {}
    save_file(packed(weights.tensors, base), path, metadata=info)
    return path


def write_card(weights: Path, backbone: Backbone, what: str, made: Provenance) -> None:
    """Write ``<weights>.md``: data, licences, seed, command, held-out scores and size."""
    weights.with_suffix(".md").write_text(
        f"""# {weights.name}

{what}
Parameters that are not in the file are those of the backbone `{backbone.name}` (SHA-256 `{backbone.sha256}`).

- **Data**, of which the settings say how much was seen, without the stories held out for choosing (a
  twentieth of FairytaleQA's, a fifth of NarrativeQA's, a sixth of the novels):
{made.data_lines()}
- **Trained on half A of NarrativeQA valid** (document ids that begin with 0 to 7) where it is listed
  above: scores on that half are not clean. Nothing named val, dev or test was used, nor half B.
- **Licence**: Apache-2.0, as the backbone
{made.closing_lines(weights)}
""",
        encoding="utf-8",
    )


def write_states_card(weights: Path, what: str, made: Provenance) -> None:
    """As ``write_card``, for a model over the states of an encoder, which needs no backbone of its own."""
    weights.with_suffix(".md").write_text(
        f"""# {weights.name}

{what}

- **Data**, without the stories held out for choosing (a twentieth of FairytaleQA's):
{made.data_lines()}
- **Licence**: Apache-2.0
{made.closing_lines(weights)}
""",
        encoding="utf-8",
    )


def write_neural_card(weights: Path, what: str, trained_on: str, chosen: str, made: Provenance) -> None:
    """As ``write_card``, for a model that has no backbone; ``chosen`` says by what and when in the run."""
    weights.with_suffix(".md").write_text(
        f"""# {weights.name}

{what}

- **Trained on** {trained_on}. Nothing named val, valid, dev or test was used.
- **Data**, without the stories held out (a twentieth of FairytaleQA's and of NarrativeQA's):
{made.data_lines()}
- **Chosen** by {chosen}
- **Licence**: Apache-2.0
{made.closing_lines(weights)}
""",
        encoding="utf-8",
    )


def write_cloze_card(weights: Path, what: str, trained_on: str, chosen: str, made: Provenance) -> None:
    """As ``write_neural_card``, for a system that fills blanks."""
    weights.with_suffix(".md").write_text(
        f"""# {weights.name}

{what}

- **Trained on** {trained_on}. The valid split served to choose, no test split for anything.
- **Data**:
{made.data_lines()}
- **Chosen** by {chosen}
- **Licence**: Apache-2.0
{made.closing_lines(weights)}
""",
        encoding="utf-8",
    )


def write_property_card(weights: Path, what: str, trained_on: str, chosen: str, made: Provenance) -> None:
    """As ``write_neural_card``, for a system of WikiReading."""
    weights.with_suffix(".md").write_text(
        f"""# {weights.name}

{what} Hewlett et al. 2016, section 3.

- **Trained on** {trained_on}. No validation or test split was used.
- **Data**:
{made.data_lines()}
- **Chosen** by {chosen}
- **Licence**: Apache-2.0
{made.closing_lines(weights)}
""",
        encoding="utf-8",
    )


def summarise_data(data: Mapping[str, tuple[int, int]], articles: int) -> str:
    """Such as ``FairytaleQA train (7,542 questions), SQuAD v1.1 train (20,000 questions an epoch)``."""
    parts = []
    for kind, (_, questions) in data.items():
        source = SOURCES[kind].partition(" (")[0]
        if kind != ARTICLES:
            parts.append(f"{source} ({questions:,} questions)")
        elif articles:
            parts.append(f"{source} ({min(articles, questions):,} questions an epoch)")
    return ", ".join(parts)
