"""The model card that goes beside trained weights."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from indexing.backbone import NAME, SHA256

if TYPE_CHECKING:
    from training.span import SpanTrainer


def write_card(weights: Path, trainer: SpanTrainer, held_out_rouge_l: float | None, command: str) -> Path:
    """Write ``<weights>.md``: data, licences, seed, command, score and size of a span reader."""
    score = "no story was held out" if held_out_rouge_l is None else f"{held_out_rouge_l:.3f}"
    passes = trainer.settings.fairytale_passes
    start = trainer.settings.start
    began = "the encoder and a new head" if start is None else f"a span reader with SHA-256 `{start}`"
    card = weights.with_suffix(".md")
    card.write_text(
        f"""# {weights.name}

A span reader: the encoder `{NAME}` (all-MiniLM-L6-v2, SHA-256 `{SHA256}`) with a start and an end
score for every token. The file holds what was trained, in fp16: the encoder's layers from
{trainer.settings.frozen} on and the head. Embeddings and lower layers are the encoder's own, not repeated.

- **Data**: {len(trainer.order):,} examples from FairytaleQA train (Apache-2.0, {passes} passes) and
  SQuAD v1.1 train (CC BY-SA 4.0, at most {trainer.settings.squad:,} questions).
  Nothing named val, dev, valid or test was used.
- **Licence**: Apache-2.0, as the encoder.
- **Seed**: {trainer.settings.seed}
- **Command**: `{command}`
- **Started from**: {began}
- **Settings**: `{json.dumps(asdict(trainer.settings))}`
- **Time**: {trainer.seconds / 60:.0f} minutes on {trainer.device.type}
- **ROUGE-L on {len(trainer.validation)} questions of held-out FairytaleQA train stories**: {score}
- **Size**: {weights.stat().st_size:,} bytes
""",
        encoding="utf-8",
    )
    return card
