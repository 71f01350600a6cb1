"""``storyqa evaluate natural``: questions as readers type them, judged by rule."""

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
from readers import DEFAULT_READER
from retrieval import DEFAULT_RETRIEVER

if TYPE_CHECKING:
    from rich.console import Console


def natural(
    context: typer.Context,
    data: Stories,
    half: Annotated[
        str | None,
        typer.Option(
            "--half", help="choose, to choose by, or figure, to report; by default both.", show_default=False
        ),
    ] = None,
    reader: ReaderName = DEFAULT_READER,
    retriever: RetrieverName = DEFAULT_RETRIEVER,
    k: Annotated[int, typer.Option("-k", help="How many passages to read.")] = 5,
    out: Annotated[
        Path | None, typer.Option("--out", help="A file for every judgement, as JSON.", show_default=False)
    ] = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Ask 150 natural questions about ten novels, and judge each answer by rule, with the rule listed."""
    from evaluation.natural import natural_questions
    from evaluation.natural.measuring import describe, measure
    from terminal.progress import ProgressBars
    from text.output_files import check_file

    check_asked(retriever, reader, k)
    if out is not None:
        check_file(out, data)
    configuration = with_indexes(context.obj(), store)
    questions = natural_questions(half)
    with ProgressBars() as progress:
        judged = measure(
            questions,
            data,
            configuration,
            retriever,
            reader,
            k,
            progress,
        )
    result = {"half": half, "reader": reader, "retriever": retriever, "k": k, **describe(judged)}
    show_result(result, _print, out, as_json)


def _print(result: dict[str, Any], out: Console) -> None:
    from rich.markup import escape
    from rich.table import Table

    for one in result["judgements"]:
        said = f"{one['verdict']:8}  {one['shown']:6}  {one['id']}  {one['question']}"
        out.print(said, highlight=False, markup=False)
        out.print(f"    {one['answer'] or '(no answer)'}  [{one['reason']}]", highlight=False, markup=False)
    title = f"natural questions: {result['reader']}, {result['retriever']}"
    table = Table(title=escape(title), title_justify="left")
    table.add_column("")
    for heading in ("questions", "right", "partly", "wrong", "declined"):
        table.add_column(heading, justify="right")
    rows = {name.replace("_", " "): result[name] for name in ("all", "answerable", "not_answerable")}
    for name, counts in {**rows, "under Answer": result["under_answer"], **result["by_kind"]}.items():
        table.add_row(name, *map(str, counts.values()))
    out.print(table)
