"""What training a model of the NarrativeQA paper leaves: its weights, chosen twice, each with a card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from readers.neural.checkpoint import RANKING_SUFFIX, SUFFIX
from training.export import SOURCES, Trained

if TYPE_CHECKING:
    from training.objectives.narrativeqa import PaperTask
    from training.trainer import Run

_WHAT = {
    "seq2seq-lstm": "A bidirectional LSTM that reads the question, and an LSTM that writes the answer.",
    "attention-sum": "An Attention Sum Reader with an LSTM decoder that points at a word at each step.",
    "bidaf": "BiDAF without characters, with learnt word vectors and one modelling layer.",
}


def paper_weights(run: Run[object], command: str) -> Trained:
    """Write the weights of the best ROUGE-L, and, where others have the best MRR, those too."""
    task: PaperTask = run.task  # type: ignore[assignment]
    name = str(task.settings["model"])
    done = run.use_best("rouge_l")
    scores = dict(run.scores)
    paths = [_export(run, name, "ROUGE-L", done, command)]
    other = run.use_best("mrr")
    ranking = run.out / f"{name}{RANKING_SUFFIX}{SUFFIX}"
    ranking.unlink(missing_ok=True)
    if other != done:
        paths.append(_export(run, name + RANKING_SUFFIX, "MRR", other, command))
    return Trained(tuple(paths), run.seconds, scores)


def trained_on(data: Mapping[str, tuple[int, int]], articles: int) -> str:
    """Such as ``FairytaleQA train (7,542 questions), SQuAD v1.1 train (20,000 questions an epoch)``."""
    parts = []
    for kind, (_, questions) in data.items():
        source = SOURCES[kind].partition(" (")[0]
        if kind != "articles":
            parts.append(f"{source} ({questions:,} questions)")
        elif articles:
            parts.append(f"{source} ({min(articles, questions):,} questions an epoch)")
    return ", ".join(parts)


def _export(run: Run[object], name: str, chosen_by: str, done: float, command: str) -> Path:
    task: PaperTask = run.task  # type: ignore[assignment]
    settings = task.settings
    on = trained_on(task.data, settings["articles"])
    path = task.weights(on).save(run.out / f"{name}{SUFFIX}", settings)
    data = "\n".join(
        f"  - {SOURCES[kind]}: {w:,} works, {q:,} questions" for kind, (w, q) in task.data.items()
    )
    scores = "\n".join(f"  - {score}: {value:.3f}" for score, value in run.scores.items()) or "  - none"
    parameters = sum(parameter.numel() for parameter in task.model.parameters())
    path.with_suffix(".md").write_text(
        f"""# {path.name}

{_WHAT[str(settings["model"])]} Kočiský et al. 2018, section 4.2.
{parameters:,} parameters, fp16; {len(task.vocabulary.words):,} words, their vectors learnt here.

- **Trained on** {on}. Nothing named val, valid, dev or test was used.
- **Data**, without the stories held out (a tenth of FairytaleQA's, a twentieth of NarrativeQA's):
{data}
- **Chosen** by {chosen_by} on the held-out stories, {done:.0%} into the run
- **Licence**: Apache-2.0
- **Seed**: {settings["seed"]}
- **Command**: `{command}`
- **Settings**: `{json.dumps(settings)}`
- **Time**: {run.seconds / 60:.0f} minutes on {task.device.type}
- **Scores on held-out questions**:
{scores}
- **Size**: {path.stat().st_size:,} bytes
""",
        encoding="utf-8",
    )
    return path
