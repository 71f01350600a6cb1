"""``storyqa evaluate``: one command per data set, made from its line of the table and its loader."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer

from evaluation.benchmarks import BENCHMARKS, BenchmarkSpec
from evaluation.commands.facts import facts
from evaluation.commands.natural import natural
from evaluation.commands.options import Store, check_asked, with_indexes
from evaluation.commands.unanswerable import unanswerable
from readers import DEFAULT_READER, READERS, spec_of
from retrieval import DEFAULT_RETRIEVER, RETRIEVERS, retriever_for
from text.cloze import blanks
from text.errors import Stopped, StoryQAError

if TYPE_CHECKING:
    from answering.configuration import Configuration
    from evaluation.benchmarks.benchmark import Benchmark, Question
    from evaluation.run_options import Options

app = typer.Typer(
    help="Score the system on a benchmark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

_DATA_HELP = "The folder of the data set, in its publisher's layout."
# By parameter: its type with the option, and its default.
_SEARCH_OPTIONS: dict[str, tuple[Any, Any]] = {
    "retriever": (
        Annotated[str, typer.Option("--retriever", help=f"{', '.join(RETRIEVERS)}.")],
        DEFAULT_RETRIEVER,
    ),
    "k": (Annotated[int, typer.Option("-k", help="How many passages to read, where they are retrieved.")], 5),
    "store": (Store, None),
}
_RANKING_OPTIONS: dict[str, tuple[Any, Any]] = {
    "mrr": (
        Annotated[
            bool | None,
            typer.Option(
                "--mrr/--no-mrr",
                help="Rank all answers of the story, or do not; by default where the reader can.",
                show_default=False,
            ),
        ],
        None,
    ),
}
_CLOZE_OPTIONS: dict[str, tuple[Any, Any]] = {
    "heat_maps": (
        Annotated[
            int | None,
            typer.Option(
                "--heat-maps",
                help="Show what the reader attends to in so many questions, as attention.html in --out: "
                f"{', '.join(name for name, spec in READERS.items() if spec.attention)}.",
                min=1,
                show_default=False,
            ),
        ],
        None,
    ),
}
_RUN_OPTIONS: dict[str, tuple[Any, Any]] = {
    "reader": (
        Annotated[
            str,
            typer.Option("--reader", help=f"{', '.join(READERS)}; NAME:FOLDER for a model of one's own."),
        ],
        DEFAULT_READER,
    ),
    "limit": (
        Annotated[
            int | None,
            typer.Option("--limit", help="Ask so many questions only, drawn by --seed.", min=1),
        ],
        None,
    ),
    "seed": (
        Annotated[int, typer.Option("--seed", help="For the draws of questions and for the intervals.")],
        0,
    ),
    "out": (
        Annotated[
            Path | None,
            typer.Option(
                "--out",
                help="The folder for predictions, scores and plots; a run that was stopped goes on from "
                "there. By default one under runs/, named after the options.",
                show_default=False,
            ),
        ],
        None,
    ),
    "force": (
        Annotated[bool, typer.Option("--force", help="Throw away the run that --out holds, and begin anew.")],
        False,
    ),
    "ray": (
        Annotated[
            str | None,
            typer.Option(
                "--ray",
                metavar="ADDRESS",
                help="Answer on the Ray cluster there: auto, HOST:PORT, or local for one started here; needs "
                "the extra cluster.",
                show_default=False,
            ),
        ],
        None,
    ),
    "as_json": (Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")], False),
}


def _loader_options(spec: BenchmarkSpec) -> dict[str, tuple[Any, Any]]:
    """The options that the benchmark's file states: the parameters of its loader, with their help.

    Not those that the whole run has too: its seed and limit, the user's cache and index store.
    """
    options: dict[str, tuple[Any, Any]] = {}
    for name, parameter in inspect.signature(spec.load, eval_str=True).parameters.items():
        if name in ("seed", "limit", "cache", "shelf"):
            continue
        annotation, text = parameter.annotation, _DATA_HELP
        if get_origin(annotation) is Annotated:
            annotation, text = get_args(annotation)
        option = typer.Option(
            f"--{name.replace('_', '-')}", help=text, show_default=parameter.default is not None
        )
        options[name] = (Annotated[annotation, option], parameter.default)
    return options


def _command(spec: BenchmarkSpec) -> Callable[..., None]:
    """The command of one benchmark: its own options, and those that apply to it of the common ones."""
    takes = inspect.signature(spec.load).parameters
    own = _loader_options(spec)
    options = {
        **own,
        **(_SEARCH_OPTIONS if spec.searched else {}),
        **(_RANKING_OPTIONS if spec.ranked else {}),
        **(_CLOZE_OPTIONS if spec.cloze else {}),
        **_RUN_OPTIONS,
    }

    def command(context: typer.Context, **given: Any) -> None:
        configuration = context.obj()
        loaded_with = {name: given.pop(name) for name in own}
        loaded_with |= {name: given[name] for name in ("seed", "limit") if name in takes}
        if "cache" in takes:
            loaded_with["cache"] = configuration.cache
        if "shelf" in takes:
            loaded_with["shelf"] = configuration.index_store()
        _evaluate(spec, configuration, loaded_with, **given)

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in {
            "context": (typer.Context, inspect.Parameter.empty),
            **options,
        }.items()
    ]
    # Typer makes its options of these.
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


for _name, _spec in BENCHMARKS.items():
    app.command(_name, help=_spec.does)(_command(_spec))
app.command("facts")(facts)
app.command("natural")(natural)
app.command("unanswerable")(unanswerable)


def _evaluate(
    spec: BenchmarkSpec,
    configuration: Configuration,
    given: dict[str, Any],
    reader: str,
    limit: int | None,
    seed: int,
    out: Path | None,
    force: bool,
    ray: str | None,
    as_json: bool,
    retriever: str = DEFAULT_RETRIEVER,
    k: int = 5,
    store: str | None = None,
    mrr: bool | None = None,
    heat_maps: int | None = None,
) -> None:
    """Load, answer, score, and leave predictions, scores and plots; ``given`` are the loader's arguments."""
    from evaluation.benchmarks.benchmark import sample
    from evaluation.heat_maps import write_heat_maps
    from evaluation.metrics.overlap import require_extra
    from evaluation.plots import plot, plot_choices, plot_confidence
    from evaluation.report import outcome
    from evaluation.run import evaluate
    from evaluation.run_options import Options
    from evaluation.tables import print_outcome
    from indexing.cluster import connected
    from readers.choosing import reader_for
    from terminal.output import console, print_json
    from terminal.progress import ProgressBars

    options = Options(retriever_for(retriever), reader, k, limit, seed, mrr, configuration.reader_settings)
    require_extra()
    check_asked(options.retriever, options.reader, options.k)
    if heat_maps is not None:
        _check_attention(reader_for(reader, "____"))  # each question that may be shown so has a blank
    with ProgressBars("loading the questions"):  # made of books, they take minutes once
        benchmark = spec.load(**given)
    options = replace(options, reader=reader_for(reader, _typical(benchmark.questions)))
    out = out or Path("runs") / _run_name(benchmark, options)
    indexes = with_indexes(configuration, store).index_store()
    with ProgressBars() as progress:
        with nullcontext() if ray is None else connected(ray):
            try:
                settings, predictions = evaluate(
                    benchmark, options, out, indexes, force, progress, on_ray=ray is not None
                )
            except KeyboardInterrupt:
                again = "the same command without --force" if force else "the same command"
                raise Stopped(f"{out} keeps what is answered, and {again} goes on") from None
        progress("scoring", 0, 1)
        command = shlex.join(["storyqa", *sys.argv[1:]])
        result = outcome(benchmark, predictions, settings, command, configuration.answerable)
        (out / "scores.json").write_text(
            json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        plot(result, benchmark.metrics, out / "scores.png")
        plot_confidence(result, out / "confidence.png")
        if result["by_length"]:
            plot_choices(result, out / "choices.png")
        if heat_maps is not None:
            page = out / "attention.html"
            asked = replace(benchmark, questions=sample(benchmark.questions, limit, seed))
            write_heat_maps(options.open_reader(), options.reader, asked, heat_maps, page)
        progress("scoring", 1, 1)
    if as_json:
        print_json(result)
    else:
        print_outcome(result, benchmark.metrics, console())
        console().print(f"predictions, scores and plots: {out}", markup=False, soft_wrap=True)


def _typical(questions: Sequence[Question]) -> str:
    """The text of a question without a blank, where there is one: what fills blanks can read no other."""
    return next((one.text for one in questions if not blanks(one.text)), questions[0].text)


def _check_attention(reader: str) -> None:
    if not spec_of(reader).attention:
        able = ", ".join(name for name, spec in READERS.items() if spec.attention)
        raise StoryQAError(f"--heat-maps: the reader {reader!r} has no attention to show; choose from {able}")


def _run_name(benchmark: Benchmark, options: Options) -> str:
    """A folder's name for the run, of the options that tell it from others."""
    parts = [benchmark.name, benchmark.split, benchmark.setting]
    if benchmark.part is not None:
        parts.append(benchmark.part)
    if benchmark.retrieved:
        parts += [options.retriever, f"k{options.k}"]
    parts.append(options.reader)
    if options.limit is not None:
        parts += [f"limit{options.limit}", f"seed{options.seed}"]
    if benchmark.made:
        parts.append(benchmark.fingerprint()[:8])
    return re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(parts))
