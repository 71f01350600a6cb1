"""``storyqa cloze``: questions with a blank, made of one's own books."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.commands.options import AsJson

if TYPE_CHECKING:
    from answering.configuration import Configuration

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(name="cloze")
def cloze(
    context: typer.Context,
    books: Annotated[
        list[str],
        typer.Argument(metavar="BOOK..", help="Files of books, or ids of indexed ones.", show_default=False),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", help="The file to write; for --format question a folder.", show_default=False),
    ],
    kind: Annotated[
        str,
        typer.Option(
            "--class",
            metavar="NE|CN|V|P|entity",
            help="What is blanked: a word of a named entity, a common noun, a verb or a preposition, 20 "
            "sentences being given; or an entity, 2,000 tokens being given. By default all four of words.",
        ),
    ] = "all",
    count: Annotated[int, typer.Option("--count", help="How many questions of each class at most.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="For the draw of the questions.")] = 0,
    before: Annotated[
        str | None,
        typer.Option(
            "--before",
            metavar="40%|CHARS",
            help="How far you have read: nothing after it is used.",
            show_default=False,
        ),
    ] = None,
    layout: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="jsonl|cbt|question",
            help="jsonl, with offsets into the book's text; or the files of CBT (words) or CNN (entities).",
        ),
    ] = "jsonl",
    as_json: AsJson = False,
) -> None:
    """Make questions with a blank of books: which of the candidates does a sentence leave out?

    --format cbt is read by storyqa evaluate cbt --data FILE, question by evaluate cnn --data FOLDER.
    """
    from evaluation.benchmarks.own_books import make, open_books
    from evaluation.cloze.layouts import FORMATS, write
    from terminal.output import console, counted, print_json
    from terminal.progress import ProgressBars
    from text.output_files import check_file
    from text.registry import check_name

    check_name("format", layout, FORMATS)
    if layout != "question":
        check_file(out, *map(Path, books))
    configuration: Configuration = context.obj()
    with ProgressBars("making questions"):
        files = open_books(books, configuration.index_store(), before)
        placed = make(files, kind, count, seed, configuration.cache)
        write(placed, files, out, layout, seed)
    if as_json:
        ids = [file.book.id for file in files]
        print_json({"out": str(out), "format": layout, "seed": seed, "books": ids, "questions": len(placed)})
    else:
        console().print(f"{counted(len(placed), 'question')} in {out}", markup=False, soft_wrap=True)
