"""``storyqa evaluate unanswerable``: is it noticed that a book does not answer a question?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluation.benchmarks import BENCHMARKS
from evaluation.benchmarks.holdout import HELD_OUT_HELP
from evaluation.commands.options import AsJson, ReaderName, RetrieverName, Store, check_asked, with_indexes
from evaluation.commands.results import show_result
from readers import DEFAULT_READER
from retrieval import DEFAULT_RETRIEVER

if TYPE_CHECKING:
    from rich.console import Console

SETTING = "stories"
ASKED = tuple(name for name, spec in BENCHMARKS.items() if spec.searched and SETTING in spec.settings)


def unanswerable(
    context: typer.Context,
    benchmark: Annotated[str, typer.Option("--benchmark", help=f"Whose questions: {' or '.join(ASKED)}.")],
    data: Annotated[Path, typer.Option("--data", help="The folder of the data set.")],
    split: Annotated[
        str | None, typer.Option("--split", help="By default its first.", show_default=False)
    ] = None,
    held_out: Annotated[bool, typer.Option("--held-out", help=HELD_OUT_HELP)] = False,
    reader: ReaderName = DEFAULT_READER,
    retriever: RetrieverName = DEFAULT_RETRIEVER,
    k: Annotated[int, typer.Option("-k", help="How many passages to read.")] = 5,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Change so many questions only.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="For what is drawn.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", help="A file for every answer, as JSON.", show_default=False)
    ] = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Ask real questions of the wrong book, and with names replaced, beside the same questions unchanged."""
    from evaluation.metrics.overlap import require_extra
    from evaluation.unanswerable import describe, measure
    from terminal.progress import ProgressBars
    from text.output_files import check_file
    from text.registry import check_name

    check_asked(retriever, reader, k)
    if out is not None:
        check_file(out, data)
    require_extra()
    check_name("benchmark", benchmark, ASKED)
    spec, configuration = BENCHMARKS[benchmark], with_indexes(context.obj(), store)
    given: dict[str, Any] = {"held_out": held_out}
    loaded = spec.load(data, split=split or spec.splits[0], setting=SETTING, **given)
    with ProgressBars() as progress:
        outcomes = measure(
            loaded,
            configuration,
            retriever,
            reader,
            k,
            limit,
            seed,
            progress,
        )
    asked = {"benchmark": benchmark, "split": loaded.split, "part": loaded.part, "reader": reader}
    result = {
        **asked,
        "retriever": retriever,
        "k": k,
        "limit": limit,
        "seed": seed,
        "answerable": configuration.answerable,
        "sure": configuration.sure,
        **describe(outcomes),
    }
    answers = result.pop("answers")
    show_result(result, _print, out, as_json, {"answers": answers})


def _print(result: dict[str, Any], out: Console) -> None:
    from rich.markup import escape
    from rich.table import Table

    title = f"{result['benchmark']} {result['split']}: {result['reader']}, {result['retriever']}"
    table = Table(title=escape(title), title_justify="left")
    table.add_column("question")
    for heading in ("asked", "Answer", "Maybe", "may not say", "right", "right of shown", "wrong shown"):
        table.add_column(heading, justify="right")
    for name, shares in result["variants"].items():
        cells = ("answer", "maybe", "none", "right", "right_of_shown", "wrong_shown")
        shown = ["" if shares[cell] is None else f"{shares[cell]:.1%}" for cell in cells]
        table.add_row(name.replace("_", " "), str(shares["questions"]), *shown)
    out.print(table)
    for name, auroc in result["auroc"].items():
        if auroc is not None:
            out.print(f"AUROC, unchanged against {name.replace('_', ' ')}: {auroc:.3f}", highlight=False)
