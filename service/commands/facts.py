"""``storyqa facts``: what a book says of itself, of its characters, and of any property asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from service.commands.options import AsJson, Before, BookId, Store
from terminal.output import console, print_json
from terminal.progress import ProgressBars

if TYPE_CHECKING:
    from answering.facts import Fact, Facts


def facts(
    book_id: BookId,
    property: Annotated[
        list[str] | None,
        typer.Option(
            "--property",
            metavar="NAME",
            help="Only this one, and others that are given so: title, author, first published, genre, main "
            "characters, narrative location; occupation, spouse, parents or residence, of each main "
            "character or 'of NAME'; or any words.",
            show_default=False,
        ),
    ] = None,
    extractor: Annotated[
        str | None,
        typer.Option(
            "--extractor",
            metavar="NAME:DIR",
            help="A reader of properties that reads too what is found, such as rnn-labeler:DIR as "
            "'storyqa train' left it; by default STORYQA_EXTRACTOR, rnn-labeler.",
            show_default=False,
        ),
    ] = None,
    before: Before = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Tell the facts of a book, each with its place: author, characters, setting, and what is not said."""
    with ProgressBars("reading"):
        from answering.ask import limit_before
        from answering.book_qa import BookQA
        from answering.facts import FactFinder, check_properties
        from service.settings import load_settings

        properties = check_properties(property or ())
        settings = load_settings(store)
        configuration = settings.configuration()
        shelf = configuration.index_store()
        index = shelf.open(shelf.full_id(book_id))
        finder = FactFinder(
            BookQA.of(configuration),
            settings.cache,
            settings.retriever,
            settings.reader,
            extractor or settings.extractor,
        )
        found = finder.find(index, limit_before(before, index.characters), properties)
    if as_json:
        from service.overview_schemas import FactsOut

        print_json(FactsOut.model_validate(found).model_dump())
    else:
        _print(found)


def _print(found: Facts) -> None:
    from rich.table import Table
    from rich.text import Text

    from service.terminal_views import place

    table = Table()
    for heading in ("property", "value", "confidence", "where"):
        table.add_column(heading, overflow="fold", justify="right" if heading == "confidence" else "left")
    for fact in found.facts:
        for value in fact.values:
            if value.answerable:
                where = "its file" if value.evidence is None else place(value.evidence)
                times = "" if value.mentions is None else f", named {value.mentions:,}x"
                also = f" (also {', '.join(value.aliases[:3])})" if value.aliases else ""
                said = f"{' '.join(value.text.split())}{also}{times}"
                table.add_row(Text(_name(fact)), Text(said), f"{value.confidence:.2f}", Text(where))
    if table.row_count:
        console().print(table)
    if found.not_said:
        console().print(Text(f"not said: {', '.join(found.not_said)}"), soft_wrap=True)


def _name(fact: Fact) -> str:
    return fact.property if fact.of is None else f"{fact.property} of {fact.of}"
