"""``storyqa shelves``: books that are asked together by a name."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.commands.options import AsJson, Store, same_store
from terminal.output import console, counted, print_json
from terminal.progress import ProgressBars

if TYPE_CHECKING:
    from indexing.shelves import Shelf, Shelves
    from indexing.store_protocol import Store as IndexStore

app = typer.Typer(
    name="shelves",
    help="Put books on shelves, to be asked together as shelf:NAME.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The shelf's name.")]
Books = Annotated[list[str], typer.Argument(metavar="ID..", help="Books' ids, or how only that one begins.")]


@app.command()
def create(
    name: Name,
    books: Annotated[
        list[str] | None, typer.Argument(metavar="[ID..]", help="The first books on it.")
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", help="What people call it; by default its name.")
    ] = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Make a shelf, or have one hold these books alone."""
    shelves, index_store = _opened(store)
    _tell(shelves.put(name, _known(index_store, books or []), title), store, as_json)


@app.command("list")
def list_(store: Store = None, as_json: AsJson = False) -> None:
    """List the shelves."""
    from rich.table import Table
    from rich.text import Text

    shelves, _ = _opened(store)
    found, damaged = shelves.readable()
    if as_json:
        print_json([_record(shelf) for shelf in found])
    elif found:
        table = Table()
        for column in ("name", "title", "books"):
            table.add_column(column, overflow="fold")
        for shelf in found:
            table.add_row(shelf.name, Text(shelf.title), f"{len(shelf.books):,}")
        console().print(table)
    elif not damaged:
        said = f"No shelves yet; make one: storyqa shelves create NAME ID..{same_store(store)}"
        console().print(said, markup=False, soft_wrap=True)
    for error in damaged:
        print(f"storyqa: {error}", file=sys.stderr, flush=True)
    if damaged:
        raise typer.Exit(1)


@app.command()
def show(name: Name, store: Store = None, as_json: AsJson = False) -> None:
    """Show a shelf and its books; those that the store does not have are said to be missing."""
    from indexing.errors import IndexMismatch

    shelves, index_store = _opened(store)
    shelf = shelves.get(name)
    if as_json:
        print_json(_record(shelf))
        return
    there = index_store.builds(shelf.books)
    damaged = False
    console().print(f"{shelf.title}: {counted(len(shelf.books), 'book')}", markup=False, soft_wrap=True)
    for id in shelf.books:
        try:
            title = index_store.manifest(id).title if id in there else "missing: it is in no search"
        except IndexMismatch as error:  # the others are to be seen all the same
            print(f"storyqa: {error}", file=sys.stderr, flush=True)
            title, damaged = "damaged: it cannot be searched", True
        console().print(f"  {id}  {title}", markup=False, soft_wrap=True)
    if damaged:
        raise typer.Exit(1)


@app.command()
def add(name: Name, books: Books, store: Store = None, as_json: AsJson = False) -> None:
    """Put books on a shelf, behind those that it has."""
    shelves, index_store = _opened(store)
    _tell(shelves.add(name, _known(index_store, books)), store, as_json)


@app.command()
def remove(
    name: Name,
    books: Annotated[list[str], typer.Argument(metavar="ID..", help="Books' ids, in full.")],
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Take books off a shelf; they stay in the store."""
    shelves, _ = _opened(store)
    _tell(shelves.take(name, books), store, as_json)


@app.command()
def delete(name: Name, store: Store = None, as_json: AsJson = False) -> None:
    """Forget a shelf; its books stay in the store."""
    shelves, _ = _opened(store)
    shelves.delete(name)
    if as_json:
        print_json({"deleted": name})
    else:
        console().print(f"deleted the shelf {name}", markup=False)


@app.command()
def index(
    force: Annotated[bool, typer.Option("--force", help="Merge them even where none has changed.")] = False,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Merge the indexes of all books, by which a search of many at once is as fast as one of few.

    Books that are indexed later are searched all the same, and one by one until they are merged.
    """
    with ProgressBars("merging") as bars:
        from indexing.merging import merge_store

        _, index_store = _opened(store)
        manifest, built = merge_store(index_store, force, lambda done, of: bars("books", done, of))
    if as_json:
        print_json({"books": len(manifest.books), "version": manifest.version, "built": built})
    else:
        console().print(
            f"{counted(len(manifest.books), 'book')} {'merged' if built else 'are merged already'}"
        )


def _opened(store: str | None) -> tuple[Shelves, IndexStore]:
    from service.settings import load_settings

    index_store = load_settings(store).index_store()
    return index_store.shelves(), index_store


def _known(store: IndexStore, books: list[str]) -> list[str]:
    """The ids in full, each once; raises ``UnknownBook``."""
    ids = [store.full_id(book) for book in books]
    for id in ids:
        store.current(id)
    return list(dict.fromkeys(ids))


def _record(shelf: Shelf) -> dict[str, Any]:
    from service.schemas import ShelfOut

    return ShelfOut.model_validate(shelf).model_dump()


def _tell(shelf: Shelf, store: str | None, as_json: bool) -> None:
    if as_json:
        print_json(_record(shelf))
    else:
        ask = f"storyqa ask shelf:{shelf.name} QUESTION{same_store(store)}"
        held = f"{counted(len(shelf.books), 'book')}; ask them: {ask}"
        console().print(f"{shelf.name}: {held}", markup=False, soft_wrap=True)
