"""``storyqa characters``, ``who`` and ``recap``: what can be told of a book without a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from service.commands.options import AsJson, Before, BookId, Store
from terminal.output import console, print_json
from terminal.progress import ProgressBars

if TYPE_CHECKING:
    from rich.console import Console

    from answering.quotes import Quote
    from indexing.index import BookIndex
    from service.book_schemas import CharacterOut
    from service.settings import Settings


def characters(book_id: BookId, before: Before = None, store: Store = None, as_json: AsJson = False) -> None:
    """List who is in a book: name, other names, how often they are named, and where first and last."""
    with ProgressBars("looking for names"):
        from answering.quotes import story_text
        from indexing.characters import named, persons
        from service.book_schemas import CharacterOut

        settings = _settings(store)
        index, limit = _opened(book_id, before, settings)
        everybody = persons(named(story_text(index, limit), settings.cache))
        found = [CharacterOut.named(one, index, limit) for one in everybody]
    if as_json:
        print_json([one.model_dump() for one in found])
    elif found:
        _print_characters(found)
    else:
        console().print("nobody is named")


def who(
    book_id: BookId,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Any name that the book has for them.")],
    k: Annotated[int, typer.Option("-k", help="At most so many sentences.", min=1, max=10)] = 3,
    before: Before = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Tell who somebody is, so far: the sentences that introduce and describe them, each with its place."""
    with ProgressBars("reading"):
        from answering.profiles import profile
        from service.overview_schemas import ProfileOut

        settings = _settings(store)
        index, limit = _opened(book_id, before, settings)
        found = profile(index, name, limit, settings.cache, k)
    if as_json:
        print_json(ProfileOut.model_validate(found).model_dump())
        return
    out = console()
    also = f" (also {', '.join(found.aliases)})" if found.aliases else ""
    out.print(f"{found.name}{also}, named {found.count:,}x", markup=False, soft_wrap=True)
    _print_quotes(found.sentences, out)


def recap(
    book_id: BookId,
    before: Before = None,
    sentences: Annotated[
        int, typer.Option("--sentences", help="At most so many of each chapter.", min=1, max=10)
    ] = 2,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Tell what has happened so far: the most telling sentences of each chapter, each with its place."""
    with ProgressBars("reading"):
        from answering.recaps import recap as recap_of
        from service.overview_schemas import ChapterRecapOut, RecapOut

        index, limit = _opened(book_id, before, _settings(store))
        found = recap_of(index, limit, sentences)
    if as_json:
        parts = [ChapterRecapOut.model_validate(one) for one in found]
        print_json(RecapOut(chapters=parts).model_dump())
        return
    out = console()
    if not found:
        out.print("nothing has happened yet")
    for part in found:
        _print_quotes(part.sentences, out)


def _settings(store: str | None) -> Settings:
    from service.settings import load_settings

    return load_settings(store)


def _opened(book_id: str, before: str | None, settings: Settings) -> tuple[BookIndex, int]:
    """The book, and the character that nothing may be told from on."""
    from answering.ask import limit_before

    shelf = settings.index_store()
    index = shelf.open(shelf.full_id(book_id))
    return index, limit_before(before, index.characters)


def _print_quotes(quotes: Sequence[Quote], out: Console) -> None:
    from service.terminal_views import quote_lines

    for line in quote_lines(quotes):
        out.print(line, soft_wrap=not out.is_terminal)  # whoever reads a pipe looks for whole sentences


def _print_characters(found: Sequence[CharacterOut]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table()
    table.add_column("name", overflow="fold")
    table.add_column("also", overflow="fold")
    table.add_column("named", justify="right", overflow="fold")
    table.add_column("first", justify="right", overflow="fold")
    table.add_column("last", justify="right", overflow="fold")
    table.add_column("chapter", overflow="fold")
    for one in found:
        also, chapter = Text(", ".join(one.aliases)), Text(one.chapter or "")
        places = f"{one.percent:.1f} %", f"{one.last.percent:.1f} %"
        table.add_row(Text(one.name), also, f"{one.count:,}", *places, chapter)
    console().print(table)
