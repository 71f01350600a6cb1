"""``storyqa evaluate facts``: author, year, place and main characters of whole books."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluation.commands.options import (
    AsJson,
    ReaderName,
    RetrieverName,
    Store,
    Stories,
    check_asked,
    with_indexes,
)
from evaluation.commands.results import show_result
from readers import DEFAULT_EXTRACTOR, DEFAULT_READER
from retrieval import DEFAULT_RETRIEVER

if TYPE_CHECKING:
    from rich.console import Console


def facts(
    context: typer.Context,
    data: Annotated[
        Path, typer.Option("--data", help="The list of facts, book_facts.csv, or the folder that holds it.")
    ],
    stories: Stories,
    extractor: Annotated[str, typer.Option("--extractor", help="As for storyqa facts.")] = DEFAULT_EXTRACTOR,
    reader: ReaderName = DEFAULT_READER,
    retriever: RetrieverName = DEFAULT_RETRIEVER,
    limit: Annotated[int | None, typer.Option("--limit", help="The first so many books only.", min=1)] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="A file for the facts of every book, as JSON.")
    ] = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Tell the facts of whole books, and score them by a list of what is known of these."""
    from evaluation.book_facts import describe, measure
    from terminal.progress import ProgressBars
    from text.output_files import check_file

    check_asked(retriever, reader, extractor=extractor)
    if out is not None:
        check_file(out, data, stories)
    configuration = with_indexes(context.obj(), store)
    with ProgressBars() as progress:
        scored = measure(
            data,
            stories,
            configuration,
            (retriever, reader, extractor),
            limit,
            progress,
        )
    result = {"reader": reader, "retriever": retriever, "extractor": extractor, **describe(scored)}
    show_result(result, _print, out, as_json)


def _print(result: dict[str, Any], out: Console) -> None:
    from rich.table import Table

    table = Table(title=f"facts of {result['books']} books", title_justify="left")
    for heading in ("", "ours", "counting capitals", "passages read"):
        table.add_column(heading, justify="right" if heading else "left")
    for name in ("author", "year", "place"):
        read = result.get(f"read_{name}")
        table.add_row(name, _of(result[name]), "", _of(read) if read else "")
    for name, row in (("names", "the summary's three first names"), ("first", "its first name first")):
        read = result.get(f"read_{name}")
        baseline = result[f"baseline_{name}"]
        table.add_row(row, f"{result[name]:.3f}", f"{baseline:.3f}", "" if read is None else f"{read:.3f}")
    out.print(table)


def _of(counts: dict[str, int]) -> str:
    return f"{counts['right']} of {counts['known']}"
