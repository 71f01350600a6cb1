"""``storyqa reproduce``: a paper's tables, from one command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from evaluation.reproduce import Measured, Reproduction

app = typer.Typer(
    help="Print a paper's tables with our figures beside its own.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """Keeps the name of the paper's data set a command of its own."""


@app.command()
def narrativeqa(
    table: Annotated[int, typer.Option("--table", help="5 (summaries) or 6 (full stories).")],
    data: Annotated[Path, typer.Option("--data", help="The official repository, or a copy of its layout.")],
    split: Annotated[str, typer.Option("--split", help="valid or test, as the paper has them.")] = "valid",
    vectors: Annotated[
        Path | None,
        typer.Option("--vectors", help="Word vectors in GloVe's format, for the cosine rows."),
    ] = None,
    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--models",
            exists=True,
            file_okay=False,
            help="A folder where storyqa train left a model of the paper, in place of the shipped one; "
            "may be repeated.",
        ),
    ] = None,
    row: Annotated[
        list[str] | None, typer.Option("--row", help="Only the rows whose name holds this; may be repeated.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", help="Ask so many questions only.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="For the draw of --limit and for the intervals.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="The folder for predictions; what it holds is not measured again. "
            "By default one under runs/, named after the options.",
            show_default=False,
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option("--store", help="The folder for the indexes; by default in the user's cache."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Measure every row anew.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")] = False,
) -> None:
    """Tables 5 and 6 of Kočiský et al. 2018, every row on the same questions."""

    from evaluation.metrics.overlap import require_extra
    from evaluation.published.paper_systems import TABLES
    from evaluation.reproduce import Reproduction, as_json_object
    from service.settings import load_settings
    from terminal.output import console, print_json
    from terminal.progress import ProgressBars
    from text.errors import StoryQAError

    if table not in TABLES:
        raise StoryQAError(f"--table {table}; wanted {' or '.join(map(str, TABLES))}")
    require_extra()
    part = "" if limit is None else f"-limit{limit}-seed{seed}"
    reproduction = Reproduction(
        table=table,
        data=data,
        out=out or Path("runs") / f"narrativeqa-table{table}-{split}{part}",
        store=store or load_settings().cache / "evaluation",
        split=split,
        vectors=vectors,
        models=tuple(models or ()),
        limit=limit,
        seed=seed,
        force=force,
    )
    rows = reproduction.rows(row or ())
    with ProgressBars() as tell:
        measured = list(reproduction.measure(rows, tell))
    if as_json:
        print_json(as_json_object(reproduction, measured))
    else:
        _print(reproduction, measured, console())


def _print(reproduction: Reproduction, measured: Sequence[Measured], out: Console) -> None:
    from rich.table import Table

    from evaluation.published.paper_systems import COLUMNS
    from evaluation.tables import COLUMN_NAMES, percent, printed

    table = Table(title=f"NarrativeQA {reproduction.split}, table {reproduction.table}", title_justify="left")
    table.add_column("")
    for name in COLUMNS:
        table.add_column(COLUMN_NAMES[name], justify="right")
    for number, one in enumerate(measured, 1):
        paper = {name: getattr(one.paper, name, None) for name in COLUMNS}
        table.add_row(f"{number:2} {one.row.system}", *(printed(name, paper[name]) for name in COLUMNS))
        if one.missing:
            table.add_row(f"   {one.missing.partition(':')[0]}", style="dim")
            continue
        ours = (printed(name, percent(name, one.scores.get(name))) for name in COLUMNS)
        table.add_row(f"   ours, {one.questions:,} questions", *ours, style="bold")
        if one.trained_on:
            table.add_row(f"   trained on {one.trained_on}", style="dim")
        for label, end in (("   95 % interval, from", 0), ("   to", 1)):
            bounds = ((name, one.intervals.get(name)) for name in COLUMNS)
            cells = ("" if both is None else printed(name, percent(name, both[end])) for name, both in bounds)
            table.add_row(label, *cells, style="dim")
    out.print(table)
    for number, one in enumerate(measured, 1):
        out.print(f"{number:2} {one.command}", markup=False, soft_wrap=True)
        if one.missing:
            out.print(f"   {one.missing}", markup=False, soft_wrap=True, style="dim")
    for note in _notes(measured):
        out.print(f"note: {note}", markup=False, soft_wrap=True, style="dim")


def _notes(measured: Sequence[Measured]) -> list[str]:
    from evaluation.reproduce import BEST_F

    notes = ["METEOR is summed as the paper's rows are: a perfect answer counts as one chunk"]
    best = "; ".join(
        f"{one.row.system} {100 * value:.2f}"
        for one in measured
        if (value := one.scores.get(BEST_F)) is not None
    )
    if best:
        notes.append(
            "ROUGE-L takes the best precision and the best recall over both answers, as pycocoevalcap does; "
            f"with the better F of the two instead: {best}"
        )
    if any(one.row.setting != "summaries" and not one.missing for one in measured):
        notes.append("the paper's full stories include the film scripts; ours are those that are there")
    return notes
