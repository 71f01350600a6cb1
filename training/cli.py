"""``storyqa train``: one command per model that can be trained."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Train a reader.", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)


@app.callback()
def _root() -> None:
    """Train a reader."""


@app.command()
def span(
    data: Annotated[
        list[Path],
        typer.Option("--data", help="A folder with FairytaleQA or with SQuAD v1.1; give it once for each."),
    ],
    out: Annotated[
        Path, typer.Option("--out", help="The folder for checkpoints, log.jsonl and the weights.")
    ],
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in --out.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="For order, negatives and the head's start.")] = 13,
    squad: Annotated[
        int, typer.Option("--squad", min=0, help="How many SQuAD questions to train on.")
    ] = 42_000,
    passes: Annotated[int, typer.Option("--passes", min=1, help="Passes over FairytaleQA.")] = 2,
    examples: Annotated[
        int | None, typer.Option("--examples", min=1, help="End after so many examples; by default all.")
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            "--start",
            exists=True,
            dir_okay=False,
            help="A span reader's weights to begin with, instead of the encoder's own and a new head.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")] = False,
) -> None:
    """Train the span reader on FairytaleQA train and SQuAD v1.1 train."""
    import json

    from rich.console import Console

    from evaluation.metrics import require_extra
    from evaluation.progress import ProgressBars
    from training.card import write_card
    from training.span import RunExists, SpanTrainer, SpanTraining

    require_extra()  # the held-out score needs it, an hour from now
    settings = SpanTraining(seed=seed, squad=squad, fairytale_passes=passes, examples=examples)
    if not resume and (out / "checkpoint.safetensors").exists():
        raise RunExists(f"{out} holds a run already; give --resume to go on with it, or another --out")
    console = Console(stderr=True)
    trainer = SpanTrainer(settings, data, out, start)
    if resume:
        trainer.resume()
    with ProgressBars(console) as tell:
        trainer.run(lambda done, total: tell("training", done, total))
        score = trainer.validate()
    weights = trainer.export()
    command = f"storyqa train span {' '.join(f'--data {folder.name}' for folder in data)} --out {out.name}"
    command += f" --seed {seed} --squad {squad} --passes {passes}"
    if examples is not None:
        command += f" --examples {examples}"
    if start is not None:
        command += f" --start {start.name}"
    write_card(weights, trainer, score, command)
    result = {
        "weights": str(weights),
        "questions": len(trainer.order),
        "seconds": round(trainer.seconds),
        "held_out_questions": len(trainer.validation),
        "held_out_rouge_l": score,
    }
    if as_json:
        sys.stdout.write(json.dumps(result) + "\n")
    else:
        console.print(f"{weights}: ROUGE-L {score:.3f} on {len(trainer.validation)} held-out questions")
