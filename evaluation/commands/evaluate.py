"""``storyqa evaluate``: one command per data set, and what is made of a finished run."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from readers import DEFAULT_READER, READERS, kind_of
from retrieval import DEFAULT_RETRIEVER, RETRIEVERS

if TYPE_CHECKING:
    from evaluation.benchmarks.benchmark import Benchmark
    from evaluation.run import Options

app = typer.Typer(
    help="Score the system on NarrativeQA, FairytaleQA or SQuAD.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

_Folder = Annotated[
    Path, typer.Option("--data", help="The folder of the data set, in its publisher's layout.")
]
_RetrieverName = Annotated[str, typer.Option("--retriever", help=f"{', '.join(RETRIEVERS)}.")]
_ReaderName = Annotated[
    str, typer.Option("--reader", help=f"{', '.join(READERS)}; NAME:FOLDER for a model of one's own.")
]
_Passages = Annotated[int, typer.Option("-k", help="How many passages to read, where they are retrieved.")]
_Limit = Annotated[int | None, typer.Option("--limit", help="Ask so many questions only, drawn by --seed.")]
_Seed = Annotated[int, typer.Option("--seed", help="For the draw of --limit and for the intervals.")]
_Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="The folder for predictions, scores and plots; a run that was stopped goes on from there. "
        "By default one under runs/, named after the options.",
        show_default=False,
    ),
]
_Store = Annotated[
    Path | None,
    typer.Option(
        "--store", help="The folder for the indexes; by default in the user's cache.", show_default=False
    ),
]
_Force = Annotated[bool, typer.Option("--force", help="Throw away the run that --out holds, and begin anew.")]
_Mrr = Annotated[
    bool | None,
    typer.Option(
        "--mrr/--no-mrr",
        help="Rank all answers of the story, or do not; by default where the reader can.",
        show_default=False,
    ),
]
_HeldOut = Annotated[
    bool,
    typer.Option("--held-out", help="Only the stories that training holds out: to choose by, not to report."),
]
_AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]


@app.command()
def narrativeqa(
    data: _Folder,
    split: Annotated[
        str, typer.Option("--split", help="valid, or test or train where they are there.")
    ] = "valid",
    setting: Annotated[
        str, typer.Option("--setting", help="summaries, stories or whole-stories.")
    ] = "summaries",
    retriever: _RetrieverName = DEFAULT_RETRIEVER,
    reader: _ReaderName = DEFAULT_READER,
    k: _Passages = 5,
    limit: _Limit = None,
    seed: _Seed = 0,
    out: _Out = None,
    store: _Store = None,
    force: _Force = False,
    mrr: _Mrr = None,
    keep_mispaired: Annotated[
        bool,
        typer.Option(
            "--keep-mispaired", help="Score on stories that are another work than their questions' too."
        ),
    ] = False,
    half: Annotated[
        str | None,
        typer.Option(
            "--half",
            help="Of valid, A (ids 0 to 7, which the shipped models were trained on) or B alone.",
            show_default=False,
        ),
    ] = None,
    held_out: _HeldOut = False,
    as_json: _AsJson = False,
) -> None:
    """NarrativeQA: summaries, or full stories in which passages are found first."""
    from evaluation.benchmarks.narrativeqa import load
    from evaluation.run import Options

    options = Options(retriever=retriever, reader=reader, k=k, limit=limit, seed=seed, mrr=mrr)
    _check(options)
    benchmark = load(data, split, setting, keep_mispaired, half and half.upper(), held_out)
    _run(benchmark, options, out, store, force, as_json)


@app.command()
def fairytaleqa(
    data: _Folder,
    split: Annotated[str, typer.Option("--split", help="val, test or train, where it is there.")] = "val",
    setting: Annotated[
        str,
        typer.Option(
            "--setting",
            help="sections: the gold sections are given; stories: passages are found in the question's own "
            "story; collection: in all stories of the split as one book.",
        ),
    ] = "sections",
    retriever: _RetrieverName = DEFAULT_RETRIEVER,
    reader: _ReaderName = DEFAULT_READER,
    k: _Passages = 5,
    limit: _Limit = None,
    seed: _Seed = 0,
    out: _Out = None,
    store: _Store = None,
    force: _Force = False,
    mrr: _Mrr = None,
    held_out: _HeldOut = False,
    as_json: _AsJson = False,
) -> None:
    """FairytaleQA: whole short stories, with the sections that hold each answer."""
    from evaluation.benchmarks.fairytaleqa import load
    from evaluation.run import Options

    options = Options(retriever=retriever, reader=reader, k=k, limit=limit, seed=seed, mrr=mrr)
    _check(options)
    _run(load(data, split, setting, held_out), options, out, store, force, as_json)


@app.command()
def squad(
    data: Annotated[
        Path, typer.Option("--data", metavar="FILE", help="A SQuAD v1.1 file, .json or .json.xz.")
    ],
    retriever: Annotated[
        str, typer.Option("--retriever", help="Not used: the paragraph is given.")
    ] = DEFAULT_RETRIEVER,
    reader: _ReaderName = DEFAULT_READER,
    k: Annotated[int, typer.Option("-k", help="Not used: the paragraph is given.")] = 5,
    limit: _Limit = None,
    seed: _Seed = 0,
    out: _Out = None,
    store: Annotated[Path | None, typer.Option("--store", help="Not used: nothing is indexed.")] = None,
    force: _Force = False,
    as_json: _AsJson = False,
) -> None:
    """SQuAD v1.1: a paragraph is given, and the answer stands in it."""
    from evaluation.benchmarks.squad import load
    from evaluation.run import Options

    options = Options(retriever=retriever, reader=reader, k=k, limit=limit, seed=seed, mrr=False)
    _check(options)
    _run(load(data), options, out, store, force, as_json)


def _check(options: Options) -> None:
    """Find fault with the options before any data is read."""
    from answering.book_qa import Ask
    from evaluation.metrics.overlap import require_extra
    from text.registry import check_name

    require_extra()
    check_name("retriever", options.retriever, RETRIEVERS)
    check_name("reader", kind_of(options.reader), READERS)
    Ask("any", "Is k in bounds?", k=options.k)


def _run(
    benchmark: Benchmark, options: Options, out: Path | None, store: Path | None, force: bool, as_json: bool
) -> None:
    import json

    from evaluation.plots import plot, plot_confidence
    from evaluation.report import outcome
    from evaluation.run import evaluate
    from evaluation.tables import print_outcome
    from service.settings import load_settings
    from terminal.output import console, print_json
    from terminal.progress import ProgressBars

    out = out or Path("runs") / _name(benchmark, options)
    of_process = load_settings()
    store = store or of_process.cache / "evaluation"
    with ProgressBars() as tell:
        settings, predictions = evaluate(benchmark, options, out, store, force, tell)
        tell("scoring", 0, 1)
        command = shlex.join(["storyqa", *sys.argv[1:]])
        result = outcome(benchmark, predictions, settings, command, of_process.answerable)
        (out / "scores.json").write_text(
            json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        plot(result, out / "scores.png")
        plot_confidence(result, out / "confidence.png")
        tell("scoring", 1, 1)
    if as_json:
        print_json(result)
    else:
        print_outcome(result, console())
        console().print(f"predictions, scores and plots: {out}")


def _name(benchmark: Benchmark, options: Options) -> str:
    parts = [benchmark.name, benchmark.split, benchmark.setting]
    if benchmark.part is not None:
        parts.append(benchmark.part)
    if benchmark.retrieved:
        parts += [options.retriever, f"k{options.k}"]
    parts.append(options.reader)
    if options.limit is not None:
        parts += [f"limit{options.limit}", f"seed{options.seed}"]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(parts))
