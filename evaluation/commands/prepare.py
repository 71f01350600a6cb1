"""``storyqa prepare``: a data set made ready: its stories checked and indexed, or built of articles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluation.commands.options import AsJson, Store, with_indexes

if TYPE_CHECKING:
    from rich.console import Console

    from evaluation.preparation.downloads import Checked
    from indexing.store_address import StoreAddress
    from indexing.store_protocol import Store as IndexesOf

app = typer.Typer(
    help="Check a data set's downloaded stories and index them, or build a set of articles.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def narrativeqa(
    context: typer.Context,
    repo: Annotated[
        Path, typer.Option("--repo", help="A clone of the official repository, its stories downloaded.")
    ],
    split: Annotated[
        str | None,
        typer.Option("--split", help="train, valid or test alone; by default all.", show_default=False),
    ] = None,
    check_only: Annotated[bool, typer.Option("--check", help="Report, and index nothing.")] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", help="Books indexed at a time; by default one per core.", show_default=False
        ),
    ] = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Check the stories that download_stories.sh left in REPO/tmp, cut their licences off and index them.

    Every story is held against documents.csv (size, first and last words) and against its summary
    (whether its proper names occur); what is missing, an error page or another work is reported and
    not indexed.
    """
    from evaluation.benchmarks.files import DataError, choose
    from evaluation.preparation.downloads import USABLE, check, documents, story_path, summaries
    from terminal.output import print_json
    from terminal.progress import ProgressBars

    rows = documents(repo)
    if split is not None:
        choose("split", split, (row["set"] for row in rows), str(repo / "documents.csv"))
        rows = [row for row in rows if row["set"] == split]
    of_document = summaries(repo)
    checked = []
    with ProgressBars() as progress:
        for row in rows:
            checked.append(check(repo, row, of_document.get(row["document_id"], "")))
            progress("stories checked", len(checked), len(rows))
    usable = [one for one in checked if one.status in USABLE]
    if not usable:
        raise DataError(
            f"{story_path(repo, '*').parent} holds no story that can be used ({_counts(checked)}); run "
            "download_stories.sh in the repository first"
        )
    indexes = with_indexes(context.obj(), store).index_store()
    outcomes: list[dict[str, Any]] = []
    if not check_only:
        outcomes = _index(repo, [one.id for one in usable], indexes, workers)
    if as_json:
        print_json(_report(checked, outcomes, None if check_only else indexes.address))
    else:
        _print(checked, outcomes, None if check_only else indexes.address)
    if any(one["status"] == "failed" for one in outcomes):
        raise typer.Exit(2)


@app.command()
def wikireading(
    articles: Annotated[
        Path, typer.Option("--articles", help="JSON, an article a line: {id, title, text}; also .xz.")
    ],
    statements: Annotated[
        Path,
        typer.Option("--statements", help="JSON, a statement a line: {id, property, value}; also .xz."),
    ],
    out: Annotated[Path, typer.Option("--out", help="The folder for the three splits and statistics.json.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the statistics as one JSON object.")] = False,
) -> None:
    """Build a set like WikiReading's: each property of an article is an instance with all its values.

    Times such as +1776-07-04T00:00:00Z become 4 July 1776, or as much as their precision says. Articles are
    split 70/10/20 by a hash of their id.
    """
    from evaluation.preparation.statements import build
    from terminal.output import console, print_json
    from terminal.progress import ProgressBars
    from text.output_files import writing

    with writing(out), ProgressBars("building"):
        report = build(articles, statements, out)
    if as_json:
        print_json({"out": str(out), **report})
    else:
        _print_set(report, console())


def _index(repo: Path, ids: Sequence[str], store: IndexesOf, workers: int | None) -> list[dict[str, Any]]:
    """Index the stories; what became of each."""
    from evaluation.benchmarks.narrativeqa import read_story
    from evaluation.preparation.downloads import story_path
    from indexing.build import BookTask, BuildSettings
    from indexing.build_many import build_many
    from terminal.progress import ProgressBars

    jobs = [BookTask(id, partial(read_story, story_path(repo, id), id)) for id in ids]
    outcomes = []
    with ProgressBars() as progress:
        for outcome in build_many(jobs, BuildSettings(), store, workers):
            outcomes.append({"id": outcome.name, "status": outcome.status, "message": outcome.message})
            progress("books", len(outcomes), len(jobs))
    return outcomes


def _counts(checked: Sequence[Checked]) -> str:
    from evaluation.preparation.downloads import STATUSES

    counts = Counter(one.status for one in checked)
    return ", ".join(f"{counts[status]:,} {status}" for status in STATUSES if counts[status])


def _report(
    checked: Sequence[Checked], outcomes: Sequence[dict[str, Any]], store: StoreAddress | None
) -> dict[str, Any]:
    from evaluation.preparation.downloads import STATUSES

    counts = Counter(one.status for one in checked)
    return {
        "documents": [
            {
                "id": one.id,
                "split": one.split,
                "title": one.title,
                "status": one.status,
                "reasons": list(one.reasons),
            }
            for one in checked
        ],
        "counts": {status: counts[status] for status in STATUSES},
        "store": None if store is None else str(store),
        "indexed": list(outcomes),
    }


def _print(
    checked: Sequence[Checked], outcomes: Sequence[dict[str, Any]], store: StoreAddress | None
) -> None:
    from evaluation.preparation.downloads import MISSING, OK
    from terminal.output import console

    out = console()
    for one in checked:
        if one.status not in (OK, MISSING):  # what is missing is counted: it may be two splits of three
            text = f"{one.id} {one.title}: {one.status}, {'; '.join(one.reasons)}"
            out.print(text, markup=False, soft_wrap=True)
    out.print(f"{len(checked):,} documents: {_counts(checked)}", markup=False, soft_wrap=True)
    if store is not None:
        statuses = Counter(outcome["status"] for outcome in outcomes)
        said = ", ".join(f"{count:,} {status}" for status, count in statuses.items())
        out.print(f"{len(outcomes):,} books ({said}) are in {store}", markup=False, soft_wrap=True)
    for outcome in outcomes:
        if outcome["status"] == "failed":
            out.print(f"{outcome['id']}: {outcome['message']}", markup=False, soft_wrap=True)


def _print_set(report: Mapping[str, Any], out: Console) -> None:
    """What ``evaluation.preparation.statements.build`` says, as two tables."""
    from rich.markup import escape
    from rich.table import Table

    from evaluation.wikireading.statistics import TOP

    splits: Mapping[str, Mapping[str, Any]] = report["splits"]
    table = Table()
    for name in ("", *splits):
        table.add_column(name, justify="right" if name else "left")
    flat = {split: _flat(of_one) for split, of_one in splits.items()}
    for name in dict.fromkeys(name for of_one in flat.values() for name in of_one):
        table.add_row(name.replace("_", " "), *(f"{of_one.get(name, '')}" for of_one in flat.values()))
    out.print(table)
    table = Table(title=f"the {TOP} most frequent properties of train", title_justify="left")
    for name in ("property", "kind", "instances", "answers", "H"):
        table.add_column(name, justify="left" if name in ("property", "kind") else "right")
    for name, one in list(report["properties"].items())[:TOP]:
        figures = (f"{one['instances']:,}", f"{one['answers']:,}", f"{one['entropy']:.3f}")
        table.add_row(escape(name), one["kind"], *figures)
    out.print(table)
    for name in ("articles_without_statements", "items_without_article"):
        if report.get(name):
            out.print(f"{name.replace('_', ' ')}: {report[name]:,}", highlight=False)


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a split, those that are several by each one's name."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            prefix = "bound: " if name == "bounds" else ""
            found |= {f"{prefix}{one}": figure for one, figure in value.items()}
        else:
            found[name] = value
    return found
