"""``storyqa train``: one command per model that can be trained."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from training.export import Trained
    from training.objectives.cross_encoder import ReadingTraining
    from training.objectives.narrativeqa import PaperTraining

app = typer.Typer(
    help="Train a model.", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)

Data = Annotated[
    list[Path],
    typer.Option(
        "--data", help="A folder with FairytaleQA, SQuAD v1.1 or NarrativeQA; give it once for each."
    ),
]
Out = Annotated[
    Path, typer.Option("--out", help="The folder for checkpoint, log.jsonl, its curve and the weights.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in --out.")]
Seed = Annotated[int, typer.Option("--seed", help="For order, negatives and what begins at random.")]
Rank = Annotated[
    int, typer.Option("--rank", min=0, help="Train adapters of this rank (LoRA); 0 trains the layers.")
]
Start = Annotated[
    Path | None,
    typer.Option(
        "--start", exists=True, file_okay=False, help="The folder of a run whose weights to begin with."
    ),
]
Examples = Annotated[
    int | None, typer.Option("--examples", min=1, help="End after so many questions; by default all.")
]
Articles = Annotated[int, typer.Option("--articles", min=0, help="How many questions of SQuAD to see.")]
Fairytales = Annotated[int, typer.Option("--fairytales", min=0, help="Passes over FairytaleQA.")]
Summaries = Annotated[int, typer.Option("--summaries", min=0, help="Passes over NarrativeQA's summaries.")]
Stories = Annotated[int, typer.Option("--stories", min=0, help="Passes over NarrativeQA's full stories.")]
Official = Annotated[
    list[Path],
    typer.Option(
        "--data",
        help="A folder with NarrativeQA (its training split alone is used), FairytaleQA or SQuAD v1.1; "
        "give it once for each.",
    ),
]
Epochs = Annotated[int, typer.Option("--epochs", min=1, help="Passes over the data.")]
VocabularySize = Annotated[int, typer.Option("--words", min=0, help="The most frequent words, to be known.")]
Width = Annotated[int, typer.Option("--width", min=1, help="Of the word vectors.")]
Hidden = Annotated[int, typer.Option("--hidden", min=1, help="Of the LSTMs, in each direction.")]
Chunks = Annotated[
    int,
    typer.Option(
        "--chunks",
        min=0,
        help="Learn NarrativeQA's full stories, so many passages nearest to the answer; 0 learns summaries.",
    ),
]
Around = Annotated[
    int,
    typer.Option(
        "--around", min=0, help="Every other time so many words of a fairy tale, not its sections alone."
    ),
]
EveryEpoch = Annotated[int, typer.Option("--articles", min=0, help="Questions of SQuAD in each pass.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]


@app.callback()
def _root() -> None:
    """Train a model."""


@app.command()
def dense(
    data: Data,
    out: Out,
    resume: Resume = False,
    seed: Seed = 13,
    rank: Rank = 16,
    passes: Annotated[int, typer.Option("--passes", min=0, help="Passes over FairytaleQA.")] = 2,
    articles: Annotated[int, typer.Option("--articles", min=0, help="Batches of SQuAD's articles.")] = 80,
    mined: Annotated[
        bool, typer.Option("--mined/--no-mined", help="Beside each story one that BM25 takes for it.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Train the encoder of the dense retriever: questions beside the windows that answer them."""
    from training.export import dense_weights
    from training.objectives.bi_encoder import DenseTask, DenseTraining

    settings = DenseTraining(seed=seed, rank=rank, passes=passes, articles=articles, mined=mined)
    library = _library(data)
    _train(DenseTask(settings, library), out, resume, dense_weights, as_json)


@app.command()
def span(
    data: Data,
    out: Out,
    resume: Resume = False,
    seed: Seed = 13,
    rank: Rank = 0,
    start: Start = None,
    fairytales: Fairytales = 1,
    summaries: Summaries = 1,
    stories: Stories = 1,
    articles: Articles = 2_500,
    examples: Examples = None,
    distractors: Annotated[
        bool, typer.Option("--distractors/--no-distractors", help="Show passages that do not answer, too.")
    ] = True,
    marginal: Annotated[
        bool, typer.Option("--marginal/--no-marginal", help="All spans that come close are right, or one.")
    ] = True,
    copies: Annotated[
        bool, typer.Option("--copies/--no-copies", help="The decoder may copy, or only generate.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Train the cross-encoder: spans, relevance and a decoder's answers together."""
    from training.objectives.cross_encoder import ReadingTraining

    settings = ReadingTraining(
        seed=seed,
        rank=rank,
        fairytales=fairytales,
        summaries=summaries,
        stories=stories,
        articles=articles,
        examples=examples,
        distractors=distractors,
        marginal=marginal,
        copies=copies,
    )
    _train_reading(settings, data, out, resume, start, as_json)


@app.command()
def rerank(
    data: Data,
    out: Out,
    resume: Resume = False,
    seed: Seed = 13,
    rank: Rank = 16,
    start: Start = None,
    fairytales: Fairytales = 1,
    stories: Stories = 1,
    articles: Articles = 2_500,
    examples: Examples = None,
    as_json: AsJson = False,
) -> None:
    """Train a cross-encoder for relevance alone."""
    from training.objectives.cross_encoder import ReadingTraining

    settings = ReadingTraining(
        seed=seed,
        rank=rank,
        fairytales=fairytales,
        summaries=0,
        stories=stories,
        articles=articles,
        examples=examples,
        span_weight=0.0,
        relevance_weight=1.0,
        generate_weight=0.0,
    )
    _train_reading(settings, data, out, resume, start, as_json)


@app.command()
def generate(
    data: Data,
    out: Out,
    resume: Resume = False,
    seed: Seed = 13,
    start: Start = None,
    fairytales: Fairytales = 4,
    summaries: Summaries = 2,
    stories: Stories = 0,
    articles: Articles = 5_000,
    examples: Examples = None,
    copies: Annotated[
        bool, typer.Option("--copies/--no-copies", help="The decoder may copy, or only generate.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Train the decoder alone, on what the cross-encoder says of the passages."""
    from training.objectives.cross_encoder import ReadingTraining

    settings = ReadingTraining(
        seed=seed,
        frozen=True,
        fairytales=fairytales,
        summaries=summaries,
        stories=stories,
        articles=articles,
        examples=examples,
        span_weight=0.0,
        relevance_weight=0.0,
        generate_weight=1.0,
        copies=copies,
    )
    _train_reading(settings, data, out, resume, start, as_json)


@app.command()
def average(
    data: Data,
    out: Out,
    start: Annotated[
        list[Path],
        typer.Option("--start", exists=True, file_okay=False, help="A run's folder; give two or more."),
    ],
    as_json: AsJson = False,
) -> None:
    """Average the cross-encoders of several runs, and score the mean on the held-out stories."""
    from rich.console import Console

    from training.export import averaged_weights

    if len(start) < 2:
        raise typer.BadParameter(f"{len(start)} folder; wanted two or more", param_hint="--start")
    _report(averaged_weights(start, _library(data), out, _command()), Console(stderr=True), as_json)


@app.command("seq2seq-lstm")
def seq2seq_lstm(
    data: Official,
    out: Out,
    resume: Resume = False,
    seed: Seed = 13,
    epochs: Epochs = 8,
    words: VocabularySize = 4_000,
    width: Width = 64,
    hidden: Hidden = 64,
    as_json: AsJson = False,
) -> None:
    """Train the NarrativeQA paper's Seq2Seq: answers from the question alone."""
    from training.objectives.narrativeqa import PaperTraining

    sizes = {"d": width, "hidden": hidden}
    # Questions alone are short: as many tokens as the others' batches have would be hundreds of them.
    settings = PaperTraining("seq2seq-lstm", sizes, seed, epochs, words, batch=1_000, rate=2e-3)
    _train_paper(settings, data, out, resume, as_json)


@app.command("attention-sum")
def attention_sum(
    data: Official,
    out: Out,
    resume: Resume = False,
    seed: Seed = 13,
    epochs: Epochs = 10,
    words: VocabularySize = 6_000,
    width: Width = 64,
    hidden: Hidden = 64,
    articles: EveryEpoch = 10_000,
    chunks: Chunks = 0,
    around: Around = 0,
    as_json: AsJson = False,
) -> None:
    """Train the NarrativeQA paper's AS Reader: answers of words of the context."""
    from training.objectives.narrativeqa import PaperTraining

    sizes = {"d": width, "hidden": hidden}
    settings = PaperTraining("attention-sum", sizes, seed, epochs, words, articles, chunks, around)
    _train_paper(settings, data, out, resume, as_json)


@app.command()
def bidaf(
    data: Official,
    out: Out,
    resume: Resume = False,
    seed: Seed = 13,
    epochs: Epochs = 10,
    words: VocabularySize = 10_000,
    width: Annotated[int, typer.Option("--width", min=1, help="Of the word vectors and LSTMs.")] = 64,
    articles: EveryEpoch = 10_000,
    chunks: Chunks = 0,
    around: Around = 0,
    as_json: AsJson = False,
) -> None:
    """Train the NarrativeQA paper's span prediction on the oracle's spans."""
    from training.objectives.narrativeqa import PaperTraining

    settings = PaperTraining("bidaf", {"d": width}, seed, epochs, words, articles, chunks, around)
    _train_paper(settings, data, out, resume, as_json)


@app.command()
def judge(
    data: Data,
    out: Out,
    start: Annotated[
        Path,
        typer.Option("--start", exists=True, file_okay=False, help="The folder of the readers' weights."),
    ],
    as_json: AsJson = False,
) -> None:
    """Fit which answer the default reader gives, and its confidence, on the held-out stories."""
    import json

    from rich.console import Console

    from readers.default.auto import AutoReader
    from terminal.progress import ProgressBars
    from training.objectives.answer_selector import judged_questions, write_judge

    library = _library(data)
    console = Console(stderr=True)
    reader = AutoReader.without_selector(str(start))
    with ProgressBars() as tell:
        judged = judged_questions(reader, library, lambda done, total: tell("reading", done, total))
    path = write_judge(judged, out, _command())
    verdicts = json.loads(path.read_text(encoding="utf-8"))["cross_validated"]
    if as_json:
        sys.stdout.write(json.dumps({"weights": [str(path)], "cross_validated": verdicts}) + "\n")
        return
    for where, verdict in verdicts.items():
        console.print(where, verdict)


def _library(data: list[Path]) -> Any:
    from evaluation.metrics.overlap import require_extra
    from training.corpora.corpus import load_library

    require_extra()  # the held-out scores need it, an hour from now
    return load_library(data)


def _train_reading(
    settings: ReadingTraining, data: list[Path], out: Path, resume: bool, start: Path | None, as_json: bool
) -> None:
    from training.export import load_start, reading_weights
    from training.objectives.cross_encoder import ReadingTask

    library = _library(data)
    began = load_start(start)
    settings = replace(settings, start=began.sha256)
    task = ReadingTask(settings, library, began.encoder, began.decoder)
    _train(task, out, resume, reading_weights, as_json)


def _train_paper(settings: PaperTraining, data: list[Path], out: Path, resume: bool, as_json: bool) -> None:
    from evaluation.metrics.overlap import require_extra
    from training.corpora.corpus import load_official
    from training.neural_export import paper_weights
    from training.objectives.narrativeqa import PaperTask

    require_extra()
    task = PaperTask(settings, load_official(data, stories=settings.chunks > 0))
    _train(task, out, resume, paper_weights, as_json, validations=settings.epochs)


def _train(task: Any, out: Path, resume: bool, export: Any, as_json: bool, validations: int = 4) -> None:
    """Train to the end, and write weights, their cards and the curve."""
    from rich.console import Console

    from terminal.progress import ProgressBars
    from training.learning_curve import plot_training
    from training.trainer import Run, RunExists

    run = Run(task, out)
    if resume:
        run.resume()
    elif run.checkpoint.exists():
        raise RunExists(f"{out} holds a run already; give --resume to go on with it, or another --out")
    console = Console(stderr=True)
    with ProgressBars() as tell:
        run.train(lambda done, total: tell("training", done, total), validations=validations)
    plot_training(out / "log.jsonl", out / "curve.png")
    _report(export(run, _command()), console, as_json)


def _report(trained: Trained, console: Console, as_json: bool) -> None:
    import json

    if as_json:
        sys.stdout.write(json.dumps(trained.describe()) + "\n")
        return
    for path in trained.weights:
        console.print(f"{path}: {path.stat().st_size:,} bytes")
    for name, score in trained.scores.items():
        console.print(f"  {name} {score:.3f}")


def _command() -> str:
    """What was typed, folders by their last name: a card names no machine's paths."""
    words = sys.argv[1:]
    return " ".join(["storyqa", *(Path(word).name if "/" in word else word for word in words)])
