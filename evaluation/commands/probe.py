"""``storyqa probe``: which of bAbI's skills a reader or a service has, and whether it has lost any."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluation.commands.options import AsJson
from readers import DEFAULT_READER, READERS
from retrieval import DEFAULT_RETRIEVER, RETRIEVERS

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(name="probe")
def probe(
    context: typer.Context,
    reader: Annotated[
        str | None,
        typer.Option(
            "--reader",
            metavar="NAME",
            help=f"The reader to ask: {', '.join(READERS)}; by default {DEFAULT_READER}.",
            show_default=False,
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            help="The service to ask instead. It is given the stories as books, which are removed again. "
            "STORYQA_SERVICE_KEY is the key of an administrator, where it wants one.",
            show_default=False,
        ),
    ] = None,
    tasks: Annotated[
        str, typer.Option("--tasks", "--task", metavar="1-20", help="Which tasks: 1-20, or such as 1,3,7-9.")
    ] = "1-20",
    per_task: Annotated[int, typer.Option("--per-task", help="How many questions of each task.")] = 50,
    seed: Annotated[int, typer.Option("--seed", help="For the stories.")] = 0,
    inside: Annotated[
        str | None,
        typer.Option(
            "--inside",
            metavar="BOOK",
            help="Scatter the facts of each story through this book, a file or the id of an indexed one, so "
            "that they have to be found, too. The book is indexed for each story.",
            show_default=False,
        ),
    ] = None,
    retriever: Annotated[
        str | None,
        typer.Option(
            "--retriever",
            metavar="NAME",
            help=f"With --inside or --url: {', '.join(RETRIEVERS)}; by default {DEFAULT_RETRIEVER}, or what "
            "the service chooses.",
            show_default=False,
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("-k", help="With --inside or --url: how many passages to find; by default 5."),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline",
            metavar="FILE",
            help="What --json printed of another probe of the same questions: exit code 1 where a skill is "
            "significantly worse now.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="The folder for probe.json and skills.png. By default one under runs/, named after the "
            "options.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Tell which of bAbI's twenty skills a reader or a service has, by questions about fresh stories.

    An answer is right that names what is wanted and no other answer of the task.
    """
    from evaluation.metrics.overlap import require_extra
    from evaluation.plots import plot_skills
    from evaluation.probing.probed import ProbeOptions, run_probe
    from evaluation.worlds.stories import task_numbers
    from terminal.output import console, print_json
    from terminal.progress import ProgressBars
    from text.output_files import is_same_file, make_folder

    require_extra()
    options = ProbeOptions(reader, url, tuple(task_numbers(tasks)), per_task, seed, inside, retriever, k)
    runs = Path("runs")
    make_folder(out or runs)
    with ProgressBars("making stories") as progress:
        result = run_probe(options, context.obj(), context.obj.service, baseline, progress)
        out = out or runs / _run_name(result)
        kept = baseline is None or not is_same_file(out / "probe.json", baseline)
        if kept:
            make_folder(out)
            text = json.dumps(result, indent=1, ensure_ascii=False)
            (out / "probe.json").write_text(text + "\n", encoding="utf-8")
            plot_skills(result, out / "skills.png")
    if as_json:
        print_json(result)
    else:
        _print(result, console())
        if kept:
            console().print(f"answers and plot: {out}", markup=False, soft_wrap=True)
    if not kept:  # what is worse now would be what the next probe is held against
        print(f"storyqa: {baseline} stays as it is; give another --out to keep this probe", file=sys.stderr)
    if result["baseline"] is not None and result["baseline"]["worse"]:
        raise typer.Exit(1)


def _run_name(result: dict[str, Any]) -> str:
    """A folder's name for the probe, of the options that tell it from others."""
    parts = ["probe", result["url"] or result["reader"], result["inside"], result["retriever"]]
    parts += [f"{len(result['tasks'])}-tasks", f"{result['per_task']}-each", f"seed{result['seed']}"]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(filter(None, parts)))


def _print(result: dict[str, Any], out: Console) -> None:
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    from evaluation.probing.skills import asked_of

    table = Table(title=escape(asked_of(result)), title_justify="left", expand=True)
    rows = [_row(one) for one in result["skills"]]
    for heading in ("task", "accuracy", "95 % interval", "questions"):
        table.add_column(heading, justify="left" if heading == "task" else "right", no_wrap=True)
    table.add_column("an error, wanted: got", ratio=1, no_wrap=True, overflow="ellipsis")  # it alone is cut
    for row, one in zip(rows, result["skills"], strict=True):
        errors = (f"{error['wanted']}: {error['got'] or '(no answer)'}" for error in one["errors"][:1])
        table.add_row(*row, *(Text(" ".join(error.split())) for error in errors))
    table.add_section()
    table.add_row("mean", f"{result['accuracy']:.2f}", "", f"{result['questions']:,}")
    out.print(table)
    if result["baseline"] is None:
        return
    file, worse = result["baseline"]["file"], result["baseline"]["worse"]
    for one in worse:
        out.print(
            f"worse than {file}: {one['task']} {one['name']}, {one['right']} of {one['questions']} right and "
            f"{one['right_before']} before (p {one['p']:.2g})",
            style="bold red",
            markup=False,
        )
    if not worse:
        out.print(f"no skill is significantly worse than in {file}", markup=False, soft_wrap=True)


def _row(skill: dict[str, Any]) -> tuple[str, str, str, str]:
    low, high = skill["interval"]
    return (
        f"{skill['task']} {skill['name']}",
        f"{skill['accuracy']:.2f}",
        f"{low:.2f} to {high:.2f}",
        f"{skill['questions']:,}",
    )
