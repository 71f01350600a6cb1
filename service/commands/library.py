"""``storyqa books``, ``show``, ``remove``, ``verify``: what is in the store, whole or not."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from service.commands.options import AsJson, BookId, Store, same_store
from terminal.output import console, counted, print_json, size
from terminal.progress import ProgressBars

if TYPE_CHECKING:
    from indexing.card import BookCard
    from service.book_schemas import BookDetails


def books(
    after: Annotated[str, typer.Option(metavar="ID", help="Only books whose ids come after it.")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many; all if left out.")] = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """List the books in the store, sorted by their ids."""
    from service.book_schemas import BookOut
    from service.settings import load_settings

    settings = load_settings(store)
    read, damaged = settings.index_store().page(after, limit)
    for error in damaged:
        print(f"storyqa: {error}", file=sys.stderr)
    if as_json:
        print_json([BookOut.of(card).model_dump() for card in read])
    elif read:
        _print_table(read)
    elif not damaged and not after:
        where = same_store(store)
        said = f"No books in {settings.store} yet; add one: storyqa index PATH{where}"
        console().print(said, markup=False, soft_wrap=True)
    if damaged:
        raise typer.Exit(1)


def _print_table(cards: Sequence[BookCard]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table()
    table.add_column("id", overflow="fold")
    table.add_column("title", overflow="fold")
    table.add_column("words", justify="right", overflow="fold")
    table.add_column("passages", justify="right", overflow="fold")
    for one in cards:
        table.add_row(Text(one.id), Text(one.title), f"{one.words:,}", f"{one.passages:,}")
    console().print(table)


def show(book_id: BookId, store: Store = None, as_json: AsJson = False) -> None:
    """Show one book: its source, size and chapters, and how it was indexed."""
    from service.book_schemas import BookDetails
    from service.settings import load_settings
    from service.terminal_views import facts

    shelf = load_settings(store).index_store()
    book = BookDetails.of_all(shelf.text(shelf.full_id(book_id)))
    if as_json:
        print_json(book.model_dump())
        return
    out = console()
    out.print(
        facts(
            [
                ("id", book.id),
                ("title", book.title),
                *([("author", book.author)] if book.author else []),
                *([("language", book.language)] if book.language else []),
                ("source", book.source),
                ("words", f"{book.words:,} ({book.characters:,} characters, {book.terms:,} distinct)"),
                ("passages", f"{book.passages:,} of {book.words_per_passage} words, overlap {book.overlap}"),
                ("vectors", f"{book.windows:,} windows, encoder {book.encoder}"),
                ("version", f"{book.version}, built {book.built_at}"),
                ("on disk", size(book.bytes)),
                *([("not searched", _shares(book))] if book.left_out else []),
                ("chapters", f"{len(book.chapters)}"),
            ]
        )
    )
    for chapter in book.chapters:
        out.print(
            f"  {100 * chapter.start / book.characters:3.0f} %  {chapter.title}", markup=False, soft_wrap=True
        )


def _shares(book: BookDetails) -> str:
    """Which parts are not searched, as shares of the book."""
    return ", ".join(
        f"{100 * one.start / book.characters:.1f} to {100 * one.end / book.characters:.1f} %"
        for one in book.left_out
    )


def remove(
    book_id: Annotated[str, typer.Argument(metavar="ID", help="The book's id, in full.")],
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Remove a book from the store."""
    from service.settings import load_settings

    load_settings(store).index_store().remove(book_id)
    if as_json:
        print_json({"removed": book_id})
    else:
        console().print(f"removed {book_id}", markup=False)


def verify(
    book_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="A book's id; all books if left out.")
    ] = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Check every file of a book's index, or of all, against its checksums; exit code 1 if one is damaged."""
    from service.settings import load_settings
    from text.errors import StoryQAError

    settings = load_settings(store)
    shelf = settings.index_store()
    ids = shelf.ids() if book_id is None else [shelf.full_id(book_id)]
    if not ids:  # a mistyped store looks like an empty one
        raise StoryQAError(f"{settings.store} holds no books to check; wanted a store that has some")
    with ProgressBars("checking") as bars:
        found: dict[str, list[str]] = {}
        for one in ids:
            bars("books", len(found), len(ids))
            found[one] = shelf.verify(one)
    damaged = sum(1 for problems in found.values() if problems)
    if as_json:
        print_json(
            {"books": len(found), "damaged": damaged, "problems": {k: v for k, v in found.items() if v}}
        )
    else:
        out = console()
        for problems in found.values():
            for problem in problems:
                out.print(problem, markup=False, soft_wrap=True)
        out.print(f"{counted(len(found), 'book')} checked, {damaged or 'none'} damaged")
    if damaged:
        raise typer.Exit(1)
